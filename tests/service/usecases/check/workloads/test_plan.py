from dataclasses import replace

import pytest

from perfledger.records import FailureReason, Side, WorkloadSpec
from perfledger_runners.measuring.discovery import Discovery, UnreadablePath
from perfledger_service.usecases.check.workloads.plan import plan_workloads
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice


def spec(name, **changes):
    module, _, function = name.partition("[")[0].partition(":")
    return WorkloadSpec(id=name, module=module, function=function, **changes)


def side(*specs, broken=None, why=FailureReason.RAISED):
    files = (
        UnreadablePath(path=path, reason=why, detail=detail)
        for path, detail in (broken or {}).items()
    )
    return Discovery(workloads=specs, broken=tuple(files))


A, B = spec("bench.a:step"), spec("bench.b:step[batch=8]")


def test_what_both_sides_register_is_measured():
    planned = plan_workloads(side(A, B), side(A, B), choice=WorkloadChoice())

    assert (planned.to_measure, planned.new, planned.failures) == ((A, B), (), ())


def test_a_plan_uses_as_many_devices_as_its_largest_workload_to_measure():
    large = replace(B, devices=4)
    planned = plan_workloads(side(A, large), side(A, large), choice=WorkloadChoice())

    assert planned.devices == 4
    assert planned.without_same_code({large.id: ""}).devices == 1
    assert planned.without_timing().devices == 1


def test_what_runs_the_same_code_is_registered_and_not_measured():
    planned = plan_workloads(side(A, B), side(A, B), choice=WorkloadChoice())

    same = planned.without_same_code({A.id: "", B.id: "b.py differs and was read"})

    assert (same.to_measure, same.same_code, same.skipped) == ((B,), (A,), {A.id: "same code"})
    assert same.workloads == (B, A)
    assert same.code_differences == {B.id: "b.py differs and was read"}
    assert planned.without_same_code({}) == planned


def test_what_only_head_registers_is_new():
    planned = plan_workloads(side(A), side(A, B), choice=WorkloadChoice())

    assert (planned.to_measure, planned.new, planned.failures) == ((A,), (B,), ())
    assert planned.workloads == (A, B)


def test_the_first_workloads_of_a_repository_are_new():
    folder = UnreadablePath(
        path="benchmarks", reason=FailureReason.MISSING, detail="there is no 'benchmarks'"
    )

    planned = plan_workloads(Discovery(broken=(folder,)), side(A, B), choice=WorkloadChoice())

    assert (planned.to_measure, planned.new, planned.failures) == ((), (A, B), ())


def test_a_folder_that_head_lost_is_a_failure():
    folder = UnreadablePath(
        path="benchmarks", reason=FailureReason.MISSING, detail="there is no 'benchmarks'"
    )

    planned = plan_workloads(side(A), Discovery(broken=(folder,)), choice=WorkloadChoice())

    assert [(failure.workload, failure.why) for failure in planned.failures] == [
        (A.id, FailureReason.MISSING)
    ]


def test_what_head_no_longer_registers_is_a_failure_never_silently_gone():
    (failure,) = plan_workloads(side(A, B), side(A), choice=WorkloadChoice()).failures

    assert (failure.workload, failure.side, failure.why) == (B.id, Side.HEAD, FailureReason.MISSING)


def test_a_file_that_no_longer_imports_is_why_its_workloads_are_not_measured():
    broken = {"bench/b.py": "ImportError: no torch"}

    planned = plan_workloads(side(A, B), side(A, broken=broken), choice=WorkloadChoice())

    (failure,) = planned.failures
    assert (failure.workload, failure.side, failure.why) == (B.id, Side.HEAD, FailureReason.RAISED)
    assert "no torch" in failure.detail


def test_a_file_that_imports_only_in_head_has_no_base_to_compare_with():
    planned = plan_workloads(
        side(broken={"bench/a.py": "SyntaxError"}), side(A), choice=WorkloadChoice()
    )

    (failure,) = planned.failures
    assert (failure.workload, failure.side, planned.new) == (A.id, Side.BASE, ())


def test_a_file_that_is_broken_on_both_sides_fails_on_both():
    base = side(broken={"bench/c.py": "was broken", "bench/d.py": "mended"})

    failures = plan_workloads(
        base, side(broken={"bench/c.py": "boom"}), choice=WorkloadChoice()
    ).failures

    assert [(each.side, each.detail.partition(": ")[2]) for each in failures] == [
        (Side.BASE, "was broken"),
        (Side.HEAD, "boom"),
    ]


def test_a_broken_file_that_registered_nothing_before_is_still_said():
    planned = plan_workloads(
        side(A), side(A, broken={"bench/c.py": "boom"}), choice=WorkloadChoice()
    )

    assert [failure.workload for failure in planned.failures] == ["bench/c.py"]


def test_when_nothing_could_be_imported_every_workload_says_so():
    broken = {"bench": "the interpreter died"}

    failures = plan_workloads(side(A, B), side(broken=broken), choice=WorkloadChoice()).failures

    assert {(failure.workload, failure.why) for failure in failures} == {
        (A.id, FailureReason.RAISED),
        (B.id, FailureReason.RAISED),
    }


def test_another_unit_of_work_cannot_be_compared():
    after = spec(A.id, units_per_step=2)

    (failure,) = plan_workloads(side(A), side(after), choice=WorkloadChoice()).failures

    assert failure.why is FailureReason.CHANGED
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
    planned = plan_workloads(side(A, B), side(A, B), choice=WorkloadChoice(globs=(glob,)))

    assert [spec.id for spec in planned.to_measure] == chosen


@pytest.mark.parametrize(
    ("glob", "is_said"),
    [
        ("bench.a:*", False),
        ("*a:step", False),
        ("bench.c:*", True),
        ("c:*", True),
        ("*", True),
        ("*:step", True),
    ],
)
def test_a_broken_file_is_a_failure_when_the_glob_may_mean_its_workloads(glob, is_said):
    planned = plan_workloads(
        side(A), side(A, broken={"bench/c.py": "boom"}), choice=WorkloadChoice(globs=(glob,))
    )

    assert [failure.workload for failure in planned.failures] == ["bench/c.py"] * is_said


def test_a_workload_that_a_glob_chose_is_not_measured_when_its_file_broke():
    planned = plan_workloads(
        side(A, B), side(A, broken={"bench/b.py": "boom"}), choice=WorkloadChoice(globs=("*b:*",))
    )

    (failure,) = planned.failures
    assert (failure.workload, failure.why, planned.to_measure) == (B.id, FailureReason.RAISED, ())


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("bench", FailureReason.MISSING),
        ("bench/x.py, bench/y.py", FailureReason.KILLED),
        ("src/perfledger/__init__.py", FailureReason.WRONG_CODE),
    ],
)
def test_what_stands_for_all_files_is_a_failure_whatever_the_glob(path, why):
    planned = plan_workloads(
        side(), side(broken={path: "boom"}, why=why), choice=WorkloadChoice(globs=("bench.a:*",))
    )

    assert [(failure.workload, failure.why) for failure in planned.failures] == [(path, why)]


def test_a_missing_folder_is_said_even_if_another_holds_all_workloads():
    planned = plan_workloads(
        side(A), side(A, broken={"perf": "no such folder"}), choice=WorkloadChoice()
    )

    assert planned.to_measure == (A,)
    assert [failure.workload for failure in planned.failures] == ["perf"]


def test_a_broken_package_breaks_its_modules_and_no_others():
    broken = {"src/bench/__init__.py": "boom", "src/bench/a.py": "boom", "src/bench/b.py": "boom"}
    other = spec("benches:step")

    planned = plan_workloads(side(A, B, other), side(other, broken=broken), choice=WorkloadChoice())

    assert planned.to_measure == (other,)
    assert [failure.workload for failure in planned.failures] == [A.id, B.id]
    assert all("__init__.py` cannot be imported" in failure.detail for failure in planned.failures)


def test_a_file_breaks_the_module_of_its_name_and_none_that_only_ends_so():
    known_workload_spec = spec("c:step")

    planned = plan_workloads(
        side(known_workload_spec), side(broken={"bench/abc.py": "boom"}), choice=WorkloadChoice()
    )

    assert {failure.workload: failure.why for failure in planned.failures} == {
        known_workload_spec.id: FailureReason.MISSING,
        "bench/abc.py": FailureReason.RAISED,
    }


def test_a_failure_fits_the_bundle_however_long_its_path_is():
    path = "deep/" * 800 + "end.py"

    (failure,) = plan_workloads(
        side(), side(broken={path: "boom " * 800}), choice=WorkloadChoice()
    ).failures

    assert (len(failure.workload), len(failure.detail)) == (300, 4000)
    assert failure.workload.startswith("…")
    assert failure.workload.endswith("/deep/end.py")
    assert "boom" in failure.detail


def test_parameters_of_what_nobody_registers_are_noted():
    broken = {"bench/c.py": "boom"}
    params = ["bench.a:step", "bench.b:step", "bench.c:step", "bench.a:stpe"]

    planned = plan_workloads(
        side(A),
        side(A, B, broken=broken),
        choice=WorkloadChoice(globs=("*a:*",)),
        configured={"params": params, "variants": ["bench.a:gone"]},
    )

    assert planned.notes == (
        "params for bench.a:stpe: no workload has this name",
        "variants for bench.a:gone: no workload has this name",
    )


def test_a_workload_that_head_tags_anew_is_still_chosen():
    slow = spec("bench.a:step", tags=("slow",))

    planned = plan_workloads(side(A), side(slow), choice=WorkloadChoice(expression="not slow"))

    assert [each.id for each in planned.to_measure] == [A.id]


def test_what_head_leaves_out_is_skipped_with_its_reason():
    head = replace(side(A), left_out={"bench.a:track_size": "asv: a number", "bench.b:x": "no"})

    planned = plan_workloads(side(A), head, choice=WorkloadChoice(globs=("bench.a:*",)))

    assert planned.skipped == {"bench.a:track_size": "asv: a number"}


def test_what_the_options_leave_out_is_named():
    planned = plan_workloads(side(A, B), side(A, B), choice=WorkloadChoice(globs=(A.id,)))

    assert planned.unchosen == (B.id,)


def test_a_benchmark_that_only_head_leaves_out_is_a_failure():
    head = Discovery(left_out={A.id: "asv: it is marked to be skipped"})

    planned = plan_workloads(side(A), head, choice=WorkloadChoice())

    assert [each.workload for each in planned.failures] == [A.id]


@pytest.mark.parametrize(
    ("path", "reason", "detail"),
    [
        ("bench/a.py", FailureReason.RAISED, "`bench/a.py` cannot be imported: why"),
        (".", FailureReason.KILLED, "the suite cannot be imported: why"),
        (".", FailureReason.BUDGET, "why"),
    ],
)
def test_a_failure_names_the_file_only_where_it_is_to_blame(path, reason, detail):
    broken = UnreadablePath(path=path, reason=reason, detail="why")

    planned = plan_workloads(
        Discovery(workloads=(A,)), Discovery(broken=(broken,)), choice=WorkloadChoice()
    )

    assert [failure.detail for failure in planned.failures] == [detail]


def test_what_heads_benchmarks_ask_for_in_vain_is_noted_once():
    sides = (replace(side(A), notes=("ignored options",)) for _ in range(2))

    assert plan_workloads(*sides, choice=WorkloadChoice()).notes == ("ignored options",)


@pytest.mark.parametrize(
    ("base", "words"),
    [
        pytest.param(
            side(A, B),
            "bench/b.py cannot be imported on head; -k 'bench.a' chooses none of its workloads on "
            "base: ",
            id="base registers others in it",
        ),
        pytest.param(
            side(A),
            "bench/b.py cannot be imported on head; -k 'bench.a' chooses none of its workloads on "
            "base: ",
            id="a new file",
        ),
    ],
)
def test_a_broken_file_that_an_expression_does_not_need_is_noted(base, words):
    head = side(A, broken={"bench/b.py": "ValueError: boom"})

    planned = plan_workloads(base, head, choice=WorkloadChoice(expression="bench.a"))

    assert (planned.to_measure, planned.failures) == ((A,), ())
    assert planned.notes == (f"{words}ValueError: boom",)


@pytest.mark.parametrize(
    ("base", "head", "expression"),
    [
        pytest.param(
            side(A, B),
            side(A, broken={"bench/b.py": "boom"}),
            "bench.a or bench.b",
            id="base's is chosen",
        ),
        pytest.param(
            side(A, B), side(A, broken={"bench/__init__.py": "boom"}), "bench.b", id="its package"
        ),
        pytest.param(
            side(A), side(A, broken={"bench/b.py": "boom"}), "other", id="nothing is chosen"
        ),
        pytest.param(
            side(A), side(A, broken={"bench": "boom"}), "bench.a", id="it stands for all files"
        ),
    ],
)
def test_a_broken_file_that_an_expression_may_need_is_a_failure(base, head, expression):
    planned = plan_workloads(base, head, choice=WorkloadChoice(expression=expression))

    assert [failure.side for failure in planned.failures] == [Side.HEAD]


@pytest.mark.parametrize(("glob", "count"), [("*", 2), ("bench.b:*", 2), ("bench.a:*", 0)])
def test_what_may_be_chosen_in_a_file_that_neither_side_imports_is_not_measured(glob, count):
    sides = (side(A, broken={"bench/b.py": f"{each} {'x' * 4000}"}) for each in ("was", "is"))
    choice = WorkloadChoice(globs=(glob,), expression="step")

    planned = plan_workloads(*sides, choice=choice)

    assert planned.notes == ()
    assert [(each.workload, each.side) for each in planned.failures] == [
        ("bench/b.py", each) for each in Side
    ][:count]
    for failure in planned.failures:
        assert len(failure.detail) == 4000
        assert failure.detail.endswith(
            "x; -k 'step' may choose workloads of it: `--workload` with "
            "patterns of other modules leaves it out"
        )
