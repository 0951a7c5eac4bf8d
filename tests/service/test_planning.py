import pytest

from perfledger.records import Side, Why, WorkloadSpec
from perfledger_runners.discovery import BrokenFile, Discovery
from perfledger_service.usecases.planning import plan_workloads


def spec(name, **changes):
    module, _, function = name.partition("[")[0].partition(":")
    return WorkloadSpec(id=name, module=module, function=function, **changes)


def side(*specs, broken=None):
    files = (
        BrokenFile(path=path, why=Why.RAISED, detail=detail)
        for path, detail in (broken or {}).items()
    )
    return Discovery(workloads=specs, broken=tuple(files))


A, B = spec("bench.a:step"), spec("bench.b:step[batch=8]")


def test_what_both_sides_register_is_measured():
    planned = plan_workloads(side(A, B), side(A, B), globs=())

    assert (planned.measured, planned.new, planned.failures) == ((A, B), (), ())


def test_what_only_head_registers_is_new():
    planned = plan_workloads(side(A), side(A, B), globs=())

    assert (planned.measured, planned.new, planned.failures) == ((A,), (B,), ())
    assert planned.workloads == (A, B)


def test_what_head_no_longer_registers_is_a_failure_never_silently_gone():
    (failure,) = plan_workloads(side(A, B), side(A), globs=()).failures

    assert (failure.workload, failure.side, failure.why) == (B.id, Side.HEAD, Why.MISSING)


def test_a_file_that_no_longer_imports_is_why_its_workloads_are_not_measured():
    broken = {"bench/b.py": "ImportError: no torch"}

    planned = plan_workloads(side(A, B), side(A, broken=broken), globs=())

    (failure,) = planned.failures
    assert (failure.workload, failure.side, failure.why) == (B.id, Side.HEAD, Why.RAISED)
    assert "no torch" in failure.detail


def test_a_file_that_imports_only_in_head_has_no_base_to_compare_with():
    planned = plan_workloads(side(broken={"bench/a.py": "SyntaxError"}), side(A), globs=())

    (failure,) = planned.failures
    assert (failure.workload, failure.side, planned.new) == (A.id, Side.BASE, ())


def test_a_broken_file_that_registered_nothing_before_is_still_said():
    planned = plan_workloads(side(A), side(A, broken={"bench/c.py": "boom"}), globs=())

    assert [failure.workload for failure in planned.failures] == ["bench/c.py"]


def test_when_nothing_could_be_imported_every_workload_says_so():
    broken = {"bench": "the interpreter died"}

    failures = plan_workloads(side(A, B), side(broken=broken), globs=()).failures

    assert {(failure.workload, failure.why) for failure in failures} == {
        (A.id, Why.RAISED),
        (B.id, Why.RAISED),
    }


def test_another_unit_of_work_cannot_be_compared():
    after = spec(A.id, units_per_step=2)

    (failure,) = plan_workloads(side(A), side(after), globs=()).failures

    assert failure.why is Why.CHANGED
    assert "1 steps and is now 2 steps" in failure.detail


@pytest.mark.parametrize(
    ("glob", "chosen"),
    [
        ("bench.a:*", [A.id]),
        ("bench.b:step[batch=8]", [B.id]),
        ("*", [A.id, B.id]),
        ("bench.?:step", [A.id]),
        ("nothing", []),
    ],
)
def test_globs_choose_by_id_and_brackets_are_parameters(glob, chosen):
    planned = plan_workloads(side(A, B), side(A, B), globs=[glob])

    assert [spec.id for spec in planned.measured] == chosen
