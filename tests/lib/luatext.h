/*
 * Small scripts with the definitions that identify the scripts of real clients.
 */
#ifndef TESTS_LUATEXT_H
#define TESTS_LUATEXT_H

/* The required commands except put, and the choice of one. */
#define LUATEXT_REST(api)                                      \
	api ".get = function(now, jid) end\n" api              \
	    ".pop = function(now, queue, worker, n) end\n" api \
	    ".peek = function(now, queue, n) end\n" api        \
	    ".complete = function(now, jid, ...) end\n" api    \
	    ".fail = function(now, jid, ...) end\n" api        \
	    ".retry = function(now, jid, ...) end\n" api       \
	    ".heartbeat = function(now, jid, ...) end\n" api ".cancel = function(now, ...) end\n"
#define LUATEXT_CHOICE(api) "local run = " api "[name]\nreturn run(now, unpack(ARGV))\n"
#define LUATEXT_PUT(api)    api ".put = function(now, me, queue, jid, klass, data, delay, ...) end\n"
#define LUATEXT_PREFIX	    "local Lib = { ns = 'ql:' }\n"

/* A whole script of the classic API. */
#define LUATEXT_CLASSIC                                                          \
	LUATEXT_PREFIX "local Api = {}\n" LUATEXT_PUT("Api") LUATEXT_REST("Api") \
		LUATEXT_CHOICE("Api")

/* A classic script in one line, with other names, quotes and forms of definitions. */
#define LUATEXT_MINIFIED                                                                          \
	"local a={ns=\"ql:\"}local b={}b.get=function(c,d)end;b[\"pop\"]=function(c,d,e,f)end;"   \
	"b['peek']=function(c)end function b.put(c,d,e,f,g,h,i,...)end function b.complete()end " \
	"function b.fail()end b.retry=function()end b.heartbeat=function()end "                   \
	"b.cancel=function()end return(b[table.remove(ARGV,1)]or b[n])(tonumber(ARGV[1]))"

/* A fork with one more command and two more options of put. */
#define LUATEXT_FORK                                                                      \
	LUATEXT_PREFIX "local Api, Queue = {}, {}\n" LUATEXT_PUT("Api") LUATEXT_REST(     \
		"Api") "Api['throttle.set'] = function(now, id, maximum) end\n"           \
		       "function Queue:put(now, worker, jid, klass, data, delay, ...)\n"  \
		       "  local options = {}\n"                                           \
		       "  for i = 1, #arg, 2 do options[arg[i]] = arg[i + 1] end\n"       \
		       "  local tags = cjson.decode(options['tags'] or '[]')\n"           \
		       "  local retries = tonumber(options['retries'] or 5)\n"            \
		       "  local throttles = cjson.decode(options['throttles'] or '[]')\n" \
		       "  if options.resources then return nil end\n"                     \
		       "end\n" LUATEXT_CHOICE("Api")

#endif
