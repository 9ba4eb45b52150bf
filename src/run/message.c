#include "run/message.h"

#include <string.h>

struct header {
	uint32_t body_len;
	uint32_t kind;
};

void message_append(struct buf *out, enum message_kind kind, struct qless_str first,
		    struct qless_str second)
{
	struct header header = {
		.body_len = (uint32_t)(first.len + second.len),
		.kind = kind,
	};

	buf_append(out, &header, sizeof header);
	buf_append_str(out, first);
	buf_append_str(out, second);
}

size_t message_read(const struct buf *in, struct message *ret_message)
{
	struct header header;

	if (in->len < sizeof header)
		return 0;
	memcpy(&header, buf_data(in), sizeof header);
	if (in->len - sizeof header < header.body_len)
		return 0;
	*ret_message = (struct message){
		.kind = (enum message_kind)header.kind,
		.body = str_make(buf_data(in) + sizeof header, header.body_len),
	};
	return sizeof header + header.body_len;
}

bool message_read_ended(struct qless_str body, struct message_ended *ret_ended,
			struct qless_str *ret_result, struct qless_str *ret_errors)
{
	const char *texts = body.ptr + sizeof *ret_ended;

	if (body.len < sizeof *ret_ended)
		return false;
	memcpy(ret_ended, body.ptr, sizeof *ret_ended);
	if ((uint64_t)ret_ended->result_len + ret_ended->errors_len != body.len - sizeof *ret_ended)
		return false;
	*ret_result = str_make(texts, ret_ended->result_len);
	*ret_errors = str_make(texts + ret_ended->result_len, ret_ended->errors_len);
	return true;
}
