#include "command/request.h"

#include <stdio.h>
#include <stdlib.h>

#include "command/classic.h"
#include "command/databases.h"
#include "command/dialect.h"
#include "command/scripts.h"
#include "command/table.h"
#include "resp/reply.h"
#include "util/glob.h"

void scratch_init(struct scratch *scratch)
{
	*scratch = (struct scratch){ 0 };
	buf_init(&scratch->json, BUF_NO_MAX);
	buf_init(&scratch->error, BUF_NO_MAX);
	buf_init(&scratch->line, BUF_NO_MAX);
	buf_init(&scratch->denied, BUF_NO_MAX);
}

void scratch_free_decoded(struct scratch *scratch)
{
	struct decoded *decoded = &scratch->decoded;

	json_strings_done(&decoded->tags);
	json_strings_done(&decoded->depends);
	json_strings_done(&decoded->limits);
	free(decoded->changes);
	free(decoded->texts);
	for (size_t i = 0; i < decoded->kept_count; i++)
		free(decoded->kept[i]);
	free(decoded->kept);
	free(decoded->args_keys);
	free(decoded->keys);
	if (decoded->rule.mem != NULL)
		buf_done(&decoded->rule);
	*decoded = (struct decoded){ 0 };
}

void scratch_done(struct scratch *scratch)
{
	scratch_forget_decoded(scratch);
	buf_done(&scratch->json);
	buf_done(&scratch->error);
	buf_done(&scratch->line);
	buf_done(&scratch->denied);
	qless_args_room_free(scratch->args_room);
}

void request_use_database(struct request *req, struct database *database)
{
	req->database = database;
	req->engine = database->engine;
	if (req->form == REQUEST_NATIVE) {
		req->dialect = &dialect_native;
		req->style = req->reply->ops->embeds_data ? &dialect_native.embedding
							  : &dialect_native.native;
	} else {
		req->dialect = req->script != NULL ? req->script->dialect : &dialect_classic;
		req->style = dialect_style(req->dialect, req->form);
	}
	req->scratch = req->env->scratch;
}

void request_use_database_again(struct request *req)
{
	req->database = databases_get(req->env->databases, req->session->db);
	req->engine = req->database->engine;
}

void request_refuse_large(struct request *req, const char *limit, size_t max_bytes)
{
	bool has_changed = command_changes(req->row, req->args, req->nargs);
	char text[128];
	int len = snprintf(text, sizeof text, "%s larger than %s (%zu bytes)",
			   has_changed ? "The command ran, but its reply is" : "The reply is",
			   limit, max_bytes);

	classic_write_limit(req, str_make(text, (size_t)len));
}

bool request_check_pattern(struct request *req, struct qless_str pattern)
{
	size_t max_bytes = req->env->limits.pattern_bytes;

	if (max_bytes == 0)
		max_bytes = GLOB_MAX_BYTES;
	if (pattern.len <= max_bytes)
		return true;
	reply_errorf(req->reply, "ERR",
		     "The pattern has %zu bytes, and max-pattern-length allows %zu", pattern.len,
		     max_bytes);
	return false;
}
