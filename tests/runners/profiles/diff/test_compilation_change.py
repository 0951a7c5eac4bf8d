"""Which compilations of head are told: those that base has not, or less often."""

from dataclasses import replace

from perfledger.profile import CallingLine, Compilation, CompilationKind
from perfledger.records import Side
from perfledger_profiles.diff.compilation_change import MAX_LISTED, new_compilations
from perfledger_profiles.diff.diff import explain

BREAK = Compilation(
    kind=CompilationKind.GRAPH_BREAK,
    function="",
    reason="Dynamo does not know how to trace builtin operator `print`",
    count=1,
    lines=(CallingLine(path="model.py", line=9, calls=1.0),),
)
RETRACE = Compilation(
    kind=CompilationKind.RETRACE,
    function="model",
    reason="at x, now f32[65,256] and before f32[64,256]",
    count=3,
)


def test_what_only_head_has_is_told_most_often_first():
    assert new_compilations([], [BREAK, RETRACE]) == (RETRACE, BREAK)


def test_what_both_have_is_not_wherever_it_stands_now():
    moved = replace(BREAK, lines=(CallingLine(path="model.py", line=12, calls=1.0),))

    assert new_compilations([BREAK], [moved]) == ()


def test_other_sizes_are_the_same_reason():
    later = replace(RETRACE, reason="at x, now f32[99,256] and before f32[98,256]")

    assert new_compilations([RETRACE], [later]) == ()


def test_what_head_has_more_often_is_told():
    assert new_compilations([RETRACE], [replace(RETRACE, count=9)]) == (replace(RETRACE, count=9),)
    assert new_compilations([replace(RETRACE, count=9)], [RETRACE]) == ()


def test_what_one_more_window_may_explain_is_not_told(make):
    again = Compilation(
        kind=CompilationKind.RECOMPILATION, function="model", reason="size mismatch", count=4
    )
    base = replace(
        make.profile(make.operation("aten::mm", 1.0)),
        compilations=(replace(again, count=3), BREAK),
    )
    head = replace(
        make.profile(make.operation("aten::mm", 2.0), side=Side.HEAD),
        compilations=(again, replace(BREAK, count=2), replace(BREAK, function="new"), RETRACE),
    )
    base_windows, head_windows = ([one.operations_only()] * 3 for one in (base, head))

    def told(*repeats):
        return {
            (one.kind, one.function) for one in explain(base, head, repeats=repeats).compilations
        }

    certain = {(BREAK.kind, "new"), (RETRACE.kind, "model")}
    uncertain = {(again.kind, "model"), (BREAK.kind, "")}
    assert told(*base_windows, *head_windows) == certain | uncertain
    assert told(*base_windows, *head_windows[:2]) == certain | uncertain
    assert told(*base_windows[:2], *head_windows) == certain


def test_a_long_list_is_cut():
    many = [replace(BREAK, function=name) for name in "abcdefgh"]

    assert len(new_compilations([], many)) == MAX_LISTED


def test_an_explanation_has_them(make):
    base = make.profile(make.operation("aten::mm", 1.0))
    head = replace(
        make.profile(make.operation("aten::mm", 2.0), side=Side.HEAD), compilations=(BREAK,)
    )

    assert explain(base, head).compilations == (BREAK,)
