"""The table of all tested kernel families: those with findings first, on the page in a fold."""

from dataclasses import replace

import pytest

from perfledger_baselines.judging.kernel_judgement import (
    KernelChange,
    KernelFigures,
    KernelFinding,
    KernelJudgement,
)
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome
from perfledger_service.rendering.check.kernel_table import kernel_table
from perfledger_service.rendering.check.page import run_page
from perfledger_service.rendering.layout.document import TextStyle
from tests.service.rendering.check.page.conftest import upload_of
from tests.service.rendering.example_views import bundle_of

ESTIMATE = EffectEstimate(
    base=1e-4,
    head=1.06e-4,
    change=0.06,
    low=0.04,
    high=0.08,
    narrow_low=0.045,
    narrow_high=0.075,
    pairs=12,
    p_value=1e-6,
    smallest_detectable=0.03,
)


def figures(family, *, estimate=ESTIMATE, base=1e-4):
    return KernelFigures(
        family=family,
        base_seconds=base,
        head_seconds=1.06e-4,
        base_share=0.02,
        estimate=estimate,
        largest_change=None if estimate is None else 0.08,
    )


def finding(family, *, change=KernelChange.SLOWER, is_moved=False):
    return KernelFinding(
        family=family,
        change=change,
        base_seconds=1e-4,
        head_seconds=1.06e-4,
        relative_change=0.06,
        step_share=0.002,
        adjusted_p=0.001,
        is_moved=is_moved,
    )


@pytest.fixture
def with_tested(reports):
    def build(*tested, findings=()):
        report = reports["regressed"]
        judgement = KernelJudgement(
            workload=report.workloads[0].id,
            outcome=Outcome.REGRESSED,
            reason="",
            findings=findings,
            tested=tested,
        )
        return replace(report, kernels=(judgement,))

    return build


def test_families_with_findings_are_first_and_say_which(with_tested):
    tested = (
        figures("aten::mm"),
        figures("aten::gelu"),
        figures("my::norm", estimate=None, base=0.0),
        figures("aten::norm", estimate=None),
    )
    findings = (
        finding("aten::gelu"),
        finding("my::norm", change=KernelChange.NEW, is_moved=True),
        finding("aten::norm", change=KernelChange.GONE),
    )

    rows = kernel_table(with_tested(*tested, findings=findings)).rows

    texts = [tuple(text.replace("\N{NO-BREAK SPACE}", " ") for text in row.texts) for row in rows]
    assert texts[0] == (
        "aten::gelu", "100 µs", "106 µs", "2.0 %", "+6.0 % (+4.0 to +8.0)", "slower", "3.0 %"
    )  # fmt: skip
    assert [(row[0], *row[4:6]) for row in texts[1:]] == [
        ("my::norm", "new", "cost moved"),
        ("aten::norm", "gone", "gone"),
        ("aten::mm", "+6.0 % (+4.0 to +8.0)", "none"),
    ]
    assert [row.style for row in rows] == [
        TextStyle.WORSE,
        TextStyle.PLAIN,
        TextStyle.BETTER,
        TextStyle.PLAIN,
    ]


@pytest.mark.parametrize(("findings", "fold"), [((), "<details>"), ((finding("<b>"),), " open>")])
def test_the_page_has_all_families_in_a_fold_that_a_finding_opens(with_tested, findings, fold):
    report = with_tested(figures("<b>"), findings=findings)

    page = run_page(report, upload_of(report, 1), bundle_of(report))

    section = page.partition("<h2>Kernels</h2>")[2].partition("</section>")[0]
    assert fold in section.partition("<summary>")[0]
    assert "single kernels: 1 families" not in section
    assert "1 family" in section
    assert "<code>&lt;b&gt;</code>" in section
    assert "<b>" not in section


def test_a_family_that_may_have_changed_is_undecided_and_not_coloured(with_tested):
    unsure = replace(finding("aten::mm"), is_proven=False)

    (row,) = kernel_table(with_tested(figures("aten::mm"), findings=(unsure,))).rows

    assert (row.texts[5], row.style) == ("undecided", TextStyle.PLAIN)


def test_a_page_without_kernels_has_no_such_section(reports):
    report = reports["regressed"]

    assert "<h2>Kernels</h2>" not in run_page(report, upload_of(report, 1), bundle_of(report))
