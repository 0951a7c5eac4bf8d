"""Which compilations of head are told: those that base has not, or less often."""

from dataclasses import replace

from perfledger.compile_record import (
    MAX_PROGRAMS,
    CompilationKind,
    CompiledProgram,
    CompilePhase,
    CompileRecord,
)
from perfledger.profile import CallingLine, Compilation
from perfledger.records import Side
from perfledger_profiles.diff.compilation_change import (
    MAX_LISTED,
    explain_compiling,
    new_compilations,
)
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
    moved_break = replace(BREAK, lines=(CallingLine(path="model.py", line=12, calls=1.0),))

    assert new_compilations([BREAK], [moved_break]) == ()


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

    def causes_of(*repeats):
        return {
            (one.kind, one.function) for one in explain(base, head, repeats=repeats).compilations
        }

    certain = {(BREAK.kind, "new"), (RETRACE.kind, "model")}
    uncertain = {(again.kind, "model"), (BREAK.kind, "")}
    assert causes_of(*base_windows, *head_windows) == certain | uncertain
    assert causes_of(*base_windows, *head_windows[:2]) == certain | uncertain
    assert causes_of(*base_windows[:2], *head_windows) == certain


def test_a_long_list_is_cut():
    many = [replace(BREAK, function=name) for name in "abcdefgh"]

    assert len(new_compilations([], many)) == MAX_LISTED


def test_an_explanation_has_them(make):
    base = make.profile(make.operation("aten::mm", 1.0))
    head = replace(
        make.profile(make.operation("aten::mm", 2.0), side=Side.HEAD), compilations=(BREAK,)
    )

    assert explain(base, head).compilations == (BREAK,)


def record(seconds, **programs):
    """Return what a process compiled: programs with how often and for how long."""
    return CompileRecord(
        phases_s={CompilePhase.TRACING: 0.25, CompilePhase.BACKEND: seconds - 0.25},
        programs=tuple(
            CompiledProgram(name=name, count=count, seconds=each_s)
            for name, (count, each_s) in programs.items()
        ),
    )


ONCE = record(1.5, model=(1, 1.0), ones=(2, 0.5))
OFTEN = record(4.5, model=(4, 4.0), ones=(2, 0.5))


def test_a_function_that_is_compiled_more_often_has_the_compilers_reason():
    start = replace(RETRACE, kind=CompilationKind.START_RETRACE, lines=BREAK.lines)

    explanation = explain_compiling(
        [ONCE, record(9.0), record(0.5)],
        [OFTEN],
        base_compilations=[replace(start, reason="at y, now f32[2] and before i32[2]")],
        head_compilations=[BREAK, start],
    )

    (cause,) = explanation.causes
    assert explanation.delta_seconds == 3.0
    assert [(one.phase, one.delta_seconds) for one in explanation.phases] == [
        ("tracing", 0.0),
        ("lowering", 0.0),
        ("backend compile", 3.0),
    ]
    assert (cause.name, cause.base_count, cause.head_count) == ("model", 1, 4)
    assert cause.delta_seconds == 3.0
    assert (cause.reason, cause.lines) == (start.reason, BREAK.lines)


def test_a_reason_that_base_has_as_often_is_none():
    explanation = explain_compiling(
        [ONCE], [OFTEN], base_compilations=[RETRACE], head_compilations=[RETRACE]
    )

    assert explanation.causes[0].reason == ""


def test_the_same_programs_are_a_cause_only_with_much_of_the_change():
    head = record(2.5, model=(1, 1.875), ones=(2, 0.625))

    assert [one.name for one in explain_compiling([ONCE], [head]).causes] == ["model"]
    assert explain_compiling([ONCE], [ONCE]).causes == ()


def test_a_new_program_and_one_that_is_gone_are_causes_in_the_direction_of_the_change():
    head = record(3.5, model=(1, 1.0), resumed=(1, 2.5))

    assert [one.name for one in explain_compiling([ONCE], [head]).causes] == ["resumed"]
    assert [one.name for one in explain_compiling([head], [ONCE]).causes] == ["resumed"]


def test_programs_that_a_side_does_not_tell_are_no_causes():
    assert explain_compiling([record(1.5)], [OFTEN]).causes == ()
    assert explain_compiling([CompileRecord()], [OFTEN]).causes[0].base_count == 0
    full = record(1.5, **{f"f{n}": (1, 0.1) for n in range(MAX_PROGRAMS)})
    assert explain_compiling([full], [OFTEN]).causes == ()


def test_a_side_without_a_record_has_no_explanation():
    assert explain_compiling([], [OFTEN]) is None
    assert explain_compiling([ONCE], []) is None
