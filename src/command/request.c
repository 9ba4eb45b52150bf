#include "command/request.h"

#include <stdlib.h>

#include "command/databases.h"
#include "command/dialect.h"
#include "command/scripts.h"

void scratch_init(struct scratch *scratch)
{
	*scratch = (struct scratch){ 0 };
	buf_init(&scratch->json, BUF_NO_MAX);
	buf_init(&scratch->error, BUF_NO_MAX);
	buf_init(&scratch->line, BUF_NO_MAX);
}

void scratch_free_decoded(struct scratch *scratch)
{
	struct decoded *decoded = &scratch->decoded;

	json_strings_done(&decoded->tags);
	json_strings_done(&decoded->depends);
	free(decoded->changes);
	free(decoded->texts);
	*decoded = (struct decoded){ 0 };
}

void scratch_done(struct scratch *scratch)
{
	scratch_forget_decoded(scratch);
	buf_done(&scratch->json);
	buf_done(&scratch->error);
	buf_done(&scratch->line);
}

void request_use_database(struct request *req, struct database *database)
{
	req->database = database;
	req->engine = database->engine;
	req->dialect = req->script != NULL ? req->script->dialect : &dialect_classic;
	req->style = dialect_style(req->dialect, req->form == REQUEST_SCRIPT);
	req->scratch = req->env->scratch;
}
