"""Annotations name the lines of what made a result worse, in plain text."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger.profile import CallingLine
from perfledger.records import Revision
from perfledger_profiles.diff.cause import MemoryCause, MemoryExplanation
from perfledger_service.rendering.check_run.annotations import (
    MAX_ANNOTATIONS,
    code_annotations,
    is_path,
)
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.pull_request_report import AnnotationLevel
from tests.cases import case

LINE = CallingLine(path="models/gpt.py", line=41, calls=12.0, is_changed=True)


def with_lines(report, *lines):
    """Return the report with these lines for its first cause and none for the others."""
    explanation = replace(report.explanations[0], memory=None)
    first, *others = explanation.causes
    causes = (replace(first, lines=lines), *(replace(one, lines=()) for one in others))
    return replace(report, explanations=(replace(explanation, causes=causes),))


def with_base_lines(report, *lines):
    """Return the report with these lines for its first cause, on base only."""
    explanation = with_lines(report).explanations[0]
    first, *others = explanation.causes
    causes = (replace(first, base_lines=lines), *others)
    return replace(report, explanations=(replace(explanation, causes=causes),))


@pytest.fixture
def report(reports):
    return with_lines(reports["regressed"], LINE)


def test_the_line_of_a_cause_has_its_workload_its_change_and_the_reason(report):
    (one,) = code_annotations(report)

    assert (one.path, one.line, one.level) == ("models/gpt.py", 41, AnnotationLevel.FAILURE)
    assert one.title.startswith(report.explanations[0].workload)
    assert "step time" in one.title
    assert "aten::_softmax +1.72 ms a step" in one.message.replace("\u00a0", " ")
    assert "changed on head" in one.message
    assert not set(one.title + one.message) & set("`*<\n")


def test_what_is_accepted_or_milder_is_a_warning(report):
    workload = report.explanations[0].workload
    acceptance = Acceptance(
        pull_request=7,
        head_sha="b" * 40,
        login="alice",
        workload=workload,
        reason="intended",
        accepted_at=datetime(2026, 11, 20, tzinfo=UTC),
        until=None,
    )
    others = (
        replace(report, acceptances=(acceptance,)),
        replace(report, acceptances=(replace(acceptance, workload=""),)),
        replace(report, verdicts=tuple(replace(one, is_warning=True) for one in report.verdicts)),
    )
    for other in others:
        with case(acceptances=other.acceptances):
            assert {one.level for one in code_annotations(other)} == {AnnotationLevel.WARNING}


def test_what_explains_nothing_or_did_not_get_worse_names_no_line(report, reports):
    explanation = report.explanations[0]
    first = explanation.causes[0]
    faster = replace(first, base_seconds=first.head_seconds, head_seconds=first.base_seconds)
    others = (
        replace(report, explanations=(replace(explanation, is_attributable=False),)),
        replace(report, explanations=(replace(explanation, causes=(faster,)),)),
        replace(report, verdicts=()),
        replace(report, head=Revision(sha="b" * 40, is_dirty=True)),
        with_lines(reports["regressed"]),
        with_base_lines(reports["regressed"], LINE),
    )
    assert [code_annotations(other) for other in others] == [()] * len(others)


@pytest.mark.parametrize("is_attributable", [True, False])
def test_a_larger_peak_names_the_lines_that_make_its_tensors(reports, report, is_attributable):
    cause = MemoryCause(
        name="aten::mm",
        base_tensor="",
        head_tensor="float32[64,1024]",
        base_bytes=0.0,
        head_bytes=380 * 2**20,
        base_count=0,
        head_count=1,
        lines=(LINE,),
    )
    memory = MemoryExplanation(
        base_bytes=1.52e9,
        head_bytes=1.93e9,
        base_held_bytes=1e9,
        head_held_bytes=1.4e9,
        causes=(cause,),
        rest_bytes=0.0,
        is_attributable=is_attributable,
    )
    explanation = replace(report.explanations[0], memory=memory, causes=())
    annotations = code_annotations(replace(reports["more_memory"], explanations=(explanation,)))

    assert [one.line for one in annotations] == [41] * is_attributable
    assert all("aten::mm +380" in one.message for one in annotations)


@pytest.mark.parametrize("line", [0, -1, 10**9])
def test_a_line_that_no_file_has_is_left_out(reports, line):
    assert code_annotations(with_lines(reports["regressed"], replace(LINE, line=line))) == ()


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../a.py", "a/../b.py", "a//b.py", "./a.py", "C:\\a", "a\nb", "a/"],
)
def test_a_path_outside_the_repository_is_left_out(reports, path):
    assert not is_path(path)
    assert code_annotations(with_lines(reports["regressed"], replace(LINE, path=path))) == ()


def test_lines_are_named_once_and_not_too_many(reports):
    lines = [replace(LINE, line=number) for number in range(1, 400)]
    report = with_lines(reports["regressed"], LINE, LINE)

    assert len(code_annotations(report)) == 1
    assert len(code_annotations(with_lines(report, *lines))) == MAX_ANNOTATIONS


def test_hostile_names_are_plain_lines(reports):
    report = reports["regressed"]
    explanation = report.explanations[0]
    cause = replace(explanation.causes[0], name="x\u202e\n" * 5000, lines=(LINE,))
    report = replace(report, explanations=(replace(explanation, causes=(cause,)),))
    for one in code_annotations(report):
        assert (one.title + one.message).isprintable()
        assert len(one.message) <= 2000
