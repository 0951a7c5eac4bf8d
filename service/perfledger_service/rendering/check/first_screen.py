"""Words the top of a check's report, the same in comment, terminal and page.

It says what happened and its price, why, where in the code, and what to do. The texts quote
untrusted names that are not escaped yet: each format escapes for itself.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from perfledger.metrics import STEP_TIME, MetricKind
from perfledger_baselines.judging.verdict import Outcome
from perfledger_profiles.diff.cause import Cause, StepTimeExplanation
from perfledger_service.rendering.check.headline import telling_rows, workload_counts
from perfledger_service.rendering.check.next_steps import (
    CommandHint,
    NextSteps,
    command_hints,
    next_steps,
)
from perfledger_service.rendering.cost import price_rows, yearly_rows
from perfledger_service.rendering.layout import (
    number_format,
    provenance_facts,
    vocabulary,
)
from perfledger_service.rendering.layout.compile_rows import CompilationRow, CompileRow
from perfledger_service.rendering.layout.failure_rows import failure_rows
from perfledger_service.rendering.layout.short_name import short_name
from perfledger_service.rendering.layout.source_lines import SourceLine
from perfledger_service.rendering.layout.verdict_rows import VerdictTableRow
from perfledger_service.rendering.trace.cause_rows import (
    CauseRow,
    MemoryRow,
    ReasonBlock,
    reason_blocks,
)
from perfledger_service.values.report import Report

_MAX_LINES = 3
_MAX_ACTIONS = 2
# A smaller share of the change elsewhere is not worth mentioning.
_MIN_ELSEWHERE = 0.02
_CALL = re.compile(r"\b\w+(?:\.\w+)+")  # torch.nn.functional.embedding


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceFact:
    """The price of a check in a few words: "together **+9,000 USD a year** (7,500 to 11,000)"."""

    lead: str
    amount: str  # emphasised; "" without an amount
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstScreen:
    """The top of a report, below the headline."""

    price: PriceFact | None
    counts: str
    why: str
    failure: str  # in the words of the failed program: untrusted
    where: tuple[SourceLine, ...]
    actions: tuple[str, ...]
    typed: tuple[str, ...]  # commands and settings that the actions quote
    commands: tuple[CommandHint, ...]  # comments that the service carries out
    names: tuple[str, ...]  # untrusted texts that the sentences quote


def first_screen(report: Report, every: Sequence[VerdictTableRow]) -> FirstScreen:
    """Return the top of a report, below the headline.

    `every` is `verdict_rows.verdict_rows` of the report.
    """
    rows = telling_rows(report, every)
    row, block, explanation = _first_explanation(report, rows)
    is_of_step = row is not None and row.metric_name == STEP_TIME.name
    advice = tuple(islice(_actions(block), _MAX_ACTIONS)) if block and is_of_step else ()
    steps = _steps(report, rows, advice, block)
    return FirstScreen(
        price=_price(report, rows, every),
        counts=workload_counts(report),
        why=_why(rows, row, explanation, block),
        failure=_failure(report, rows),
        where=tuple(islice(_source_lines(block, explanation, row.kind), _MAX_LINES))
        if row and block and explanation
        else (),
        actions=steps.sentences,
        typed=steps.typed,
        commands=command_hints(report, every),
        names=(
            *provenance_facts.untrusted_names(report),
            *_cause_names(explanation),
            *(row.reason for row in (block.slower_compilations[:1] if block else ())),
            *steps.typed,
            *steps.quotes,
        ),
    )


def _steps(
    report: Report,
    rows: Sequence[VerdictTableRow],
    advice: tuple[str, ...],
    block: ReasonBlock | None,
) -> NextSteps:
    """Return the advice; without a cause, also what would settle the result."""
    if advice and block is not None and block.is_attributable:
        return NextSteps(advice)
    steps = next_steps(report, rows)
    return replace(steps, sentences=(*advice, *steps.sentences))


def _first_explanation(
    report: Report, rows: Sequence[VerdictTableRow]
) -> tuple[VerdictTableRow | None, ReasonBlock | None, StepTimeExplanation | None]:
    """Return the first deciding result that has an explanation, and the explanation.

    Profiles explain step time, peak memory and compile time, but no other metric.
    """
    if not rows or rows[0].outcome not in {Outcome.REGRESSED, Outcome.IMPROVED}:
        return None, None, None
    blocks = {one.workload: one for one in reason_blocks(report, max_causes=_MAX_ACTIONS)}
    explanations = {one.workload: one for one in report.explanations}
    for row in rows:
        block = blocks.get(row.workload)
        if block is not None and _is_explained(row, block):
            return row, block, explanations[row.workload]
    return None, None, None


def _is_explained(row: VerdictTableRow, block: ReasonBlock) -> bool:
    match row.kind:
        case MetricKind.MEMORY:
            return block.memory is not None
        case MetricKind.START:
            return block.compiling is not None
        case _:
            return row.metric_name == STEP_TIME.name


def _price(
    report: Report, rows: Sequence[VerdictTableRow], every: Sequence[VerdictTableRow]
) -> PriceFact | None:
    """Return the price; it names its workload unless the headline is about that one alone."""
    loud, _ = price_rows.split_price_rows(report, every)
    total = yearly_rows.yearly_total(report.total_price, len(report.change_prices))
    if total is not None:
        missing = f"{len(total.missing)} without a price" if total.missing else ""
        return PriceFact(lead="Together", amount=total.text, detail=missing)
    if not loud:
        return None
    first, more = loud[0], f"; {len(loud) - 1} more priced" * (len(loud) > 1)
    is_alone = {row.workload for row in rows} == {first.workload} and not more
    name = "" if is_alone else f"{first.workload} "
    verb = first.verb.capitalize() if is_alone else first.verb
    lead, amount = f"{name}{verb}", ""
    detail = f"{first.interval}; {first.option}{more}"
    match first.verb:
        case "":
            note = f": {first.note}" if first.note else ""
            lead = f"{first.workload} has no yearly price{note}"
            detail = more.removeprefix("; ")
        case "costs no cash" | "saves no cash":
            detail = f"{first.option}{more}"
        case "no detectable change":
            lead += " in cost"
            detail = f"{first.interval} USD a year; {first.option}{more}"
        case "costs" | "saves":
            amount = f"{'+' * (first.verb == 'costs')}{first.amount} a year"
        case _:
            lead += f" {first.amount} a year, not proven"
    return PriceFact(lead=lead, amount=amount, detail=detail)


def _failure(report: Report, rows: Sequence[VerdictTableRow]) -> str:
    """Return the error of the first workload that was not measured, "" if none failed."""
    if rows and rows[0].outcome is not Outcome.NOT_MEASURED:
        return ""
    return next((row.detail for row in failure_rows(report)), "")


def _why(
    rows: Sequence[VerdictTableRow],
    row: VerdictTableRow | None,
    explanation: StepTimeExplanation | None,
    block: ReasonBlock | None,
) -> str:
    """Return the explanation in one or two sentences; "" without one."""
    if not rows or rows[0].outcome is Outcome.NOT_MEASURED:
        return ""
    if rows[0].outcome is Outcome.UNDECIDED or rows[0].is_warning:
        return rows[0].reason
    if row is None or explanation is None or block is None:
        return rows[0].reason if rows[0].kind is MetricKind.KERNEL else ""
    whose = f"{row.workload}: " if len({one.workload for one in rows}) > 1 else ""
    match row.kind:
        case MetricKind.MEMORY:
            return whose + _memory_sentence(block, explanation)
        case MetricKind.START:
            return whose + _compile_sentence(block)
        case _:
            return whose + _step_sentence(block, explanation)


def _step_sentence(block: ReasonBlock, explanation: StepTimeExplanation) -> str:
    """Return the main cause of a changed step time."""
    if explanation.is_attributable and explanation.causes:
        return _cause_sentence(explanation.causes[0], block, explanation)
    note = f": {block.note}" if block.note else ""
    text = f"no operation accounts for it{note}"
    for row in block.slower_compilations[:1]:
        text += f". On head {row.what}, more often than on base: {row.reason}"
    return text


def _cause_sentence(cause: Cause, block: ReasonBlock, explanation: StepTimeExplanation) -> str:
    row = block.causes[0]
    total_s = explanation.head_step_seconds - explanation.base_step_seconds
    rest_s = total_s - cause.delta_seconds
    has_rest = abs(rest_s) >= _MIN_ELSEWHERE * abs(cause.delta_seconds)
    rest = f" ({number_format.signed_seconds(rest_s)} elsewhere)" if has_rest else ""
    former_name = f" {short_name(row.base_name)}" if row.base_name else ""
    text = f"{row.short} {row.delta} a step: {vocabulary.change_phrase(cause)}{former_name}{rest}"
    return f"{text}. {row.because[:1].upper()}{row.because[1:]}" if row.because else text


def _memory_sentence(block: ReasonBlock, explanation: StepTimeExplanation) -> str:
    """Return the main cause of a changed memory peak."""
    memory, rows = explanation.memory, block.memory.rows if block.memory else ()
    if memory is None or not rows or not memory.is_attributable:
        note = f": {memory.note}" if memory and memory.note else ""
        return f"no tensor accounts for it{note}"
    row = rows[0]
    return f"{row.short} {row.delta} at the peak{f': {row.tensor}' if row.tensor else ''}"


def _compile_sentence(block: ReasonBlock) -> str:
    """Return which compile phase changed most, and the first function responsible."""
    compiling = block.compiling
    if compiling is None or not compiling.longest:
        return "compile time is unchanged"
    if not compiling.rows:
        return compiling.longest
    row = compiling.rows[0]
    because = f": {row.reason}" if row.reason else ""
    return f"{compiling.longest}: {short_name(row.name)} {row.how}{because}"


def _source_lines(
    block: ReasonBlock, explanation: StepTimeExplanation, kind: MetricKind
) -> Iterator[SourceLine]:
    """Yield the lines of code of the first causes, each once; none if they explain nothing."""
    causes: Sequence[CauseRow | MemoryRow | CompileRow | CompilationRow]
    match kind:
        case MetricKind.MEMORY:
            is_known = explanation.memory is not None and explanation.memory.is_attributable
            causes = block.memory.rows[:_MAX_ACTIONS] if block.memory and is_known else ()
        case MetricKind.START:
            causes = block.compiling.rows[:_MAX_ACTIONS] if block.compiling else ()
        case _:
            causes = block.causes if explanation.is_attributable else block.slower_compilations
    source_lines: dict[tuple[str, bool], SourceLine] = {}
    for cause in causes:
        for line in cause.source_lines:  # with the first cause's remark
            source_lines.setdefault((line.text, line.is_on_head), line)
    yield from source_lines.values()


def _actions(block: ReasonBlock) -> Iterator[str]:
    """Yield what to do, in sentences.

    Advice about calls that a suggestion already names only adds its bound to the suggestion.
    """
    suggestions = block.suggestions if block.is_attributable else block.compiler_suggestions
    bounds: dict[str, str] = {}
    further: list[str] = []
    for advice in block.advice:
        calls = {*_CALL.findall(advice.text)}
        same = next((one for one in suggestions if calls and calls <= {*_CALL.findall(one)}), None)
        if same is None:
            further.append(_with_bound(advice.text, advice.bound))
        else:
            bounds.setdefault(same, advice.bound)
    yield from (_with_bound(one, bounds.get(one, "")) for one in suggestions)
    yield from further


def _with_bound(text: str, bound: str) -> str:
    return f"{text.rstrip('.')}. {bound}".strip()


def _cause_names(explanation: StepTimeExplanation | None) -> tuple[str, ...]:
    """Return the operation names that the sentences may quote."""
    if explanation is None:
        return ()
    causes = explanation.causes[:_MAX_ACTIONS]
    memory = explanation.memory.causes[:_MAX_ACTIONS] if explanation.memory else ()
    compiled = explanation.compiling.causes[:1] if explanation.compiling else ()
    names = (
        short_name(name)
        for name in (
            *(name for one in causes for name in (one.name, one.base_name)),
            *(one.name for one in memory),
            *(one.name for one in compiled),
            *(one.reason for one in compiled),
        )
        if name
    )
    return tuple(dict.fromkeys(names))
