#include "unit.h"

#include "command/recognise.h"
#include "luatext.h"
#include "util/buf.h"

#define CLASSIC(text)	  expect(SCRIPT_CLASSIC, text)
#define NOT_CLASSIC(text) expect(SCRIPT_UNKNOWN, text)

/* A put before 0.10, without the worker. */
#define ANCIENT_PUT(api) api ".put = function(now, queue, jid, klass, data, delay, ...) end\n"

#define REQLESS_API(api)                                                                           \
	api "['queue.put'] = function(now, worker, queue, jid, klass, data, delay, ...) end\n" api \
	    "['queue.pop'] = function(now, queue, worker, limit) end\n" api                        \
	    "['queue.peek'] = function(now, queue, offset, limit) end\n" api                       \
	    "['job.get'] = function(now, jid) end\n" api                                           \
	    "['job.complete'] = function(now, jid, ...) end\n" api                                 \
	    "['job.fail'] = function(now, jid, ...) end\n" api                                     \
	    "['job.retry'] = function(now, jid, ...) end\n" api                                    \
	    "['job.heartbeat'] = function(now, jid, ...) end\n" api                                \
	    "['job.cancel'] = function(now, ...) end\n"

void setUp(void)
{
}

void tearDown(void)
{
}

static void expect(enum script_kind kind, const char *text)
{
	TEST_ASSERT_EQUAL_INT(kind, recognise_script(str_from(text)));
}

static void a_script_is_known_by_the_commands_it_defines(void)
{
	CLASSIC(LUATEXT_CLASSIC);
}

static void layout_quotes_and_names_do_not_matter(void)
{
	CLASSIC(LUATEXT_MINIFIED);
	CLASSIC("\r\n\t" LUATEXT_PREFIX "--[[ parts\n]] local T = {} --\n" LUATEXT_PUT(" T")
			LUATEXT_REST("\tT ") LUATEXT_CHOICE("T"));
	CLASSIC(LUATEXT_PREFIX LUATEXT_REST(
		"T") "T [ [[put]] ]\n=\nfunction -- the worker first\n"
		     "( now , me , queue, jid, klass, data, delay, ... )"
		     " end " LUATEXT_CHOICE("T"));
}

static void a_fork_with_more_commands_is_classic(void)
{
	CLASSIC(LUATEXT_PREFIX LUATEXT_PUT("Api") LUATEXT_REST(
		"Api") "Api['resource.set'] = function(now, rid, max) end\n"
		       "Api.popByJid = function(now, queue, jid, worker) end\n"
		       "Api.subscription = function(now, queue, command, topic) end\n"
		       "Api['throttle.set'] = function(now, tid, max, ...) end\n" LUATEXT_CHOICE(
			       "Api"));
}

static void the_prefix_counts_anywhere_in_the_script(void)
{
	CLASSIC(LUATEXT_PUT("Api") LUATEXT_REST("Api")
			LUATEXT_CHOICE("Api") "redis.call('zadd', \"ql:queues\", now, queue)");
}

static void a_script_whose_put_takes_no_worker_is_ancient(void)
{
	expect(SCRIPT_ANCIENT,
	       LUATEXT_PREFIX ANCIENT_PUT("Api") LUATEXT_REST("Api") LUATEXT_CHOICE("Api"));
	expect(SCRIPT_ANCIENT, LUATEXT_PREFIX
	       "function Api.put(now,queue,jid,klass,data,delay,...)end\n" LUATEXT_REST("Api")
		       LUATEXT_CHOICE("Api"));
}

static void the_successor_is_recognised(void)
{
	expect(SCRIPT_REQLESS, LUATEXT_PREFIX REQLESS_API("Api") LUATEXT_CHOICE("Api"));
	expect(SCRIPT_REQLESS, LUATEXT_PREFIX REQLESS_API("Api") LUATEXT_PUT("Api")
				       LUATEXT_REST("Api") LUATEXT_CHOICE("Api"));
}

static void a_script_that_lacks_a_part_is_unknown(void)
{
	NOT_CLASSIC(LUATEXT_PREFIX LUATEXT_REST("Api") LUATEXT_CHOICE("Api"));
	NOT_CLASSIC(LUATEXT_PREFIX LUATEXT_PUT("Api") LUATEXT_REST("Api"));
	NOT_CLASSIC(LUATEXT_PUT("Api") LUATEXT_REST("Api") LUATEXT_CHOICE("Api"));
	NOT_CLASSIC(LUATEXT_PREFIX LUATEXT_PUT("One") LUATEXT_REST("Two") LUATEXT_CHOICE("One")
			    LUATEXT_CHOICE("Two"));
	NOT_CLASSIC("local Lib = { ns = 'rql:' }\n" LUATEXT_PUT("Api") LUATEXT_REST("Api")
			    LUATEXT_CHOICE("Api"));
}

static void a_plugin_with_its_own_commands_is_unknown(void)
{
	NOT_CLASSIC(LUATEXT_PREFIX
		    "function Queue:pop(now, worker, n) end\n"
		    "function Queue:put(now, worker, jid) end\n"
		    "local Own = {}\nfunction Own.finish(now, jid) end\n" LUATEXT_CHOICE("Own"));
}

static void a_script_that_only_mentions_the_commands_is_unknown(void)
{
	NOT_CLASSIC("");
	NOT_CLASSIC("return redis.call('get', KEYS[1])");
	NOT_CLASSIC("--[[" LUATEXT_CLASSIC "]]");
	NOT_CLASSIC("local text = [[" LUATEXT_CLASSIC "]]");
	NOT_CLASSIC(LUATEXT_PREFIX "if A.put == f and A.pop == f and A.get == f and A.peek == f "
				   "and A.complete == f and A.fail == f and A.retry == f and "
				   "A.heartbeat == f and A.cancel == f then return A[name] end");
	NOT_CLASSIC(LUATEXT_PREFIX LUATEXT_PUT("Api") LUATEXT_REST("Api") "Api[name] = nil");
}

static void a_script_that_breaks_off_counts_up_to_that_point(void)
{
	NOT_CLASSIC(LUATEXT_PREFIX LUATEXT_PUT("Api") "local x = 'open\n" LUATEXT_REST("Api")
			    LUATEXT_CHOICE("Api"));
	CLASSIC(LUATEXT_CLASSIC "--[[ open");
}

static void too_many_tables_do_no_harm(void)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	for (int i = 0; i < 10000; i++)
		buf_printf(&text, "t%d.put = function(now) end ", i);
	buf_append_str(&text, STR(LUATEXT_CLASSIC));
	TEST_ASSERT_EQUAL_INT(SCRIPT_UNKNOWN, recognise_script(buf_str(&text)));
	buf_done(&text);
}

static void every_refusal_says_why(void)
{
	TEST_ASSERT_NULL(recognise_refusal(SCRIPT_CLASSIC));
	TEST_ASSERT_NOT_NULL(strstr(recognise_refusal(SCRIPT_UNKNOWN), "qless scripts only"));
	TEST_ASSERT_NOT_NULL(strstr(recognise_refusal(SCRIPT_ANCIENT), "before 0.10"));
	TEST_ASSERT_NOT_NULL(strstr(recognise_refusal(SCRIPT_REQLESS), "reqless"));
}

/* ---- commands and options ---- */

static const char *joined(const struct script_names *names)
{
	static struct buf text = BUF_INIT(BUF_NO_MAX);

	buf_clear(&text);
	for (size_t i = 0; i < names->count; i++)
		buf_printf(&text, "%.*s ", (int)names->items[i].len, names->items[i].ptr);
	return buf_cstr(&text);
}

static const char *commands_of(const char *text)
{
	struct script_parts parts;

	recognise_parts(str_from(text), &parts);
	return joined(&parts.commands);
}

static const char *put_options_of(const char *text)
{
	struct script_parts parts;

	recognise_parts(str_from(text), &parts);
	return joined(&parts.put_options);
}

static void the_functions_of_the_table_are_the_commands(void)
{
	TEST_ASSERT_EQUAL_STRING(
		"put get pop peek complete fail retry heartbeat cancel throttle.set ",
		commands_of(LUATEXT_FORK));
	TEST_ASSERT_EQUAL_STRING(
		"put get pop peek complete fail retry heartbeat cancel ",
		commands_of(LUATEXT_CLASSIC "Api.version = '7'\nfunction Other.use() end"));
	TEST_ASSERT_EQUAL_STRING("get pop peek put complete fail retry heartbeat cancel ",
				 commands_of(LUATEXT_MINIFIED));
}

static void the_options_of_put_are_found_in_its_body(void)
{
	TEST_ASSERT_EQUAL_STRING("tags retries throttles resources ", put_options_of(LUATEXT_FORK));
	TEST_ASSERT_EQUAL_STRING("", put_options_of(LUATEXT_CLASSIC));
	TEST_ASSERT_EQUAL_STRING("tags depends rank ",
				 put_options_of("Api.put = function(now, ...)\n"
						"  for i = 1, #arg, 2 do\n"
						"    if arg[i] then local name = arg[i] end\n"
						"    if name == 'tags' then t = 1\n"
						"    elseif 'depends' == name then t = 2\n"
						"    elseif name == \"rank\" then t = 3 end\n"
						"  end\n"
						"  repeat local x = 1 until x\n"
						"end\n"
						"if name == 'outside' then end"));
}

static void other_variables_of_put_hold_no_options(void)
{
	TEST_ASSERT_EQUAL_STRING("", put_options_of("function Q:put(now, ...)\n"
						    "  if state == 'depends' or state == 'failed' "
						    "then redis.call('del', job.tags) end\n"
						    "  old.priority = old.size\n"
						    "end\n"));
}

static void a_put_that_is_not_closed_ends_with_the_script(void)
{
	TEST_ASSERT_EQUAL_STRING("tags retries ",
				 put_options_of("function Q:put() if o.tags then o.retries"));
}

static void a_file_with_one_command_is_ancient(void)
{
	expect(SCRIPT_ANCIENT, "-- put(1, queue, jid, klass, data, now, delay)\n"
			       "if #KEYS ~= 1 then\n"
			       "  error('Put(): Expected 1 KEYS argument')\n"
			       "end\n"
			       "local jid = assert(ARGV[1], 'Put(): Arg \"jid\" missing')\n"
			       "redis.call('hmset', 'ql:j:' .. jid, 'jid', jid)\n");
	NOT_CLASSIC("return redis.call('get', 'ql:j:' .. ARGV[1])");
	NOT_CLASSIC("error('Put(): no') redis.call('get', 'other:' .. ARGV[1])");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_script_is_known_by_the_commands_it_defines);
	RUN(layout_quotes_and_names_do_not_matter);
	RUN(a_fork_with_more_commands_is_classic);
	RUN(the_prefix_counts_anywhere_in_the_script);
	RUN(a_script_whose_put_takes_no_worker_is_ancient);
	RUN(the_successor_is_recognised);
	RUN(a_script_that_lacks_a_part_is_unknown);
	RUN(a_plugin_with_its_own_commands_is_unknown);
	RUN(a_script_that_only_mentions_the_commands_is_unknown);
	RUN(a_script_that_breaks_off_counts_up_to_that_point);
	RUN(too_many_tables_do_no_harm);
	RUN(every_refusal_says_why);
	RUN(the_functions_of_the_table_are_the_commands);
	RUN(the_options_of_put_are_found_in_its_body);
	RUN(other_variables_of_put_hold_no_options);
	RUN(a_put_that_is_not_closed_ends_with_the_script);
	RUN(a_file_with_one_command_is_ancient);
	return UNIT_RESULT();
}
