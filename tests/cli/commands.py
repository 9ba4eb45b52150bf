"""Every command of qless on a real server: what people see, and what programs read."""

import json
import os
import subprocess
import sys

from harness import (QLESS, as_json, as_json_lines, call, contains, db, environment, equal, fail,
                     pop, put, qless, run, shows, wait_until, without_times)

HOSTILE = "evil\033[2J\u202e\x07\nqueue"
SHOWN = "evil\\x1b[2J\\u202e\\a\\nqueue"


def queues_are_listed_with_their_counts():
    put("mail", "m1")
    put("mail", "m2")
    put("mail", "s1", delay=1000)
    put("mail", "f1", "priority", 9)
    put("images", "i1")
    equal(["f1"], pop("mail"))
    fail("f1", "smtp", "no route")
    equal(["m1"], pop("mail"))
    call("PAUSE", "images")
    shows("""\
QUEUE   WAITING  RUNNING  STALLED  SCHEDULED  DEPENDS  RECURRING  FAILED  OLDEST  WORKERS
images        1        0        0          0        0          0       0     1ms   paused
mail          1        1        0          1        0          0       1     1ms     none
""", "queues")
    queues = as_json("queues")
    equal(["images", "mail"], [queue["name"] for queue in queues])
    equal((True, False), (queues[0]["paused"], queues[1]["paused"]))
    equal((1, 1, 1), tuple(queues[1][name] for name in ("waiting", "scheduled", "failed")))
    equal(["images", "mail"], qless("queues", "-q").lines)
    equal(["mail"], [queue["name"] for queue in as_json("queues", "mail")])


def no_queue_is_a_table_without_rows():
    equal(1, len(qless("queues").lines))
    equal([], as_json("queues"))
    equal("", qless("queues", "--quiet").out)


def a_narrow_table_leaves_columns_out():
    put("a-queue-with-quite-a-long-name", "m1")
    lines = qless("queues", "--width", "62").lines
    equal("QUEUE               WAITING  RUNNING  STALLED  FAILED  WORKERS", lines[0])
    contains("a-queue-with-quit…  ", lines[1])
    for line in lines:
        assert len(line) <= 62, line


def jobs_of_a_queue_are_listed():
    put("mail", "m1", klass="Report")
    put("mail", "s1", delay=1000)
    put("mail", "d1", "depends", '["m1"]')
    put("other", "o1")
    equal(["m1"], pop("mail"))
    rows = sorted(without_times(qless("jobs", "mail").out).splitlines())
    equal("""\
JOB  STATE  CLASS  PRIORITY  RETRIES  SINCE  DUE  WORKER  GROUP
d1  depends  Send  0  5  AGE
m1  running  Report  0  5  AGE  AGE  w1
s1  scheduled  Send  0  5  AGE  AGE""", "\n".join(rows))
    jobs = {job["jid"]: job for job in as_json_lines("jobs", "mail")}
    equal({"d1", "m1", "s1"}, set(jobs))
    equal(("running", "Report", "w1"),
          tuple(jobs["m1"][name] for name in ("state", "klass", "worker")))
    equal(None, jobs["d1"]["due"])


def jobs_are_selected_by_state_class_and_number():
    for i in range(5):
        put("mail", f"a{i}", klass="A")
        put("mail", f"b{i}", klass="B", delay=1000)
    listed = qless("jobs", "mail", "--state", "waiting", "-q").lines
    equal(["a0", "a1", "a2", "a3", "a4"], sorted(listed))
    equal(10, len(qless("jobs", "mail", "--state", "waiting,scheduled", "-q").lines))
    listed = qless("jobs", "mail", "--class", "B", "-q", "--limit", "3").lines
    equal(3, len(listed))
    assert all(jid.startswith("b") for jid in listed), listed
    contains("BADARG", qless("jobs", "mail", "--state", "bogus", expect=1).err)


def jobs_are_counted_by_fields():
    for i in range(3):
        put("mail", f"a{i}", klass="A")
    put("mail", "b", "priority", 5, klass="B")
    equal(["b"], pop("mail"))
    shows("""\
STATE  KLASS  JOBS
waiting  A  3
running  B  1""", "jobs", "mail", "--count-by", "state,KLASS")
    shows("""\
WORKER  JOBS
-  3
w1  1""", "jobs", "mail", "--count-by", "worker")
    equal([{"priority": "0", "count": 3}],
          as_json_lines("jobs", "mail", "--count-by", "priority", "--state", "waiting"))
    equal(1, len(as_json_lines("jobs", "mail", "--count-by", "state", "--limit", "1")))
    contains("BADARG", qless("jobs", "mail", "--count-by", "color", expect=1).err)
    contains("--class", qless("jobs", "mail", "--count-by", "state", "--class", "A",
                              expect=2).err)


def lines_and_memory(*arguments):
    """The number of lines that qless prints, and the most memory that it has used."""
    script = ("import resource, subprocess, sys\n"
              "with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE) as qless:\n"
              "    lines = sum(1 for line in qless.stdout)\n"
              "print(lines, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n")
    found = subprocess.run([sys.executable, "-c", script, QLESS, *arguments], check=True,
                           stdout=subprocess.PIPE, env=environment()).stdout
    return map(int, found.split())


def is_sanitized():
    version = subprocess.run([os.environ["QLESSD"], "--version"], capture_output=True, check=True)
    return b"sanitizers" in version.stdout


def a_long_list_takes_little_memory():
    pipe = db.pipeline(transaction=False)
    for start in range(0, 100000, 1000):
        words = ["MULTIPUT", "producer", "long", 0, "jobs"]
        for i in range(start, start + 1000):
            words += [f"job-{i:06}", "Send", "{}"]
        pipe.execute_command(*words)
    pipe.execute()
    for arguments in (["-q"], ["--json"], []):
        _, few = lines_and_memory("jobs", "long", "--limit", "1000", *arguments)
        lines, all_of_them = lines_and_memory("jobs", "long", *arguments)
        equal(100000 + (not arguments), lines)
        # 100 bytes for each job would be 10,000 kB.
        assert all_of_them - few < 3000 or is_sanitized(), f"{few} kB, then {all_of_them} kB"


def a_job_is_shown_with_everything():
    put("mail", "j1", "tags", '["a","b"]', "priority", 3, "limits", '["db"]')
    put("mail", "j2", "depends", '["j1"]')
    pop("mail")
    fail("j1", "smtp", "no route\nto \033[31mhost")
    out = qless("show", "j1").out
    for line in ("job           j1", "class         Send", "queue         mail",
                 "state         failed", "priority      3", "retries       5 of 5 left",
                 "failed in     smtp", "failed by     w1", "message       no route",
                 "              to \\x1b[31mhost", "tags          a, b", "limits        db",
                 "needed by     j2", 'data          {"to":"x"}'):
        contains(line + "\n", out)
    contains("  put  queue=mail\n", out)
    contains("  failed  group=smtp worker=w1\n", out)
    equal("j1", as_json("show", "j1")["jid"])
    equal(["j1", "j2"], [job["jid"] for job in as_json_lines("show", "j1", "j2")])


def a_running_job_shows_its_lock():
    put("mail", "j1")
    pop("mail")
    out = qless("show", "j1").out
    contains("worker        w1\n", out)
    contains("lock expires  20", out)


def a_job_shows_how_long_it_is_kept():
    put("mail", "j1", "retain", "172800")
    put("mail", "j2", "retain", "ack")
    contains("\nretain        2d\n", qless("show", "j1").out)
    contains("\nretain        until it is acknowledged\n", qless("show", "j2").out)
    pop("mail", count=2)
    for jid in ("j1", "j2"):
        call("COMPLETE", jid, "w1", "mail")
    line = next(line for line in qless("show", "j1").out.splitlines()
                if line.startswith("kept until    "))
    assert line.endswith(("(in 2d)", "(in 1d23h)")), line
    contains("\nretain        until it is acknowledged\n", qless("show", "j2").out)


def a_job_that_does_not_exist_is_an_error():
    put("mail", "j1")
    for command in ("show", "why"):
        result = qless(command, "nope\033[2J", "j1", expect=1)
        equal("qless: there is no job nope\\x1b[2J\n", result.err)
        contains("j1", result.out)


def why_tells_what_holds_a_job():
    qless("limit", "db", "--concurrency", "1")
    put("mail", "a", "limits", '["db"]')
    put("mail", "b", "limits", '["db"]')
    put("mail", "c", "depends", '["b"]')
    put("mail", "d", delay=1000)
    equal(["a"], pop("mail"))
    out = qless("why", "b").out
    contains("b in queue mail: waiting\nThe concurrency of limit db is 1", out)
    contains("  HOLDER  QUEUE  WORKER  LOCK\n  a       mail   w1", out)
    contains("c in queue mail: depends\n", qless("why", "c").out)
    contains("  b          waiting  mail\n", qless("why", "c").out)
    contains("due           20", qless("why", "d").out)
    equal("limit", as_json("why", "b")["reason"])
    call("PAUSE", "mail")
    contains("b in queue mail: waiting, the queue is paused\n", qless("why", "b").out)


def failures_are_counted_by_group():
    for i in range(3):
        put("mail", f"j{i}")
        pop("mail")
        fail(f"j{i}", "smtp" if i else "disk", f"message {i}")
    shows("GROUP  JOBS\nsmtp  2\ndisk  1\n", "failures")
    equal({"smtp": 2, "disk": 1}, as_json("failures"))
    equal(["smtp", "disk"], qless("failures", "-q").lines)
    shows("""\
JOB  CLASS  QUEUE  AGE  MESSAGE
j2  Send  mail  1s  message 2
j1  Send  mail  1s  message 1
""", "failures", "smtp")
    equal(["j2"], qless("failures", "smtp", "-q", "--limit", "1").lines)
    equal("smtp", as_json_lines("failures", "smtp")[0]["failure"]["group"])


def many_failures_are_listed_page_by_page():
    for i in range(120):
        put("mail", f"j{i}")
    for jid in pop("mail", count=120):
        fail(jid, "smtp", "x")
    equal(120, len(set(qless("failures", "smtp", "-q").lines)))


def workers_are_listed_with_their_connections():
    put("mail", "j1")
    pop("mail", "busy")
    call("WORKER.ATTACH", "calm", "NODE", "host1", "PID", "77")
    lines = without_times(qless("workers").out).splitlines()
    equal("WORKER  JOBS  STALLED  ATTACHED  NODE  PID  ADDRESS  SINCE  IDLE  QUEUES", lines[0])
    equal("busy  1  0  -", lines[1])
    contains("calm  0  0  yes  host1  77  127.0.0.1:", lines[2])
    busy, calm = as_json("workers")
    equal(("busy", 1, None), (busy["name"], busy["jobs"], busy["connection"]))
    equal("host1", calm["connection"]["node"])
    equal(["busy", "calm"], qless("workers", "--quiet").lines)
    contains("j1   running\n", qless("workers", "busy").out)
    equal(["j1"], as_json("workers", "busy")["jobs"])
    call("WORKER.DETACH", "calm")


def limits_are_listed_set_held_and_deleted():
    lines = qless("limit", "domain:a", "--concurrency", "2", "--rate", "5", "--per", "1m").lines
    equal(["LIMIT     RULE      CONCURRENCY  RATE  RUNNING  WAITING  STATE  OPENS",
           "domain:a  domain:a            2  5/1m        0        0  open"], lines)
    put("mail", "j1", "limits", '["domain:a"]')
    pop("mail")
    equal((2, 1), (as_json("limit", "domain:a")["concurrency"],
                   as_json("limit", "domain:a")["running"]))
    contains("j1      mail   w1", qless("limit", "domain:a").out)
    qless("limit", "other", "--rate", "1")
    equal(["domain:a"], qless("limits", "domain:*", "-q").lines)
    equal({"domain:a", "other"}, {limit["name"] for limit in as_json_lines("limits")})
    contains("held", qless("limit", "other", "--hold", "5m").out)
    equal("the rule is deleted\n", qless("limit", "other", "--delete").out)
    equal("qless: there is no such rule\n", qless("limit", "other", "--delete", expect=1).err)
    qless("limit", "other", "--delete", "--hold", "1", expect=2)


def recurring_jobs_are_listed_with_their_schedules():
    call("RECUR", "mail", "r1", "Daily", "{}", "cron", "0 3 * * *", "tz", "Europe/Berlin")
    call("RECUR", "mail", "r2", "Often", "{}", "interval", "90", "1000")
    lines = sorted(without_times(qless("recurring", "mail").out).splitlines()[1:])
    contains("r1  Daily  0 3 * * *  Europe/Berlin  AGE", lines[0])
    contains("r2  Often  every AGE", lines[1])
    equal({"r1", "r2"}, {job["jid"] for job in as_json_lines("recurring", "mail")})


def info_shows_the_server():
    put("mail", "j1")
    out = qless("info").out
    contains("server    qlessd ", out)
    contains("log       ok, ", out)
    contains("jobs      1: 1 waiting\n", out)
    put("mail", "j2", delay=1000)
    contains("jobs      2: 1 waiting,\n          1 scheduled\n", qless("info", "--width", "24").out)
    equal("ok", as_json("info")["log_state"])
    equal(1, as_json("info")["jobs_waiting"])


def top_prints_once_unless_on_a_terminal():
    put("mail", "j1")
    put("slow", "j2", delay=1000)
    lines = qless("top").lines
    contains("qlessd 127.0.0.1:", lines[0])
    contains("jobs  1 waiting  0 running", lines[1])
    contains("QUEUE  WAIT  RUN", lines[4])
    contains("mail", lines[5])
    (top,) = as_json_lines("top")
    equal(["mail", "slow"], [queue["name"] for queue in top["queues"]])
    equal(1, top["queues"][1]["scheduled"])
    equal(2, len(as_json_lines("top", "--count", "2", "--interval", "0.01")))
    equal(["slow", "mail"], [q["name"] for q in as_json("top", "--sort", "name")["queues"]][::-1])
    qless("top", "--sort", "bogus", expect=2)


def put_makes_jobs():
    jid = qless("put", "mail", "Send", '{"to":"ann"}').out.strip()
    job = json.loads(call("GET", jid))
    equal(("mail", "Send", '{"to":"ann"}'), (job["queue"], job["klass"], job["data"]))
    equal("j1\n", qless("put", "mail", "Send", "--jid", "j1", "--priority", "7", "--tags", "a,b",
                        "--retries", "2", "--delay", "5m", "--limits", "db").out)
    job = json.loads(call("GET", "j1"))
    equal((7, ["a", "b"], 2, "scheduled", "{}", ["db"]),
          (job["priority"], job["tags"], job["retries"], job["state"], job["data"], job["limits"]))
    qless("put", "mail", "Send", "--jid", "j2", "--depends", "j1")
    equal(["j1"], json.loads(call("GET", "j2"))["dependencies"])
    equal({"jid": "j3"}, as_json("put", "mail", "Send", "--jid", "j3"))


def put_reads_data_from_standard_input():
    data = json.dumps({"text": "ä" * 100000})
    qless("put", "mail", "Send", "-", "--jid", "j1", stdin=data.encode())
    equal(data, json.loads(call("GET", "j1"))["data"])


def put_refuses_wrong_arguments():
    contains("BADJSON", qless("put", "mail", "Send", "no json", expect=1).err)
    contains("--delay must be a duration such as 90, 5m, 2h or 1d, not 'soon'",
             qless("put", "mail", "Send", "--delay", "soon", expect=2).err)
    contains("--at must be seconds", qless("put", "mail", "Send", "--at", "soon", expect=2).err)
    contains("--unique", qless("put", "mail", "Send", "--replace", expect=2).err)
    qless("put", "mail", expect=2)
    equal([], as_json("queues"))


def failed(queue, group, *jids):
    for jid in jids:
        put(queue, jid, data='{"of":"%s"}' % jid)
        equal([jid], pop(queue))
        fail(jid, group, "broken")


def retry_puts_failed_jobs_back():
    failed("mail", "smtp", "j1", "j2")
    put("mail", "j3")
    equal("2 jobs retried\n", qless("retry", "j1", "j2").out)
    equal(("waiting", '{"of":"j1"}'),
          tuple(json.loads(call("GET", "j1"))[name] for name in ("state", "data")))
    result = qless("retry", "j3", "nope", expect=1)
    equal("qless: j3: the job has not failed: its state is waiting\n"
          "qless: nope: there is no such job\n", result.err)
    equal("0 jobs retried\n", result.out)


def retry_of_a_group_asks_first():
    failed("mail", "smtp", "j1", "j2")
    failed("images", "smtp", "j3")
    failed("mail", "disk", "j4")
    result = qless("retry", "--group", "smtp", expect=2)
    equal("Retry 3 jobs? [y/N] \nqless: nothing was changed: give --yes to go on without a question\n",
          result.err)
    qless("retry", "--group", "smtp", stdin=b"no\n", expect=2)
    equal({"smtp": 3, "disk": 1}, as_json("failures"))
    equal("3 jobs retried\n", qless("retry", "--group", "smtp", "--yes").out)
    equal(("mail", "images"),
          tuple(json.loads(call("GET", jid))["queue"] for jid in ("j1", "j3")))
    equal({"disk": 1}, as_json("failures"))
    equal("no job matches\n", qless("retry", "--group", "smtp").out)
    equal({"changed": 1, "refused": 0},
          as_json("retry", "--queue", "mail", "--to", "other", "--yes"))
    equal("other", json.loads(call("GET", "j4"))["queue"])


def a_large_group_is_retried_whole():
    for i in range(2500):
        put("mail", f"j{i}")
    for jid in pop("mail", count=2500):
        fail(jid, "smtp", "x")
    equal("2500 jobs retried\n", qless("retry", "--group", "smtp", "-y").out)
    equal({}, as_json("failures"))
    equal(2500, as_json("queues")[0]["waiting"])


def move_puts_jobs_into_another_queue():
    put("mail", "j1", "tags", '["t"]', data='{"a":1}')
    put("mail", "j2", delay=1000)
    equal("1 job moved\n", qless("move", "j1", "other").out)
    job = json.loads(call("GET", "j1"))
    equal(("other", '{"a":1}', ["t"]), (job["queue"], job["data"], job["tags"]))
    equal("1 job moved\n", qless("move", "--queue", "mail", "other", "--yes").out)
    equal(2, [q["waiting"] for q in as_json("queues") if q["name"] == "other"][0])
    qless("move", "other", expect=2)


def cancel_deletes_jobs():
    put("mail", "j1")
    put("mail", "j2", "depends", '["j1"]')
    result = qless("cancel", "j1", expect=1)
    contains("qless: j1: DEPENDENTS", result.err)
    equal("2 jobs cancelled\n", qless("cancel", "j1", "j2").out)
    equal("0 jobs cancelled\n", qless("cancel", "j1").out)


def cancel_of_a_selection_needs_yes():
    for i in range(250):
        put("mail", f"j{i:03}", *(["depends", f'["j{i - 1:03}"]'] if i % 10 else []))
    put("other", "o1", "tags", '["t"]')
    contains("Cancel 250 jobs? [y/N]", qless("cancel", "--queue", "mail", expect=2).err)
    equal(250, len(qless("jobs", "mail", "-q").lines))
    equal("250 jobs cancelled\n", qless("cancel", "--queue", "mail", "-y").out)
    equal("1 job cancelled\n", qless("cancel", "--tag", "t", "-y").out)


def selections_are_checked():
    put("mail", "j1")
    for arguments, text in (
            (["j1", "--queue", "mail"], "give either jobs, or options that select jobs"),
            ([], "give jobs, or select them by --queue, --group or --tag"),
            (["--queue", "mail", "--tag", "t"], "give only one of --queue, --group and --tag"),
            (["--group", "g", "--state", "failed"], "--state and --class need --queue")):
        contains(text, qless("cancel", *arguments, "-y", expect=2).err)
    equal(["j1"], qless("jobs", "mail", "-q").lines)


def pause_and_unpause_change_queues():
    put("mail", "j1")
    equal("2 queues paused\n", qless("pause", "mail", "other").out)
    equal([], pop("mail"))
    equal("1 queue running again\n", qless("unpause", "mail").out)
    equal(["j1"], pop("mail"))
    equal({"changed": 1}, as_json("pause", "mail"))


def call_sends_any_command():
    equal("PONG\n", qless("call", "PING").out)
    equal("0\n", qless("call", "DBSIZE").out)
    equal("null\n", qless("call", "GET", "nope").out)
    equal('"PONG"\n', qless("--json", "call", "PING").out)
    contains("unknown command", qless("call", "NOTHING", expect=1).err)
    equal("-x\n", qless("call", "ECHO", "-x").out)


def hostile_names_and_data_are_escaped():
    put(HOSTILE, "j\033]0;x\x07", "tags", json.dumps(["\x9b31m"]), klass="K\033[31m",
        data=json.dumps("\033\x9b"))
    for arguments in (["queues"], ["queues", "-q"], ["jobs", HOSTILE], ["jobs", HOSTILE, "-q"],
                      ["show", "j\033]0;x\x07"], ["why", "j\033]0;x\x07"], ["top"]):
        out = qless(*arguments).out
        for character in out:
            assert character >= " " or character == "\n", (arguments, out)
            assert character not in "\x7f\x9b\u202e", (arguments, out)
    contains(SHOWN, qless("queues").out)
    pop(HOSTILE)
    fail("j\033]0;x\x07", "g\033[2J", "m\033[2J")
    for arguments in (["failures"], ["failures", "g\033[2J"], ["workers", "w1"]):
        assert "\033" not in qless(*arguments).out, arguments


def programs_get_names_as_they_are():
    put(HOSTILE, "j1")
    equal([HOSTILE], [queue["name"] for queue in as_json("queues")])
    equal(HOSTILE, as_json("show", "j1")["queue"])


def usage_errors_change_nothing():
    contains("there is no command 'bogus'", qless("bogus", expect=2).err)
    contains("unknown option --bogus; 'qless help jobs' lists them",
             qless("jobs", "mail", "--bogus", expect=2).err)
    equal("qless: usage: qless jobs queue\n", qless("jobs", expect=2).err)
    contains("--limit must be a number", qless("jobs", "q", "--limit", "x", expect=2).err)
    contains("--color must be", qless("queues", "--color", "x", expect=2).err)
    contains("Usage: qless", qless(expect=2).out)


def help_describes_every_command():
    out = qless("--help").out
    for command in ("queues", "top", "put", "jobs", "show", "why", "tail", "retry", "move",
                    "cancel", "limits", "workers", "wait"):
        contains(f"\n  {command} ", out)
        contains(f"Usage: qless {command}", qless("help", command).out)
        equal(qless("help", command).out, qless(command, "--help").out)
    contains("--cacert file", out)
    contains("qless 0", qless("--version").out)
    qless("help", "bogus", expect=2)


def words_after_two_dashes_are_not_options():
    put("--json", "-q")
    equal(["-q"], qless("jobs", "-q", "--", "--json").lines)
    equal("-q", json.loads(qless("show", "--json", "--", "-q").out)["jid"])


def colour_is_only_for_terminals():
    put("mail", "j1")
    assert "\033" not in qless("queues").out
    contains("\033[1mQUEUE\033[0m", qless("queues", "--color", "always").out)


def the_database_is_selected():
    put("mail", "j1")
    equal([], as_json("queues", "-n", "1"))
    qless("put", "there", "Send", "-n", "1")
    equal(["there"], qless("queues", "-q", "-n", "1").lines)
    contains("there", qless("top", "-n", "1").out)
    assert "mail" not in qless("top", "-n", "1").out


def tail_ends_after_a_number_of_events():
    tail = subprocess.Popen([QLESS, "tail", "mail", "--kind", "failed,put", "--limit", "3",
                             "--json"], stdout=subprocess.PIPE, env=environment())
    wait_until(lambda: call("PUBSUB", "NUMSUB", "ql:q:mail:events")[1] == 1)
    put("other", "o1")
    put("mail", "j1")
    pop("mail")
    call("COMPLETE", "j1", "w1", "mail", "{}")
    put("mail", "j2")
    pop("mail")
    fail("j2", "smtp", "broken")
    events = [json.loads(line) for line in tail.communicate()[0].splitlines()]
    equal(0, tail.returncode)
    equal([("put", "j1"), ("put", "j2"), ("failed", "j2")],
          [(event["event"], event["jid"]) for event in events])
    equal({"mail"}, {event["queue"] for event in events})
    assert all(event["time"] > 1.7e9 for event in events)


def tail_shows_every_event_once():
    tail = subprocess.Popen([QLESS, "tail", "--limit", "5", "--json"], stdout=subprocess.PIPE,
                            env=environment())
    wait_until(lambda: call("PUBSUB", "NUMSUB", "ql:log")[1] == 1)
    put("mail", "j1")
    pop("mail")
    call("COMPLETE", "j1", "w1", "mail", "{}", "next", "other")
    pop("other")
    fail("j1", "smtp", "broken")
    call("CONFIG.SET", "heartbeat", "30")
    call("CONFIG.UNSET", "heartbeat")
    events = [json.loads(line) for line in tail.communicate()[0].splitlines()]
    equal([("put", "mail"), ("advanced", "mail"), ("failed", "other"), ("config_set", None),
           ("config_unset", None)],
          [(event["event"], event.get("queue")) for event in events])


def put_passes_every_option_on():
    equal("1\n", qless("put", "mail", "Send", "--jid", "+").out)
    equal("2\n", qless("put", "mail", "Send", "--jid", "+").out)
    result = qless("put", "mail", "Send", "--jid", "1", "--nx", expect=1)
    equal("qless: a job with this jid exists: nothing was put\n", result.err)
    equal({"jid": None}, as_json("put", "mail", "Send", "--jid", "1", "--nx"))
    equal("u1\n", qless("put", "mail", "Send", "--jid", "u1", "--unique", "key",
                        "--until", "finished").out)
    equal("u1\n", qless("put", "mail", "Send", '{"b":1}', "--jid", "u2", "--unique", "key",
                        "--replace").out)
    equal('{"b":1}', json.loads(call("GET", "u1"))["data"])
    qless("put", "mail", "Send", "--jid", "later", "--at", "2100-01-01 00:30",
          "--backoff", "fixed 5 5", "--runtime", "5m", "--retain", "1h")
    equal(3600, json.loads(call("GET", "later"))["retain"])
    qless("put", "other", "Send", "--jid", "acked", "--retain", "ack")
    equal("ack", json.loads(call("GET", "acked"))["retain"])
    equal([4102446600], [job["due"] for job in as_json_lines("jobs", "mail", "--state",
                                                             "scheduled")])


def the_progress_of_a_job_is_shown():
    put("mail", "j1")
    pop("mail")
    call("JOB.START", "j1", "w1", "PID", "77", "NODE", "host1")
    call("JOB.PROGRESS", "j1", "w1", "40", "half \033way")
    out = qless("show", "j1").out
    for line in ("started       20", "node          host1\n", "progress      40\n",
                 "note          half \\x1bway\n"):
        contains(line, out)
    equal(["j1"], qless("jobs", "mail", "-q", "--state", "started").lines)
    call("COMPLETE", "j1", "w1", "mail", "{}", "result", "it is done")
    contains("it is done", qless("wait", "j1").out)


def delete_removes_ended_jobs():
    failed("mail", "smtp", "j1", "j2")
    put("mail", "j3")
    equal("1 job deleted\n", qless("delete", "j1").out)
    result = qless("delete", "j3", "nope", expect=1)
    contains("qless: j3: NOTFINISHED", result.err)
    contains("qless: nope: there is no such job\n", result.err)
    equal("1 job deleted\n", qless("delete", "--queue", "mail", stdin=b"y\n").out)
    equal(["j3"], qless("jobs", "mail", "-q").lines)


def wait_returns_results_and_exit_codes():
    put("mail", "j1")
    pop("mail")
    call("COMPLETE", "j1", "w1", "mail", "{}")
    shows("JOB  STATE     RESULT\nj1   complete\n", "wait", "j1")
    put("mail", "j2")
    pop("mail")
    fail("j2", "smtp", "no route")
    out = qless("wait", "j1", "j2", "nope", expect=5).out
    contains("j2    failed", out)
    contains("nope  gone", out)
    equal("complete", json.loads(qless("wait", "j1", "--json").out)[0][1])
    put("mail", "j3")
    result = qless("wait", "j3", "--timeout", "10ms", expect=4)
    equal("qless: the jobs did not finish in time\n", result.err)
    contains("j1", qless("wait", "j3", "j1", "--any").out)


if __name__ == "__main__":
    sys.exit(run([
        queues_are_listed_with_their_counts,
        no_queue_is_a_table_without_rows,
        a_narrow_table_leaves_columns_out,
        jobs_of_a_queue_are_listed,
        jobs_are_selected_by_state_class_and_number,
        jobs_are_counted_by_fields,
        a_long_list_takes_little_memory,
        a_job_is_shown_with_everything,
        a_running_job_shows_its_lock,
    a_job_shows_how_long_it_is_kept,
        a_job_that_does_not_exist_is_an_error,
        why_tells_what_holds_a_job,
        failures_are_counted_by_group,
        many_failures_are_listed_page_by_page,
        workers_are_listed_with_their_connections,
        limits_are_listed_set_held_and_deleted,
        recurring_jobs_are_listed_with_their_schedules,
        info_shows_the_server,
        top_prints_once_unless_on_a_terminal,
        put_makes_jobs,
        put_reads_data_from_standard_input,
        put_refuses_wrong_arguments,
        retry_puts_failed_jobs_back,
        retry_of_a_group_asks_first,
        a_large_group_is_retried_whole,
        move_puts_jobs_into_another_queue,
        cancel_deletes_jobs,
        cancel_of_a_selection_needs_yes,
        selections_are_checked,
        pause_and_unpause_change_queues,
        call_sends_any_command,
        hostile_names_and_data_are_escaped,
        programs_get_names_as_they_are,
        usage_errors_change_nothing,
        help_describes_every_command,
        words_after_two_dashes_are_not_options,
        colour_is_only_for_terminals,
        the_database_is_selected,
        tail_ends_after_a_number_of_events,
        tail_shows_every_event_once,
        put_passes_every_option_on,
        the_progress_of_a_job_is_shown,
        delete_removes_ended_jobs,
        wait_returns_results_and_exit_codes,
    ]))
