"""Files that base cannot import, of which head has no workload."""

import pytest

from perfledger.records import FailureReason, Side, WorkloadSpec
from perfledger_runners.measuring.discovery import Discovery, UnreadablePath
from perfledger_service.usecases.check.workloads.plan import plan_workloads
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

A = WorkloadSpec(id="bench.a:step", module="bench.a", function="step")
HELD = "head has no workload of it, so nothing is compared with what it held: "


def broken(reason=FailureReason.RAISED, path="bench/b.py"):
    return UnreadablePath(path=path, reason=reason, detail="why")


def planned(head, file, *globs):
    base = Discovery(workloads=(A,), broken=(file,))
    return plan_workloads(base, head, choice=WorkloadChoice(globs=globs))


@pytest.mark.parametrize("globs", [(), ("*b:*",)])
def test_what_a_file_held_that_head_removes_is_unknown(globs):
    plan = planned(Discovery(workloads=(A,)), broken(), *globs)

    assert plan.failures == ()
    assert plan.notes == (f"bench/b.py cannot be imported on base; {HELD}why",)


def test_a_file_whose_import_the_budget_ended_may_have_held_workloads():
    plan = planned(Discovery(workloads=(A,)), broken(FailureReason.BUDGET))

    (failure,) = plan.failures
    assert (failure.workload, failure.side) == ("bench/b.py", Side.BASE)
    assert (failure.why, failure.detail) == (FailureReason.BUDGET, f"{HELD}why")
    assert plan.notes == ()


@pytest.mark.parametrize(
    ("head", "file", "globs"),
    [
        pytest.param(
            Discovery(workloads=(A, WorkloadSpec(id="bench.b:x", module="bench.b", function="x"))),
            broken(),
            (),
            id="head registers workloads of it: they are not measured",
        ),
        pytest.param(Discovery(workloads=(A,)), broken(), ("*a:*",), id="others are chosen"),
        pytest.param(
            Discovery(workloads=(A,), broken=(broken(),)), broken(), (), id="broken on both sides"
        ),
        pytest.param(
            Discovery(workloads=(A,)), broken(FailureReason.MISSING, "perf"), (), id="no folder yet"
        ),
    ],
)
def test_no_note_where_another_sentence_says_it_or_nothing_was_there(head, file, globs):
    assert planned(head, file, *globs).notes == ()
