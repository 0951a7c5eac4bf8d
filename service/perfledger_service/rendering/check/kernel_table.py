"""Lists a report's tested kernel families, changed or not."""

from dataclasses import dataclass

from perfledger_baselines.judging.kernel_judgement import (
    KernelChange,
    KernelFigures,
    KernelFinding,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Table,
    TextStyle,
    display,
    name,
    table,
)
from perfledger_service.values.report import Report

_MAX_ROWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _FamilyRow:
    """A kernel family with its finding; None if it did not change."""

    workload: str
    figures: KernelFigures
    finding: KernelFinding | None


_COLUMNS: tuple[Column[_FamilyRow], ...] = (
    name("", "Kernels", lambda row: row.figures.family),
    display("Base", lambda row: number_format.seconds(row.figures.base_seconds)),
    display("Head", lambda row: number_format.seconds(row.figures.head_seconds)),
    display("Share of base's step", lambda row: number_format.share(row.figures.base_share)),
    display("Change", lambda row: _change(row)),  # noqa: PLW0108 - defined below
    display("Finding", lambda row: _word(row)),  # noqa: PLW0108 - defined below
    display("Detectable", lambda row: _detectable(row)),  # noqa: PLW0108 - defined below
)


def kernel_table(report: Report) -> Table:
    """Return every workload's tested families, those with findings first."""
    rows: list[_FamilyRow] = []
    for each in report.kernels:
        findings = {finding.family: finding for finding in each.findings}
        of_workload = [
            _FamilyRow(workload=each.workload, figures=one, finding=findings.get(one.family))
            for one in each.tested
        ]
        rows += sorted(of_workload, key=lambda row: row.finding is None)
    return table(_COLUMNS, rows, group=lambda row: row.workload, style=_style, most=_MAX_ROWS)


def _change(row: _FamilyRow) -> str:
    estimate = row.figures.estimate
    if estimate is None:
        return "new" if row.figures.base_seconds <= 0 else "gone"
    return number_format.change_with_interval(estimate.change, estimate.low, estimate.high)


def _word(row: _FamilyRow) -> str:
    if row.finding is None:
        return "none"
    if not row.finding.is_proven:
        return "undecided"
    return "cost moved" if row.finding.is_moved else str(row.finding.change)


def _detectable(row: _FamilyRow) -> str:
    estimate = row.figures.estimate
    return "" if estimate is None else number_format.share(estimate.smallest_detectable)


def _style(row: _FamilyRow) -> TextStyle:
    if row.finding is None or row.finding.is_moved or not row.finding.is_proven:
        return TextStyle.PLAIN
    is_more = row.finding.change in {KernelChange.SLOWER, KernelChange.NEW}
    return TextStyle.WORSE if is_more else TextStyle.BETTER
