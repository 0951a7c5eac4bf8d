import pytest

from perfledger.records import Failure, FailureReason, Side
from perfledger_runners.children.limit_watch import TOOK_SHARE
from perfledger_runners.measuring.rounds.admission import Admission
from perfledger_runners.measuring.rounds.unmeasured import (
    cut_off_failures,
    skipped_on_both,
    unreached_failures,
)


def skipped(workload, side):
    return Failure(workload=workload, side=side, why=FailureReason.SKIPPED, detail=f"on {side}")


def test_a_workload_that_never_began_says_how_many_there_was_time_for():
    done = {"a": 5, "b": 0, "c": 0}

    admission = Admission(fewest=5, waiting=("c",), admitted={"a", "b"})

    begun, waiting = unreached_failures(done, done, admission=admission, budget_s=360.0)

    assert (begun.workload, waiting.workload) == ("b", "c")
    assert {begun.why, waiting.why} == {FailureReason.BUDGET}
    assert begun.detail == "the budget of 360 s was spent before its first pair: raise it"
    assert waiting.detail == (
        "the budget of 360 s was enough for 2 of 3 workloads, in the order of the suite: choose "
        "with -k or paths, or raise it"
    )


def test_a_workload_behind_those_that_call_changed_functions_says_so():
    admission = Admission(fewest=5, waiting=("b",), first=frozenset({"a"}), admitted={"a"})

    (waiting,) = unreached_failures(["b"], {"a": 5, "b": 0}, admission=admission, budget_s=360.0)

    assert "in the order of the suite, behind those that call changed functions: " in waiting.detail


def test_only_what_skips_itself_on_both_sides_was_skipped():
    failures = [skipped("a", Side.BASE), skipped("a", Side.HEAD), skipped("b", Side.HEAD)]

    assert skipped_on_both(failures) == {"a": "on head"}


def cut(workload, side, detail="the budget ended it while being measured"):
    return Failure(workload=workload, side=side, why=FailureReason.BUDGET, detail=detail)


def test_both_sides_that_took_their_share_of_the_budget_have_failed():
    detail = f"{TOOK_SHARE} 24 s, 40 % of what was left of the budget, while being measured"

    base, head = cut_off_failures(
        [cut("a", Side.BASE, detail), cut("a", Side.HEAD, detail)], {}, earlier_seconds={}
    )

    assert (base.side, head.side) == (Side.BASE, Side.HEAD)
    assert base.detail == head.detail == f"{detail}: raise the budget"


def test_the_end_of_the_budget_fails_only_the_side_that_ran():
    both = [cut("a", Side.HEAD), cut("a", Side.BASE)]

    (failure,) = cut_off_failures(both, {"a": 30.0}, earlier_seconds={})

    assert failure.side is Side.HEAD
    assert failure.detail == (
        "the budget ended it while being measured, after 30 s: raise the budget"
    )


@pytest.mark.parametrize(("pair_s", "failures"), [(15.0, 0), (15.1, 1)])
def test_a_workload_with_pairs_hangs_if_one_takes_five_times_as_long_and_5_s(pair_s, failures):
    hanging = list(
        cut_off_failures([cut("a", Side.HEAD)], {"a": pair_s}, earlier_seconds={"a": 2.0})
    )

    assert len(hanging) == failures
    assert all("(earlier pairs took 2 s)" in each.detail for each in hanging)


def test_a_workload_that_did_not_begin_has_not_failed():
    assert not list(cut_off_failures([cut("a", Side.HEAD)], {}, earlier_seconds={}))
