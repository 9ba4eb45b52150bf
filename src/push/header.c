#include "push/header.h"

#include "util/glob.h"

static bool is_token_character(char c)
{
	static const struct qless_str others = STR_INIT("!#$%&'*+-.^_`|~");

	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && memchr(others.ptr, c, others.len) != NULL);
}

static bool is_any(struct qless_str name, const struct qless_str *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (glob_match(names[i], name, true))
			return true;
	}
	return false;
}

const char *header_check_name(struct qless_str name)
{
	static const struct qless_str of_connection[] = {
		STR_INIT("connection"), STR_INIT("keep-alive"), STR_INIT("proxy-*"),
		STR_INIT("te"),		STR_INIT("trailer"),	STR_INIT("transfer-encoding"),
		STR_INIT("upgrade"),	STR_INIT("expect"),	STR_INIT("http2-settings"),
	};
	static const struct qless_str of_server[] = {
		STR_INIT("host"),	STR_INIT("content-*"),	STR_INIT("accept-encoding"),
		STR_INIT("user-agent"), STR_INIT("x-qlessd-*"),
	};

	if (name.len == 0)
		return "is empty";
	for (size_t i = 0; i < name.len; i++) {
		if (!is_token_character(name.ptr[i]))
			return "is not the name of a header";
	}
	if (is_any(name, of_connection, sizeof of_connection / sizeof *of_connection))
		return "belongs to the connection";
	if (is_any(name, of_server, sizeof of_server / sizeof *of_server))
		return "is set by the server";
	return NULL;
}

const char *header_check_value(struct qless_str value)
{
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.ptr[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return "has a control character, such as the end of a line";
	}
	if (value.len == 0)
		return "is empty";
	if (value.ptr[0] == ' ' || value.ptr[0] == '\t' || value.ptr[value.len - 1] == ' ' ||
	    value.ptr[value.len - 1] == '\t')
		return "begins or ends with a blank";
	return NULL;
}

bool header_is_secret(struct qless_str name)
{
	static const struct qless_str secrets[] = {
		STR_INIT("*auth*"),    STR_INIT("*cookie*"),	STR_INIT("*key*"),
		STR_INIT("*pass*"),    STR_INIT("*secret*"),	STR_INIT("*token*"),
		STR_INIT("*session*"), STR_INIT("*signature*"),
	};

	return is_any(name, secrets, sizeof secrets / sizeof *secrets);
}
