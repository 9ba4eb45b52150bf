"""Tests of the ledger of the soak test: it must accept correct states and report wrong ones."""

import sys
import traceback

sys.dont_write_bytecode = True

from ledger import CANCELLED, COMPLETE, FAILED, KEEP_GROUP, Ledger
from soak import slope

NOTHING_IS_LOST = float("inf")
ALL_MAY_BE_LOST = 0
HISTORY_COUNT = 100

checks = []


def check(function):
    """The name of the function is the name of the case."""
    checks.append(function)
    return function


def ledger_with(jid="j", is_put=True):
    ledger = Ledger(HISTORY_COUNT)
    ledger.announce_put(jid)
    if is_put:
        ledger.confirm_put(jid)
    return ledger


def job(state, group="other"):
    return {"state": state, "failure": {"group": group} if state == FAILED else {}}


def is_right(ledger, found, safe_until=NOTHING_IS_LOST):
    return not ledger.settle({"j": found}, safe_until)


@check
def a_job_that_was_put_is_there():
    assert is_right(ledger_with(), job("waiting"))
    assert not is_right(ledger_with(), None)
    assert not is_right(ledger_with(), job(COMPLETE))


@check
def a_put_without_an_answer_may_have_happened():
    assert is_right(ledger_with(is_put=False), job("waiting"))
    assert is_right(ledger_with(is_put=False), None)


@check
def what_was_answered_too_late_may_be_lost():
    assert is_right(ledger_with(), None, ALL_MAY_BE_LOST)
    ledger = ledger_with()
    ledger.settle({"j": job("waiting")}, NOTHING_IS_LOST)
    assert not is_right(ledger, None, ALL_MAY_BE_LOST)


@check
def a_completed_job_does_not_come_back():
    for found, right in ((job(COMPLETE), True), (job("waiting"), False), (None, False)):
        ledger = ledger_with()
        ledger.announce_end("j", COMPLETE)
        ledger.confirm_end("j", COMPLETE)
        assert is_right(ledger, found) == right, found


@check
def a_job_that_many_have_followed_to_completion_may_be_forgotten():
    for safe_until in (NOTHING_IS_LOST, ALL_MAY_BE_LOST):
        for followers, right in ((0, False), (HISTORY_COUNT, True)):
            ledger = ledger_with()
            ledger.settle({"j": job("waiting")}, NOTHING_IS_LOST)  # so that its put is safe
            ledger.confirm_end("j", COMPLETE)
            for number in range(followers):
                ledger.announce_put(f"k{number}")
                ledger.confirm_end(f"k{number}", COMPLETE)
            assert is_right(ledger, None, safe_until) == right, (safe_until, followers)


@check
def an_end_without_an_answer_may_have_happened():
    for end, found in ((COMPLETE, job(COMPLETE)), (CANCELLED, None), (FAILED, job(FAILED))):
        for outcome in (found, job("running")):
            ledger = ledger_with()
            ledger.announce_end("j", end)
            assert is_right(ledger, outcome), end
    ledger = ledger_with()
    ledger.announce_end("j", COMPLETE)
    ledger.refuse_end("j", COMPLETE)
    assert not is_right(ledger, job(COMPLETE))


@check
def the_answers_to_two_ends_may_arrive_in_any_order():
    for first, second in ((FAILED, CANCELLED), (CANCELLED, FAILED)):
        for found, right in ((None, True), (job(FAILED), False)):
            ledger = ledger_with()
            for end in (first, second):
                ledger.announce_end("j", end)
            for end in (first, second):
                ledger.confirm_end("j", end)
            assert is_right(ledger, found) == right


@check
def a_failed_job_stays_failed_unless_somebody_puts_it_again():
    for may_return in (False, True):
        ledger = ledger_with()
        ledger.settle({"j": job(FAILED, KEEP_GROUP)}, NOTHING_IS_LOST)
        if may_return:
            ledger.announce_return("j")
        assert is_right(ledger, job("waiting")) == may_return


@check
def the_slope_is_that_of_the_line():
    assert slope([(0, 5), (1, 7), (2, 9)]) == 2
    assert slope([(3, 1), (3, 9)]) == 0


def main():
    failures = 0
    print(f"1..{len(checks)}")
    for number, function in enumerate(checks, 1):
        name = function.__name__.replace("_", " ")
        try:
            function()
            print(f"ok {number} - {name}")
        except Exception:
            failures += 1
            print(f"not ok {number} - {name}")
            print("# " + traceback.format_exc().rstrip().replace("\n", "\n# "))
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
