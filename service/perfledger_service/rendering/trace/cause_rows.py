"""Lists the causes of a slower or faster step, and of a changed memory peak.

Names, evidence, suggestions and notes are not escaped yet: each template does that for its format.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from perfledger_baselines.judging.verdict import Outcome, is_memory_change_alone
from perfledger_profiles.bottleneck.classification import Recommendation
from perfledger_profiles.diff.cause import (
    Cause,
    ChangeKind,
    MemoryCause,
    MemoryExplanation,
    StepTimeExplanation,
)
from perfledger_profiles.diff.noise import NOISE_SHARE
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.compile_rows import (
    CompilationRow,
    CompileBlock,
    compilation_row,
    compile_block,
)
from perfledger_service.rendering.layout.escape import ELLIPSIS
from perfledger_service.rendering.layout.short_name import short_name
from perfledger_service.rendering.layout.source_lines import SourceLine, source_lines
from perfledger_service.rendering.trace.bottlenecks import (
    AdviceRow,
    SharePair,
    advice_rows,
    bottleneck_change_sentence,
    share_pairs,
)
from perfledger_service.rendering.trace.caveats import caveats
from perfledger_service.rendering.trace.waterfall import waterfall_diagram, waterfall_text
from perfledger_service.values.report import Report

# Only the innermost enclosing operations are shown: they say where to look.
_MAX_PATH = 60  # characters
# An operation may be called more often and also be slower; an effect smaller than this is not
# mentioned.
_MIN_EFFECT = 0.1  # of the difference
# A share of a smaller change is meaningless.
_MIN_SHARED_CHANGE = 1e-3
_CHANGES = (Outcome.REGRESSED, Outcome.IMPROVED)
_SLOWER = "slower"
_ARROW = "\N{RIGHTWARDS ARROW}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseRow:
    """One difference between two profiles, as shown."""

    name: str
    short: str  # shortened to fit on a line
    base_name: str  # "" unless one operation replaced another
    kind: str  # of the change, in one or two words
    how: str
    base: str
    head: str
    ends: str  # its times on both sides; "" if it is on one side only
    delta: str
    share: str  # of the step's change
    of_step: str  # of base's step
    part: float  # of the largest difference listed, 0 to 1: the length of a bar
    is_slower: bool
    suggestion: str
    why: str  # why the time per call changed; "" if the profiles do not show it
    evidence: str  # of the reason
    path: str  # the enclosing operations
    source_lines: tuple[SourceLine, ...]  # that call it in the user's code
    effects: str  # the part due to the number of calls, if not all
    reverted: str  # the step's time without it

    @property
    def because(self) -> str:
        """Return why the time of each call changed, with the evidence; "" if unknown."""
        return ": ".join(text for text in (self.why, self.evidence) if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """One difference in what the peak of memory holds, as shown."""

    name: str
    short: str  # shortened to fit on a line
    tensor: str  # "float32[64,128]", or what it became
    base: str
    head: str
    delta: str
    source_lines: tuple[SourceLine, ...]  # that create it in the user's code
    is_worse: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBlock:
    """The explanation of one workload's changed peak memory, as shown."""

    summary: str  # trusted text
    rows: tuple[MemoryRow, ...]
    rest: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonBlock:
    """The explanation of one workload's changed step time, as shown."""

    workload: str
    base: str
    head: str
    delta: str
    pace: str  # "slower" or "faster"; "" if its time did not, or possibly did not, change
    causes: tuple[CauseRow, ...]
    hidden: int
    rest: str
    is_attributable: bool
    note: str
    waterfall: str  # lines of trusted text; "" without buckets
    diagram: str  # the waterfall in Mermaid's language, trusted text; "" without buckets
    caveats: str  # the device's share, what the profiles do not explain, and the noise
    bottleneck: str
    shares: tuple[SharePair, ...]
    advice: tuple[AdviceRow, ...]
    utilization: str  # what is behind a lower utilization; "" if it is not lower
    compilations: tuple[CompilationRow, ...]
    memory: MemoryBlock | None  # if peak memory changed
    compiling: CompileBlock | None  # if cold start or compile time changed
    reproduction: str

    @property
    def lead(self) -> str:
        """Return the words before the workload's name in a heading."""
        return "Why" if self.pace else "What differs in"

    @property
    def claim(self) -> str:
        """Return the words after the workload's name in a heading; "" if nothing is claimed."""
        return f" is {self.pace}" if self.pace else ""

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Return the suggestions, each once."""
        of_causes = (row.suggestion for row in self.causes if row.suggestion)
        return tuple(dict.fromkeys([*of_causes, *self.compiler_suggestions]))

    @property
    def compiler_suggestions(self) -> tuple[str, ...]:
        """Return what to do about `slower_compilations`, each once."""
        return tuple(dict.fromkeys(row.suggestion for row in self.slower_compilations))

    @property
    def slower_compilations(self) -> tuple[CompilationRow, ...]:
        """Return the compilers' reports on head's steps if no cause explains a slower head."""
        if self.is_attributable or self.pace != _SLOWER:
            return ()
        return tuple(row for row in self.compilations if row.is_in_steps)


def reason_blocks(report: Report, *, max_causes: int) -> tuple[ReasonBlock, ...]:
    """Return why step times changed, the workloads with the largest losses first."""
    advice = {one.workload: one.recommendations for one in report.advice}
    return tuple(
        reason_block(
            explanation,
            max_causes=max_causes,
            advice=advice.get(explanation.workload, ()),
            outcome=_speed_outcome(report, explanation.workload),
            is_of_memory=is_memory_change_alone(explanation.workload, report.verdicts),
        )
        for explanation in order_explanations(report)
    )


def order_explanations(report: Report) -> tuple[StepTimeExplanation, ...]:
    """Return the explanations in the order of their blocks."""
    return tuple(sorted(report.explanations, key=lambda one: -_ratio(one)))


def reason_block(
    explanation: StepTimeExplanation,
    *,
    max_causes: int,
    advice: Iterable[Recommendation] = (),
    outcome: Outcome | None = None,
    is_of_memory: bool = False,
) -> ReasonBlock:
    """Return why one step time changed, with the recommendations for head.

    `outcome` is that of the step time, which may be unchanged if another metric changed. It is None
    for two files, where the lengths of the steps decide. If only peak memory changed, the few steps
    of the profile say nothing about time.
    """
    if is_of_memory:
        explanation = replace(explanation, causes=(), is_attributable=True, note="")
        advice = ()
    causes = explanation.causes[:max_causes]
    total = explanation.head_step_seconds - explanation.base_step_seconds
    # Of the steps without a profiler, if they were timed: the profiles may show the opposite.
    timed = total + (explanation.residual_seconds or 0.0)
    largest = max((abs(cause.delta_seconds) for cause in causes), default=0.0)
    hidden = explanation.causes[max_causes:]
    rest = explanation.rest_seconds + sum(cause.delta_seconds for cause in hidden)
    # Two profiles that differ by less than noise show no change on their own.
    noise_s = NOISE_SHARE * explanation.base_step_seconds
    is_same = explanation.residual_seconds is None and outcome is None and abs(total) <= noise_s
    sides = (explanation.base_bottleneck, explanation.head_bottleneck)
    return ReasonBlock(
        workload=explanation.workload,
        base=number_format.seconds(explanation.base_step_seconds),
        head=number_format.seconds(explanation.head_step_seconds),
        delta=number_format.signed_seconds(total),
        pace=_pace(timed) if outcome in (None, *_CHANGES) and not is_same else "",
        causes=tuple(_cause_row(cause, explanation, largest=largest) for cause in causes),
        hidden=len(hidden),
        rest=number_format.signed_seconds(rest),
        is_attributable=explanation.is_attributable,
        note=explanation.note,
        waterfall="" if is_of_memory else waterfall_text(explanation),
        diagram="" if is_of_memory else waterfall_diagram(explanation),
        caveats=""
        if is_of_memory
        else caveats(explanation, is_undecided=outcome is Outcome.UNDECIDED),
        bottleneck="" if is_of_memory else bottleneck_change_sentence(*sides),
        shares=() if is_of_memory else share_pairs(*sides),
        advice=advice_rows(tuple(advice)),
        utilization=explanation.utilization_note,
        compilations=tuple(map(compilation_row, explanation.compilations)),
        memory=None if explanation.memory is None else _memory_block(explanation.memory),
        compiling=None if explanation.compiling is None else compile_block(explanation.compiling),
        reproduction=explanation.reproduction,
    )


def _speed_outcome(report: Report, workload: str) -> Outcome:
    verdict = report.speed_verdict(workload)
    return Outcome.NOT_MEASURED if verdict is None else verdict.outcome


def _pace(change_s: float) -> str:
    if change_s == 0:
        return ""
    return _SLOWER if change_s > 0 else "faster"


def _ratio(explanation: StepTimeExplanation) -> float:
    base = explanation.base_step_seconds
    return explanation.head_step_seconds / base if base > 0 else 0.0


def _cause_row(cause: Cause, explanation: StepTimeExplanation, *, largest: float) -> CauseRow:
    delta = cause.delta_seconds
    base, head = map(number_format.seconds, (cause.base_seconds, cause.head_seconds))
    return CauseRow(
        name=cause.name,
        short=short_name(cause.name),
        base_name=cause.base_name if cause.kind is ChangeKind.REPLACED else "",
        kind=vocabulary.change_kind_phrase(cause),
        how=vocabulary.change_phrase(cause),
        base=base,
        head=head,
        ends=_ends(cause),
        delta=number_format.signed_seconds(delta),
        share=_share_of_change(cause, explanation),
        of_step=_share_of_step(cause, explanation),
        part=abs(delta) / largest if largest > 0 else 0.0,
        is_slower=delta > 0,
        suggestion=cause.suggestion,
        why=vocabulary.change_reason_phrase(cause),
        evidence=cause.evidence,
        path=_end(cause.path),
        source_lines=source_lines(cause.lines, base_lines=cause.base_lines),
        effects=_effects(cause),
        reverted=_bound(cause, explanation),
    )


def _memory_block(explanation: MemoryExplanation) -> MemoryBlock:
    base, head = map(number_format.byte_count, (explanation.base_bytes, explanation.head_bytes))
    change = number_format.signed_bytes(explanation.head_bytes - explanation.base_bytes)
    held_bytes = (explanation.base_held_bytes, explanation.head_held_bytes)
    sizes = " and ".join(map(number_format.byte_count, held_bytes)) if all(held_bytes) else ""
    return MemoryBlock(
        summary=f"Peak memory was {base} on base and {head} on head ({change})."
        + (f" The step is known to hold {sizes} at its peak." if sizes else ""),
        rows=tuple(map(_memory_row, explanation.causes)),
        rest=number_format.signed_bytes(explanation.rest_bytes),
        note=explanation.note,
    )


def _memory_row(cause: MemoryCause) -> MemoryRow:
    sides = ((cause.base_count, cause.base_tensor), (cause.head_count, cause.head_tensor))
    tensors = dict.fromkeys(filter(None, (_tensors(*side) for side in sides)))
    return MemoryRow(
        name=cause.name,
        short=short_name(cause.name),
        tensor=f" {_ARROW} ".join(tensors),
        base=number_format.byte_count(cause.base_bytes),
        head=number_format.byte_count(cause.head_bytes),
        delta=number_format.signed_bytes(cause.delta_bytes),
        source_lines=source_lines(cause.lines, base_lines=cause.base_lines),
        is_worse=cause.delta_bytes > 0,
    )


def _tensors(count: int, largest: str) -> str:
    """Return how many tensors there are, and the size of the largest."""
    return f"{count} of up to {largest}" if largest and count > 1 else largest


def _ends(cause: Cause) -> str:
    """Return the seconds of both sides, if it is on both, and the error of their difference."""
    base, head = map(number_format.seconds, (cause.base_seconds, cause.head_seconds))
    is_on_both = cause.kind not in (ChangeKind.NEW, ChangeKind.GONE)
    sides = [f"{base} {_ARROW} {head} a step"] if is_on_both else []
    error_s = cause.error_seconds
    error = [] if error_s is None else [f"accurate to ±{number_format.seconds(error_s)}"]
    return ", ".join([*sides, *error])


def _share_of_change(cause: Cause, explanation: StepTimeExplanation) -> str:
    """Return the cause's share of the step's change; "" if the change is tiny."""
    total = explanation.head_step_seconds - explanation.base_step_seconds
    is_shared = abs(total) > _MIN_SHARED_CHANGE * abs(cause.delta_seconds) > 0
    return number_format.whole_share(cause.delta_seconds / total) if is_shared else ""


def _share_of_step(cause: Cause, explanation: StepTimeExplanation) -> str:
    """Return the cause's difference as a share of base's step; "" for a step without length."""
    step_s = explanation.base_step_seconds
    return number_format.percent(cause.delta_seconds / step_s) if step_s > 0 else ""


def _bound(cause: Cause, explanation: StepTimeExplanation) -> str:
    """Return the step's time if the cause were reverted (Amdahl's law); "" if unknown."""
    step_s = explanation.head_step_seconds
    if cause.reverted_step_seconds is None or cause.delta_seconds <= 0 or step_s <= 0:
        return ""
    less = number_format.percent(cause.reverted_step_seconds / step_s - 1)
    return f"Without it a step takes {number_format.seconds(cause.reverted_step_seconds)} ({less})"


def _end(path: str) -> str:
    """Return the innermost parts of a path that fit."""
    if len(path) <= _MAX_PATH:
        return path
    cut = path.find("/", len(path) - _MAX_PATH)
    return ELLIPSIS + (path[cut:] if cut >= 0 else path[1 - _MAX_PATH :])


def _effects(cause: Cause) -> str:
    """Return the parts due to the number of calls and to their duration, if both matter."""
    parts = (cause.count_effect_seconds, cause.rate_effect_seconds)
    is_one = min(map(abs, parts)) <= _MIN_EFFECT * abs(cause.delta_seconds)
    if is_one or cause.is_between_calls:
        return ""
    often, slow = map(number_format.signed_seconds, parts)
    return f"{often} from the number of calls, {slow} from their duration"
