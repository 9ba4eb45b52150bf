/*
 * Schemas of what the API replies with, for openapi.c: name, and a schema of OpenAPI 3.0.
 *
 * A reply may have members that are not listed here: later versions add some.
 */
#ifndef HTTP_OPENAPI_SCHEMAS_H
#define HTTP_OPENAPI_SCHEMAS_H

/* clang-format off */
#define TEXT	"{\"type\":\"string\"}"
#define NUMBER	"{\"type\":\"number\"}"
#define WHOLE	"{\"type\":\"integer\"}"
#define LOGICAL "{\"type\":\"boolean\"}"
#define TEXTS	"{\"type\":\"array\",\"items\":" TEXT "}"
#define OBJECT	"{\"type\":\"object\"}"
#define OBJECTS "{\"type\":\"array\",\"items\":" OBJECT "}"

#define OPENAPI_SCHEMAS(X)                                                                         \
	X("Error", "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{"     \
		   "\"type\":\"object\",\"required\":[\"code\",\"message\"],\"properties\":{"      \
		   "\"code\":" TEXT ",\"message\":" TEXT "}}}}")                                   \
	X("Queue", "{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{"                 \
		   "\"name\":" TEXT ",\"paused\":" LOGICAL ",\"waiting\":" WHOLE ",\"running\":"   \
		   WHOLE ",\"stalled\":" WHOLE ",\"scheduled\":" WHOLE ",\"depends\":" WHOLE       \
		   ",\"recurring\":" WHOLE ",\"listeners\":" WHOLE "}}")                           \
	X("Job", "{\"type\":\"object\",\"required\":[\"jid\",\"klass\",\"queue\",\"state\"],"      \
		 "\"properties\":{\"jid\":" TEXT ",\"klass\":" TEXT ",\"queue\":" TEXT             \
		 ",\"state\":" TEXT ",\"data\":{},\"worker\":" TEXT ",\"priority\":" NUMBER        \
		 ",\"retries\":" NUMBER ",\"remaining\":" NUMBER ",\"expires\":" NUMBER            \
		 ",\"lock\":" WHOLE ",\"tracked\":" LOGICAL ",\"tags\":" TEXTS                     \
		 ",\"dependencies\":" TEXTS ",\"dependents\":" TEXTS ",\"limits\":" TEXTS          \
		 ",\"history\":" OBJECTS ",\"failure\":" OBJECT ",\"spawned_from_jid\":{}"         \
		 ",\"result\":" TEXT ",\"error\":" TEXT ",\"progress\":" NUMBER ",\"note\":" TEXT  \
		 ",\"meta\":" OBJECT ",\"unique\":" OBJECT ",\"backoff\":" OBJECT                  \
		 ",\"runtime\":" NUMBER ",\"retain\":{},\"retained_until\":" NUMBER ",\"raw\":" LOGICAL "}}")                                  \
	X("Recurring", "{\"type\":\"object\",\"required\":[\"jid\",\"klass\",\"queue\"],"          \
		       "\"properties\":{\"jid\":" TEXT ",\"klass\":" TEXT ",\"queue\":" TEXT       \
		       ",\"state\":" TEXT ",\"data\":{},\"priority\":" NUMBER ",\"retries\":"      \
		       NUMBER ",\"interval\":" NUMBER ",\"count\":" NUMBER ",\"backlog\":" NUMBER  \
		       ",\"tags\":" TEXTS ",\"limits\":" TEXTS ",\"cron\":" TEXT ",\"tz\":" TEXT   \
		       ",\"rule\":" TEXT ",\"missed\":" TEXT ",\"overlap\":" TEXT "}}")            \
	X("Jids", "{\"type\":\"object\",\"required\":[\"jobs\",\"total\"],\"properties\":{"        \
		  "\"jobs\":" TEXTS ",\"total\":" WHOLE "}}")                                      \
	X("End", "{\"type\":\"array\",\"items\":{},\"minItems\":3,\"maxItems\":3,\"description\":" \
		 "\"The jid; the state, or null if the job is gone; the result or the error, or null\"}")
/* clang-format on */

#endif
