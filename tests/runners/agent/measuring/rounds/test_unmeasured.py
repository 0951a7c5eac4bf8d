from perfledger.records import Failure, FailureReason, Side
from perfledger_runners.measuring.rounds.admission import Admission
from perfledger_runners.measuring.rounds.unmeasured import skipped_on_both, unreached_failures


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
