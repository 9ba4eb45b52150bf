/*
 * The first frame in each direction. The connecting node says HELLO, and the other one answers with
 * its own HELLO, or with REFUSED and a reason.
 */
#include "server/nodes_int.h"

#include <stdio.h>

#include "server/tls_session.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "util/minmax.h"

static void put_hello(struct node_link *l, uint64_t to)
{
	const struct nodes *nodes = l->nodes;
	struct frame frame = {
		.type = FRAME_HELLO,
		.hello = { .version_min = FRAME_VERSION_MIN,
			   .version_max = FRAME_VERSION_MAX,
			   .from = nodes->options.id,
			   .to = to,
			   .purpose = l->purpose,
			   .address = str_from(nodes->options.address),
			   .announce = str_from(nodes->options.announce) },
	};

	memcpy(frame.hello.group, nodes->options.group, FRAME_GROUP_BYTES);
	frame_encode(&l->out, &frame);
}

void greet_note_refusal(struct node_link *l, const char *reason)
{
	struct nodes *nodes = l->nodes;
	uint64_t left_out;

	nodes->refused++;
	if (!complaints_take_misfit(&nodes->complaints, clock_mono_us(), &left_out))
		return;
	if (left_out != 0)
		log_warning("connections from %s and %llu others to the port for nodes were "
			    "refused, this one because %s",
			    l->peer, (unsigned long long)left_out, reason);
	else
		log_warning("a connection from %s to the port for nodes was refused: %s", l->peer,
			    reason);
}

/* Returns whether the certificate of the other side has the host of this address as a name. */
static bool has_name(const struct node_link *l, struct qless_str address)
{
	char host[MEMBERS_ADDRESS_SIZE];
	int port;

	if (l->nodes->options.tls == NULL)
		return true;
	return dial_split(address, host, &port) && tls_session_has_name(&l->transport, host);
}

static void note_announce(struct node *node, const struct frame_hello *hello)
{
	memcpy(node->announce, hello->announce.ptr, hello->announce.len);
	node->announce[hello->announce.len] = '\0';
}

/*
 * The connecting side
 */

void greet_send_hello(struct node_link *l)
{
	/* Nothing is sent to a stranger with another name. */
	if (!has_name(l, str_from(l->node->address))) {
		node_link_close(l, "its certificate does not have its address as a name");
		return;
	}
	put_hello(l, l->node->id);
	node_link_write(l);
}

static void take_answer(struct node_link *l, const struct frame *frame)
{
	const struct nodes_options *options = &l->nodes->options;
	const struct frame_hello *hello = &frame->hello;

	if (frame->type == FRAME_REFUSED) {
		node_link_close(l, "it refuses this node: %s", frame_refusal_text(frame->refusal));
		return;
	}
	if (frame->type != FRAME_HELLO) {
		node_link_close(l, "it has not answered HELLO");
		return;
	}
	if (hello->version_min > FRAME_VERSION_MAX || hello->version_max < FRAME_VERSION_MIN) {
		node_link_close(l, "%s", frame_refusal_text(FRAME_REFUSED_VERSION));
		return;
	}
	if (hello->from != l->node->id || hello->to != options->id ||
	    hello->purpose != l->purpose) {
		node_link_close(l, "%s", frame_refusal_text(FRAME_REFUSED_SELF));
		return;
	}
	if (memcmp(hello->group, options->group, FRAME_GROUP_BYTES) != 0) {
		node_link_close(l, "%s", frame_refusal_text(FRAME_REFUSED_GROUP));
		return;
	}
	note_announce(l->node, hello);
	node_link_open(l);
	dial_opened(l->dial);
}

/*
 * The accepting side
 */

static void refuse(struct node_link *l, enum frame_refusal refusal, const char *reason)
{
	const struct frame frame = { .type = FRAME_REFUSED, .refusal = refusal };

	/* The socket is new, so its buffer has room. */
	frame_encode(&l->out, &frame);
	node_link_write(l);
	node_link_close(l, "%s", reason);
}

/* Returns the node that a HELLO comes from, or NULL if it is refused. */
static struct node *find_sender(struct node_link *l, const struct frame_hello *hello)
{
	struct nodes *nodes = l->nodes;
	const struct nodes_ops *ops = &nodes->options.ops;
	struct node *node;

	if (hello->from == nodes->options.id) {
		refuse(l, FRAME_REFUSED_NODE, "it has the id of this node");
		return NULL;
	}
	if (nodes->options.has_group &&
	    memcmp(hello->group, nodes->options.group, FRAME_GROUP_BYTES) != 0) {
		refuse(l, FRAME_REFUSED_GROUP, "it belongs to another group");
		return NULL;
	}
	node = nodes->options.has_group ? nodes_find(nodes, hello->from) : NULL;
	if (!has_name(l, node != NULL ? str_from(node->address) : hello->address)) {
		refuse(l, FRAME_REFUSED_CERTIFICATE,
		       "its certificate does not have its address as a name");
		return NULL;
	}
	if (node != NULL)
		return node;
	if (ops->admit == NULL || !ops->admit(ops->arg, hello) || !nodes->options.has_group) {
		if (l->state != LINK_DEAD)
			refuse(l, FRAME_REFUSED_NODE, "it is not a member of the group");
		return NULL;
	}
	/* The callback may have made it a member. */
	node = nodes_find(nodes, hello->from);
	return node != NULL ? node : nodes_add_guest(nodes, hello->from, hello->address);
}

/* A node has one connection of each kind. An older one is broken, or it would not make another. */
static void replace(struct node_link **place, struct node_link *l)
{
	struct node_link *old = *place;

	*place = l;
	if (old != NULL)
		node_link_close(old, "the other node has made another connection");
}

static void take_hello(struct node_link *l, const struct frame *frame)
{
	const struct frame_hello *hello = &frame->hello;
	struct node *node;

	if (frame->type != FRAME_HELLO) {
		node_link_close(l, "it has not said HELLO");
		return;
	}
	if (hello->version_min > FRAME_VERSION_MAX || hello->version_max < FRAME_VERSION_MIN) {
		refuse(l, FRAME_REFUSED_VERSION, "it speaks only other versions of the protocol");
		return;
	}
	if (hello->to != l->nodes->options.id) {
		refuse(l, FRAME_REFUSED_SELF, "it looks for another node");
		return;
	}
	node = find_sender(l, hello);
	if (node == NULL || l->state == LINK_DEAD)
		return;
	l->node = node;
	l->nodes->strangers--;
	note_announce(node, hello);
	l->purpose = hello->purpose;
	replace(hello->purpose == FRAME_FOR_MESSAGES ? &node->receiver : &node->reader, l);
	put_hello(l, node->id);
	node_link_open(l);
	node_link_delay(l);
}

void greet_take(struct node_link *l, const struct frame *frame)
{
	if (l->dial != NULL)
		take_answer(l, frame);
	else
		take_hello(l, frame);
}
