#include "sys/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/num.h"

/* A core limit of one byte: less than any core needs. Unlike a limit of 0, it also keeps the kernel
 * from starting the program in core_pattern. */
#define NO_CORE_BYTES 1

/* Report errno. */
static int fail(struct buf *ret_error, const char *what)
{
	buf_printf(ret_error, "cannot %s: %s", what, strerror(errno));
	return -1;
}

/*
 * Finding
 */

/* System calls take the largest number as "leave unchanged". */
static bool parse_id(struct qless_str text, uint32_t *ret_id)
{
	uint64_t number;

	if (!num_parse_u64(text, 0, UINT32_MAX - 1, &number))
		return false;
	*ret_id = (uint32_t)number;
	return true;
}

static int find_user(const char *name, bool needs_group, struct privileges_user *user,
		     struct buf *ret_error)
{
	const struct passwd *entry;
	uint32_t id;

	errno = 0;
	if (parse_id(str_from(name), &id)) {
		user->uid = id;
		entry = getpwuid(id);
	} else {
		entry = getpwnam(name);
	}
	if (entry != NULL && strlen(entry->pw_name) < sizeof user->name) {
		user->uid = entry->pw_uid;
		user->gid = entry->pw_gid;
		memcpy(user->name, entry->pw_name, strlen(entry->pw_name) + 1);
		return 0;
	}
	if (parse_id(str_from(name), &id) && !needs_group)
		return 0;
	buf_printf(ret_error, "run-as: there is no user %s%s%s", name, errno != 0 ? ": " : "",
		   errno != 0 ? strerror(errno) : "");
	return -1;
}

static int find_group(const char *name, struct privileges_user *user, struct buf *ret_error)
{
	const struct group *entry;
	uint32_t id;

	if (parse_id(str_from(name), &id)) {
		user->gid = id;
		return 0;
	}
	entry = getgrnam(name);
	if (entry == NULL) {
		buf_printf(ret_error, "run-as: there is no group %s", name);
		return -1;
	}
	user->gid = entry->gr_gid;
	return 0;
}

int privileges_find(const char *text, struct privileges_user *ret_user, struct buf *ret_error)
{
	const char *colon = strchr(text, ':');
	struct privileges_user user = { .name = "" };
	char name[sizeof user.name];
	size_t len = colon != NULL ? (size_t)(colon - text) : strlen(text);

	if (len == 0 || len >= sizeof name || (colon != NULL && colon[1] == '\0')) {
		buf_printf(ret_error, "run-as: \"%s\" is neither user nor user:group", text);
		return -1;
	}
	memcpy(name, text, len);
	name[len] = '\0';
	if (find_user(name, colon == NULL, &user, ret_error) < 0 ||
	    (colon != NULL && find_group(colon + 1, &user, ret_error) < 0))
		return -1;
	*ret_user = user;
	return 0;
}

/*
 * Capabilities. Two system calls do not justify a dependency on the library for them.
 */

static const unsigned start_capabilities[] = { CAP_NET_BIND_SERVICE, CAP_SYS_RESOURCE };

struct capabilities {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static int read_capabilities(struct capabilities *ret_capabilities)
{
	*ret_capabilities = (struct capabilities){
		.header = { .version = _LINUX_CAPABILITY_VERSION_3 },
	};
	return (int)syscall(SYS_capget, &ret_capabilities->header, ret_capabilities->words);
}

static int write_capabilities(struct capabilities *c)
{
	return (int)syscall(SYS_capset, &c->header, c->words);
}

/* Keep only those capabilities that the start needs. */
static int keep_start_capabilities(void)
{
	struct capabilities now, kept = { .header = { .version = _LINUX_CAPABILITY_VERSION_3 } };

	if (read_capabilities(&now) < 0)
		return -1;
	for (size_t i = 0; i < sizeof start_capabilities / sizeof *start_capabilities; i++) {
		unsigned word = start_capabilities[i] / 32;
		uint32_t bit = UINT32_C(1) << start_capabilities[i] % 32;

		kept.words[word].permitted |= now.words[word].permitted & bit;
		kept.words[word].effective |= now.words[word].permitted & bit;
	}
	return write_capabilities(&kept);
}

/*
 * Becoming
 */

static bool is_now(const struct privileges_user *user)
{
	uid_t real, effective, saved;
	gid_t real_group, effective_group, saved_group;

	return getresuid(&real, &effective, &saved) == 0 &&
	       getresgid(&real_group, &effective_group, &saved_group) == 0 && real == user->uid &&
	       effective == user->uid && saved == user->uid && real_group == user->gid &&
	       effective_group == user->gid && saved_group == user->gid;
}

static int set_groups(const struct privileges_user *user)
{
	if (user->name[0] != '\0')
		return initgroups(user->name, user->gid);
	return setgroups(1, &user->gid);
}

int privileges_become(const struct privileges_user *user, struct buf *ret_error)
{
	if (is_now(user))
		return 0;
	if (geteuid() != 0) {
		buf_printf(ret_error,
			   "run-as: only root can become another user, and this is the user with "
			   "the number %u",
			   (unsigned)geteuid());
		return -1;
	}
	/* Groups first and the user last: each step needs rights that the next one takes away. */
	if (set_groups(user) < 0 || setresgid(user->gid, user->gid, user->gid) < 0)
		return fail(ret_error, "take the groups of run-as");
	if (user->uid != 0 && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return fail(ret_error, "keep capabilities for the start");
	if (setresuid(user->uid, user->uid, user->uid) < 0)
		return fail(ret_error, "become the user of run-as");
	if (user->uid == 0)
		return 0;
	if (keep_start_capabilities() < 0)
		return fail(ret_error, "give up capabilities");
	/* Verify that the change is permanent: none of these calls may succeed. */
	if (!is_now(user) || setuid(0) == 0 || setresuid((uid_t)-1, 0, (uid_t)-1) == 0) {
		buf_printf(ret_error, "run-as: the rights of root could not be given up");
		return -1;
	}
	return 0;
}

static bool has_none(const struct capabilities *c)
{
	uint32_t any = 0;

	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		any |= c->words[i].effective | c->words[i].permitted | c->words[i].inheritable;
	return any == 0;
}

int privileges_become_owner(const char *dir, struct buf *ret_error)
{
	struct privileges_user owner = { .name = "" };
	struct stat st;

	if (geteuid() != 0 || stat(dir, &st) < 0 || st.st_uid == 0)
		return 0;
	owner.uid = st.st_uid;
	owner.gid = st.st_gid;
	return privileges_become(&owner, ret_error);
}

int privileges_seal(struct buf *ret_error)
{
	struct capabilities none = { .header = { .version = _LINUX_CAPABILITY_VERSION_3 } };
	struct capabilities now;

	if (geteuid() == 0)
		return 0;
	/* Old kernels have no ambient capabilities, and none to clear. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || read_capabilities(&now) < 0)
		return fail(ret_error, "give up capabilities");
	/* A process without capabilities, such as a systemd service, may not be allowed to call
	 * capset(). */
	if (has_none(&now))
		return 0;
	if (write_capabilities(&none) < 0 || read_capabilities(&now) < 0)
		return fail(ret_error, "give up capabilities");
	if (!has_none(&now)) {
		buf_printf(ret_error, "capabilities could not be given up");
		return -1;
	}
	return 0;
}

/*
 * Core dumps
 */

void privileges_set_core_dumps(bool allowed)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) < 0)
		return;
	if (allowed) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_CORE, &limit);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		return;
	}
	limit.rlim_cur = limit.rlim_max < NO_CORE_BYTES ? limit.rlim_max : NO_CORE_BYTES;
	limit.rlim_max = limit.rlim_cur;
	setrlimit(RLIMIT_CORE, &limit);
	/* Only this is left if the limit had to be 0. It also stops debuggers of the same user, so
	 * it is not the first choice. */
	if (limit.rlim_cur < NO_CORE_BYTES)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
