"""The needs of the examples in qlessd-http(7)."""

from kinds import NotRun, Shell

HERE = "http://127.0.0.1:7539/v1"
AS_JSON = "-H 'Content-Type: application/json'"
PUT = f"""curl -s {HERE}/queues/mail/jobs {AS_JSON} -d '{{"jid": "j1", "class": "Send", "data": {{"to": "ann@example.org"}}}}'"""
POP = f"""curl -s {HERE}/queues/mail/pop {AS_JSON} -d '{{"worker": "w1"}}'"""
COMPLETE = f"""curl -s {HERE}/jobs/j1/complete {AS_JSON} -d '{{"worker": "w1", "result": "sent"}}'"""

EXAMPLES = {
    "A SHORT TOUR": Shell(),
    "A SHORT TOUR #2": Shell(shell=[PUT]),
    "A SHORT TOUR #3": Shell(shell=[PUT, POP]),
    "A SHORT TOUR #4": Shell(shell=[PUT, POP, COMPLETE]),
    "REQUESTS: Putting jobs": Shell(),
    "REQUESTS: Sending a request again": Shell(),
    "EVENTS": NotRun("the stream goes on; the test server_events reads one"),
    "EXAMPLES": Shell(),
    "EXAMPLES #2": Shell(before=["PUT me mail j1 Send {} 60"]),
    "EXAMPLES #3": Shell(),
    "EXAMPLES #4": Shell(),
}
