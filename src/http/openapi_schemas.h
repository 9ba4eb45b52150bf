/*
 * The parts of the description of the API that do not follow from the rows of the routes: schemas
 * of replies, and the paths that run no command.
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
/* Paths that run no command, and so have no rows: events and sessions. */
#define OWN_OPERATION(id, tag, summary) \
	"{\"operationId\":\"" id "\",\"tags\":[\"" tag "\"],\"summary\":\"" summary "\",\"x-commands\":[],"
#define OWN_ANSWER(schema) \
	"\"responses\":{\"200\":{\"description\":\"The request succeeded\",\"content\":{" \
	"\"application/json\":{\"schema\":" schema "}}}," \
	"\"default\":{\"$ref\":\"#/components/responses/Error\"}}"
#define OWN_FILTER(name, text) \
	"{\"name\":\"" name "\",\"in\":\"query\",\"description\":\"" text "\",\"schema\":" TEXTS "}"
#define OWN_OBJECT(members) "{\"type\":\"object\",\"properties\":{" members "}}"

#define OPENAPI_OWN_PATHS \
	"\"/v1/events\":{\"get\":" \
	OWN_OPERATION("getEvents", "events", "Sends events as they happen, as server-sent events.") \
	"\"parameters\":[" \
	OWN_FILTER("queue", "queues of the events") "," \
	OWN_FILTER("jid", "jobs of the events") "," \
	OWN_FILTER("event", "kinds of events") "," \
	"{\"name\":\"Last-Event-ID\",\"in\":\"header\"," \
	"\"description\":\"the last event that the client has seen\",\"schema\":" TEXT "}]," \
	"\"responses\":{\"200\":{\"description\":\"Events\",\"content\":{" \
	"\"text/event-stream\":{\"schema\":" TEXT "}}}," \
	"\"default\":{\"$ref\":\"#/components/responses/Error\"}}}}," \
	"\"/v1/login\":{\"post\":" \
	OWN_OPERATION("postLogin", "session", "Begins a session of a user, for which a cookie stands.") \
	"\"parameters\":[],\"requestBody\":{\"required\":true,\"content\":{\"application/json\":{" \
	"\"schema\":{\"type\":\"object\",\"required\":[\"user\",\"password\"]," \
	"\"additionalProperties\":false," \
	"\"properties\":{\"user\":" TEXT ",\"password\":" TEXT "}}}}}," \
	OWN_ANSWER(OWN_OBJECT("\"user\":" TEXT)) "}}," \
	"\"/v1/logout\":{\"post\":" \
	OWN_OPERATION("postLogout", "session", "Ends the session of the request.") \
	"\"parameters\":[]," OWN_ANSWER(OWN_OBJECT("\"ok\":" LOGICAL)) "}}," \
	"\"/v1/me\":{\"get\":" \
	OWN_OPERATION("getMe", "session", \
		      "Returns the user of the request, and the commands that it may run.") \
	"\"parameters\":[]," \
	OWN_ANSWER(OWN_OBJECT("\"user\":" TEXT ",\"session\":" LOGICAL ",\"can\":" TEXTS)) "}}"
/* clang-format on */

#endif
