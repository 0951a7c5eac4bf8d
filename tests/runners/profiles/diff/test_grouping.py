from dataclasses import replace

from perfledger_profiles.diff.cause import ChangeKind, ChangeReason
from perfledger_profiles.diff.diff import explain
from perfledger_profiles.diff.grouping import group_changes
from perfledger_profiles.diff.operation_change import MatchStage, OperationChange


def changes(make, *names_and_paths):
    return [
        OperationChange(
            base=(), head=(make.operation(name, 1.0, path=path),), stage=MatchStage.ALONE
        )
        for name, path in names_and_paths
    ]


def labels(level):
    return [(change.label, len(change.head)) for change in level]


def test_changes_that_are_new_stay_single_then_go_by_name_then_by_place(make):
    single = changes(
        make, ("aten::mul", "f/g"), ("aten::mul", "f/h"), ("aten::add", "f/g"), ("aten::mm", "")
    )

    levels = list(group_changes(single, step_seconds=100.0))

    assert [labels(level) for level in levels] == [
        *[[("", 1)] * 4] * 3,
        [("aten::mul", 2), ("", 1), ("", 1)],
        [("f/g", 2), ("", 1), ("", 1)],
        [("f", 3), ("", 1)],
    ]


def test_a_place_that_is_nearly_the_whole_step_is_not_one_change(make):
    single = changes(make, ("aten::mul", "step"), ("aten::add", "step"))

    levels = list(group_changes(single, step_seconds=2.0))

    assert [len(level) for level in levels] == [2] * 6


def test_a_type_that_runs_through_a_program_is_one_change(make):
    sizes = range(10, 20)
    base = make.profile(
        *(make.operation(f"aten::op{n}", 1e-3, shapes=f"float[{n}]") for n in sizes)
    )
    head = make.profile(
        *(make.operation(f"aten::op{n}", 3e-3, shapes=f"double[{n}]") for n in sizes)
    )

    (cause,) = explain(base, head).causes

    assert (cause.name, cause.kind, cause.reason) == (
        "aten::op10 (+9): float became double",
        ChangeKind.RATE,
        ChangeReason.TYPE,
    )
    assert cause.evidence == "float[10] became double[10]"


def test_a_batch_that_runs_through_a_program_is_one_change(make):
    def side(batch, seconds):
        return make.profile(
            *(
                make.operation(f"aten::op{n}", seconds, shapes=f"float[3,{n}] float[{batch},{n}]")
                for n in range(10)
            )
        )

    (cause,) = explain(side(32, 1e-3), side(64, 2e-3)).causes

    assert (cause.name, cause.reason) == ("aten::op0 (+9): 32 became 64", ChangeReason.SHAPE)
    assert cause.evidence == "float[32,0] became float[64,0]"


def test_one_call_more_in_a_thousand_is_as_often_and_groups_nothing(make):
    names = [f"aten::op{number}" for number in range(10)]
    base = make.profile(*(make.operation(name, 1e-3, 1000.0) for name in names))
    head = make.profile(*(make.operation(name, 3e-3, 1001.0) for name in names))

    causes = explain(base, head).causes

    assert {cause.name for cause in causes} <= set(names)


def test_what_is_called_so_many_times_as_often_is_one_change(make):
    names = [f"aten::op{number}" for number in range(10)]
    base = make.profile(*(make.operation(name, 1e-3, 2.0) for name in names))
    head = make.profile(*(make.operation(name, 3e-3, 6.0) for name in names))

    (cause,) = explain(base, head).causes

    assert (cause.name, cause.kind) == ("aten::op0 (+9): 3 times as many calls", ChangeKind.COUNT)
    assert cause.evidence == "aten::op0, aten::op1 and 8 more"


def test_a_change_spread_over_one_optimizer_is_told_as_the_optimizers(make):
    where = "Optimizer.step#Adam.step"
    names = [f"aten::op{number}" for number in range(9)]
    other = make.operation("aten::mm", 50e-3)
    base = make.profile(other)
    head = make.profile(other, *(make.operation(name, 1e-3, path=where) for name in names))

    (cause,) = explain(base, head).causes

    assert (cause.name, cause.kind, cause.head_count) == ("Optimizer.step", ChangeKind.NEW, 9.0)
    assert cause.evidence == "aten::op0, aten::op1 and 7 more"


def test_a_group_has_its_changes_stage_where_they_agree(make):
    single = changes(make, ("aten::mul", "f/g"), ("aten::mul", "f/h"))
    mixed = [single[0], replace(single[1], stage=MatchStage.PATH)]

    by_name = [list(group_changes(each, step_seconds=100.0))[3] for each in (single, mixed)]

    assert [[change.stage for change in level] for level in by_name] == [
        [MatchStage.ALONE],
        [MatchStage.NAME],
    ]


def test_an_operation_that_is_called_once_more_often_is_one_of_its_layer(make):
    once, twice = (make.operation("aten::mul", 1.0, count=count) for count in (1, 2))
    single = [
        OperationChange(
            base=(replace(once, path=path),),
            head=(replace(twice, path=path),),
            stage=MatchStage.SAME,
        )
        for path in ("f", "g")
    ]

    levels = [labels(level) for level in group_changes(single, step_seconds=100.0)]

    assert any("2 times as many calls" in label for level in levels for label, _ in level)
