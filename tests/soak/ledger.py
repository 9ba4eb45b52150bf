"""The work that the server has acknowledged, which must exist whatever happens.

A jid is used once. It is entered before its job is put, so that a worker that pops it early finds
it here. An operation that ends a job is announced before it is sent, and is in doubt until its reply
arrives. If the server dies before that, the operation may or may not have happened.
"""

import collections
import threading
import time

COMPLETE, CANCELLED, FAILED = "complete", "cancelled", "failed"
MISSING = "missing"
LIVE = frozenset(("waiting", "scheduled", "depends", "running", "stalled"))
RECENT_COUNT = 1000
KEEP_GROUP = "keep"  # a job that fails in this group stays failed until it is cancelled

# An end replaces those of lower rank, because replies may arrive in another order than the
# operations ran. A job can fail before it is cancelled, but nothing follows its completion.
RANK = {None: 0, FAILED: 1, CANCELLED: 2, COMPLETE: 3}
STATE_OF_END = {COMPLETE: COMPLETE, CANCELLED: MISSING, FAILED: FAILED}


class Entry:
    __slots__ = ("born", "put_at", "end", "end_at", "doubts", "may_return")

    def __init__(self):
        self.born = time.monotonic()
        self.put_at = None
        self.end = None
        self.end_at = None
        self.doubts = collections.Counter()
        self.may_return = False


class Ledger:
    def __init__(self, history_count):
        self.lock = threading.Lock()
        self.entries = {}
        self.live = 0  # jobs that have not ended
        self.recent = collections.deque(maxlen=RECENT_COUNT)
        self.completed = collections.deque(maxlen=history_count // 4)  # surely kept
        self.totals = collections.Counter()

    def announce_put(self, jid):
        with self.lock:
            self.entries[jid] = Entry()
            self.live += 1

    def confirm_put(self, jid):
        with self.lock:
            self.entries[jid].put_at = time.monotonic()
            self.recent.append(jid)
            self.totals["put"] += 1

    def refuse_put(self, jid):
        with self.lock:
            if self.entries.pop(jid, None):
                self.live -= 1

    def saw(self, jid):
        """Enter a job that a recurring job made."""
        with self.lock:
            if jid not in self.entries:
                self.entries[jid] = Entry()
                self.entries[jid].put_at = time.monotonic()
                self.live += 1
                self.totals["recurred"] += 1

    def announce_end(self, jid, end):
        with self.lock:
            entry = self.entries.get(jid)
            if entry:
                entry.doubts[end] += 1

    def confirm_end(self, jid, end, may_return=False):
        with self.lock:
            entry = self.entries.get(jid)
            if not entry:
                return
            entry.doubts[end] -= 1
            entry.may_return = entry.may_return or may_return
            if RANK[end] > RANK[entry.end]:
                if end != FAILED and entry.end not in (COMPLETE, CANCELLED):
                    self.live -= 1
                entry.end, entry.end_at = end, time.monotonic()
                self.totals[end] += 1
            if end == COMPLETE:
                self.completed.append(jid)

    def refuse_end(self, jid, end):
        with self.lock:
            entry = self.entries.get(jid)
            if entry:
                entry.doubts[end] -= 1

    def announce_return(self, jid):
        """Announce that a failed job is put again."""
        with self.lock:
            entry = self.entries.get(jid)
            if entry:
                entry.may_return = True

    def live_count(self):
        return self.live

    def some_jid(self, rng):
        """One of the last jobs put, which may have ended."""
        try:
            return rng.choice(self.recent)
        except IndexError:
            return "none"

    def allowed(self, jid, entry, safe_until, newest):
        """The possible states of a job. Work acknowledged after safe_until may be lost."""

        def is_safe(moment):
            return moment is not None and moment <= safe_until

        states = {STATE_OF_END[end] for end, count in entry.doubts.items() if count > 0}
        end = entry.end if is_safe(entry.end_at) else None
        if end == COMPLETE:
            # The server may have forgotten an old job, which looks like a cancelled one.
            states = {COMPLETE} if jid in newest else {COMPLETE, MISSING}
        elif end == CANCELLED:
            # CANCEL skips completed jobs without an error.
            states = {MISSING} | (states & {COMPLETE})
        elif end == FAILED and not entry.may_return:
            states |= {FAILED}
        else:
            states |= LIVE | {FAILED}
            if not is_safe(entry.put_at):
                states.add(MISSING)
            if entry.end is not None:
                states.add(STATE_OF_END[entry.end])
            if entry.end == COMPLETE and jid not in newest:
                states.add(MISSING)  # the end was not lost, and the server has forgotten the job
        return states

    def settle(self, jobs, safe_until):
        """Compare with the server, jid by jid: the job as a dictionary, or None.

        Nothing may be under way. Return what is wrong as sentences; what the server says counts
        from now on.
        """
        wrong = []
        newest = set(self.completed)
        for jid, job in jobs.items():
            entry = self.entries[jid]
            state = job["state"] if job else MISSING
            allowed = self.allowed(jid, entry, safe_until, newest)
            if state not in allowed:
                wrong.append(f"{jid} is {state}, and has to be {' or '.join(sorted(allowed))}: "
                             f"end {entry.end}, doubts {dict(entry.doubts)}, "
                             f"{time.monotonic() - entry.born:.1f} seconds old")
            if state in (MISSING, COMPLETE):
                del self.entries[jid]
                continue
            entry.put_at = 0
            entry.doubts.clear()
            entry.end, entry.end_at = (FAILED, 0) if state == FAILED else (None, None)
            entry.may_return = state == FAILED and job["failure"]["group"] != KEEP_GROUP
        self.live = len(self.entries)
        return wrong
