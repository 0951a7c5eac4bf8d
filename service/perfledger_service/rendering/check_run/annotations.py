"""Names the lines of code that cause regressions, as annotations of a check run.

GitHub shows titles and messages as plain text.
"""

from collections.abc import Iterator, Sequence

from perfledger.metrics import STEP_TIME, MetricKind
from perfledger_baselines.judging.verdict import Outcome
from perfledger_profiles.diff.cause import StepTimeExplanation
from perfledger_service.rendering.layout.compile_rows import CompileRow
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.source_lines import SourceLine
from perfledger_service.rendering.layout.verdict_rows import VerdictTableRow, verdict_rows
from perfledger_service.rendering.trace.cause_rows import (
    CauseRow,
    MemoryRow,
    ReasonBlock,
    reason_blocks,
)
from perfledger_service.values.pull_request_report import AnnotationLevel, CodeAnnotation
from perfledger_service.values.report import Conclusion, Report

# Per check: with more, the important lines are hard to find.
MAX_ANNOTATIONS = 200
MAX_CAUSES = 10  # of one workload's metric
MAX_PATH = 1000
MAX_LINE = 10_000_000
MAX_TITLE = 250  # GitHub takes 255 characters
MAX_MESSAGE = 2000


def code_annotations(report: Report) -> tuple[CodeAnnotation, ...]:
    """Return the annotations of a report, the largest causes of its worst results first.

    The lines are those that the bundle states for head: whether they exist is not checked here. An
    uncommitted change has none.
    """
    if report.head.is_dirty:
        return ()
    blocks = {one.workload: one for one in reason_blocks(report, max_causes=MAX_CAUSES)}
    explanations = {one.workload: one for one in report.explanations}
    annotations: dict[CodeAnnotation, None] = {}
    for row in verdict_rows(report):
        block = blocks.get(row.workload)
        if row.outcome is Outcome.REGRESSED and block is not None:
            level = _level(row, report)
            for cause, text in _causes(row, block, explanations[row.workload]):
                for line in cause.source_lines:
                    annotation = _annotation(line, row, text, level)
                    if annotation is not None:
                        annotations.setdefault(annotation)
    return tuple(annotations)[:MAX_ANNOTATIONS]


def _level(row: VerdictTableRow, report: Report) -> AnnotationLevel:
    """Return failure for a result that fails the check, warning for a milder or accepted one."""
    accepted = {one.workload for one in report.acceptances}  # "" accepts the whole commit
    is_accepted = not accepted.isdisjoint({"", row.workload})
    is_failure = report.conclusion is Conclusion.FAILURE and not row.is_warning
    return AnnotationLevel.FAILURE if is_failure and not is_accepted else AnnotationLevel.WARNING


def _causes(
    row: VerdictTableRow, block: ReasonBlock, explanation: StepTimeExplanation
) -> Iterator[tuple[CauseRow | MemoryRow | CompileRow, str]]:
    """Yield each cause of a worse metric, with a sentence about it."""
    match row.kind:
        case MetricKind.MEMORY:
            is_known = explanation.memory is not None and explanation.memory.is_attributable
            memory: Sequence[MemoryRow] = block.memory.rows if block.memory and is_known else ()
            worse = (one for one in memory if one.is_worse)
            yield from ((one, f"{one.short} {one.delta} at the peak") for one in worse)
        case MetricKind.START:
            compiled: Sequence[CompileRow] = block.compiling.rows if block.compiling else ()
            yield from ((one, f"{one.name} {one.how}, {one.delta}") for one in compiled)
        case _ if row.metric_name == STEP_TIME.name and block.is_attributable:
            yield from ((one, _step_text(one)) for one in block.causes if one.is_slower)
        case _:
            return


def _step_text(cause: CauseRow) -> str:
    texts = [f"{cause.short} {cause.delta} a step, {cause.how}"]
    texts += filter(None, (cause.because, cause.suggestion))
    return ". ".join(one.rstrip(".") for one in texts)


def _annotation(
    source_line: SourceLine, row: VerdictTableRow, text: str, level: AnnotationLevel
) -> CodeAnnotation | None:
    """Return the annotation of a line, None if it is not in a file of the repository on head."""
    path, _, line = source_line.text.rpartition(":")
    is_line = line.isascii() and line.isdecimal() and 0 < int(line[:10]) <= MAX_LINE
    if not is_line or not is_path(path) or not source_line.is_on_head:
        return None
    remark = f" ({source_line.remark})" if source_line.remark else ""
    return CodeAnnotation(
        path=path,
        line=int(line),
        level=level,
        title=clean(f"{row.workload}: {row.metric} {row.change}", limit=MAX_TITLE),
        message=clean(f"{text}{remark}", limit=MAX_MESSAGE),
    )


def is_path(path: str) -> bool:
    """Return whether a text is a relative path of a file, as git writes it."""
    parts = path.split("/")
    is_plain = path.isprintable() and "\\" not in path and len(path) <= MAX_PATH
    return is_plain and not {"", ".", ".."} & set(parts)
