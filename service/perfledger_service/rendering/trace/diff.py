"""Presents the differences between two profiles."""

from collections.abc import Iterator, Sequence

from perfledger_profiles.diff.caveats import are_recordings
from perfledger_profiles.flame_graph.speedscope_stacks import speedscope_stacks
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.compile_rows import CompilationRow, CompileBlock
from perfledger_service.rendering.layout.document import (
    Block,
    CellKind,
    Column,
    Document,
    Paragraph,
    Preformatted,
    TextStyle,
    display,
    heading,
    name,
    notes,
    sentences,
    table,
    words,
)
from perfledger_service.rendering.layout.escape import clean, clean_sentence
from perfledger_service.rendering.layout.source_lines import SourceLine
from perfledger_service.rendering.trace.bottlenecks import SharePair
from perfledger_service.rendering.trace.cause_rows import (
    CauseRow,
    MemoryBlock,
    MemoryRow,
    ReasonBlock,
    reason_block,
)
from perfledger_service.rendering.trace.kernel_rows import PairedKernelRow, paired_kernel_rows
from perfledger_service.rendering.trace.profile_json import trace_diff_record
from perfledger_service.rendering.trace.summary import advice_block, device_line, head_line
from perfledger_service.values.trace_views import TraceDiffView

_MAX_EVIDENCE = 160
MAX_CAUSES = 12
MAX_ROWS = 10
RECORDINGS = (
    "Neither file marks steps: the whole recordings are compared, which must be of the same work."
)
BY_ITERATION = (
    "Neither file marks steps: one repeat of the {} kernels that both files repeat counts as a "
    "step, and may be a layer of a longer one."
)
ONE_RECORDING = (
    "One recording of each side: by how much two of the same code differ is estimated, and with "
    "few operations unknown. --base-repeat measures it."
)
TWO_DEVICES = "The files are from different devices, {} and {}, so not only the code differs."

_MAX_SHORT = 90
_MAX_REASON = 200
_MAX_COMMAND = 1200
_STYLES = {"slower": TextStyle.WORSE, "faster": TextStyle.BETTER}
_SHARE_COLUMNS: tuple[Column[SharePair], ...] = (
    display("base", lambda pair: pair.base or "-"),
    display("head", lambda pair: pair.head or "-"),
    words("", "bound by", lambda pair: pair.name),
)
_KERNEL_COLUMNS: tuple[Column[PairedKernelRow], ...] = (
    display("base", lambda row: row.base or "-"),
    display("head", lambda row: row.head or "-"),
    display("change", lambda row: row.delta),
    name("", "what", lambda row: row.short, limit=_MAX_SHORT),
)


def trace_diff_document(view: TraceDiffView) -> Document:
    """Return why a step changed, and both sides' bottlenecks and longest operations."""
    block = reason_block(view.explanation, max_causes=MAX_CAUSES, advice=view.head.recommendations)
    kernels = paired_kernel_rows(view.base.profile, view.head.profile, most=MAX_ROWS)
    return Document(
        name="perfledger-trace-diff",
        version=2,
        facts=trace_diff_record(view),
        blocks=(
            *_side_blocks(view),
            heading(f"{block.lead} the step{block.claim}"),
            *reason_blocks_of(block),
            *([heading("Shares of the step")] if block.shares else []),
            table(
                _SHARE_COLUMNS,
                block.shares,
                style=lambda pair: TextStyle.STRONG if pair.is_primary else TextStyle.PLAIN,
            ),
            *([heading("What runs longest")] if kernels else []),
            table(
                _KERNEL_COLUMNS, kernels, style=lambda row: _STYLES.get(row.tone, TextStyle.PLAIN)
            ),
        ),
    )


def trace_diff_speedscope(view: TraceDiffView) -> str:
    """Return the steps of both sides as two profiles of one speedscope file."""
    name = f"{view.base.name} and {view.head.name}"
    return speedscope_stacks(view.base.profile, view.head.profile, name=name)


def devices_sentence(view: TraceDiffView) -> str:
    """Return that the files are from different devices, "" if they may be from the same one."""
    if view.is_same_device:
        return ""
    return TWO_DEVICES.format(*map(clean, _device_names(view)))


def reason_blocks_of(block: ReasonBlock) -> Iterator[Block]:
    """Yield why a step changed: causes, waterfall, bottleneck and recommendations."""
    summary = f"Profiled: {block.base} a step on base, {block.head} on head ({block.delta})."
    if not block.is_attributable:
        subject = "These do not account" if block.causes else "No operation accounts"
        summary += f" {subject} for it."
    note = clean_sentence(block.note) if block.note else ""
    names = [cause.name for cause in block.causes]
    parts = (summary, note, block.caveats, block.bottleneck)
    yield from sentences([" ".join(filter(None, parts))], names=names)
    yield table(
        _cause_columns(),
        block.causes,
        style=lambda cause: TextStyle.WORSE if cause.is_slower else TextStyle.BETTER,
        footer=(block.rest, "", "all the rest") if block.causes else (),
    )
    if block.utilization:
        yield from sentences([clean_sentence(block.utilization)], names=names)
    for row in block.compilations:
        yield from sentences([_compilation_words(row)], names=[row.function, row.reason])
    if block.compiling is not None:
        yield from _compile_blocks(block.compiling)
    if block.memory is not None:
        yield from _memory_blocks(block.memory)
    if block.waterfall:
        yield Preformatted(block.waterfall)
    yield from sentences(map(clean_sentence, block.suggestions), names=names)
    yield from (advice_block(one, names=names) for one in block.advice)
    if block.reproduction:
        yield from notes(["Profile it again:"])
        yield Preformatted(clean(block.reproduction, limit=_MAX_COMMAND))


def _compilation_words(row: CompilationRow) -> str:
    function = f" ({clean(row.function)})" if row.function else ""
    at = f" at {_line_words(row.source_lines)}" if row.source_lines else ""
    return f"On head {row.what}{function}{at}: {clean(row.reason, limit=_MAX_REASON)}."


def _compile_blocks(compiling: CompileBlock) -> Iterator[Block]:
    names = [name for row in compiling.rows for name in (row.name, row.reason) if name]
    yield from sentences([compiling.summary])
    for row in compiling.rows:
        at = f" ({_line_words(row.source_lines)})" if row.source_lines else ""
        because = f": {clean(row.reason, limit=_MAX_REASON)}" if row.reason else ""
        text = f"{clean(row.name)} {row.how} ({row.delta}){because}{at}."
        yield from sentences([text], names=names)


def _memory_blocks(memory: MemoryBlock) -> Iterator[Block]:
    names = [row.name for row in memory.rows]
    note = clean_sentence(memory.note) if memory.note else ""
    yield from sentences([" ".join(filter(None, (memory.summary, note)))], names=names)
    yield table(
        _memory_columns(),
        memory.rows,
        style=lambda row: TextStyle.WORSE if row.is_worse else TextStyle.BETTER,
        footer=(memory.rest, "all the rest") if memory.rows else (),
    )


def _side_blocks(view: TraceDiffView) -> Iterator[Block]:
    """Yield whether the devices differ, then the file and the device of each side."""
    if not view.is_same_device:
        names = _device_names(view)
        yield Paragraph(text=devices_sentence(view), style=TextStyle.STRONG, names=names)
    for side, trace in (("base", view.base), ("head", view.head)):
        yield Paragraph(
            text=f"{side} {trace.name}: {head_line(trace)}",
            style=TextStyle.STRONG,
            names=(trace.name, trace.profile.tool),
        )
    devices = dict.fromkeys(device_line(one.profile.device) for one in (view.base, view.head))
    yield from notes(filter(None, devices), names=[device for device in devices if device])
    yield from notes(_basis(view))


def _basis(view: TraceDiffView) -> Iterator[str]:
    """Yield what is compared, and whether the noise of recordings is measured."""
    if view.iteration_kernels:
        yield BY_ITERATION.format(number_format.count(view.iteration_kernels))
    elif are_recordings(view.base.profile, view.head.profile):
        yield RECORDINGS
    if view.explanation.noise_seconds is None:
        yield ONE_RECORDING


def _device_names(view: TraceDiffView) -> tuple[str, str]:
    """Return both sides' device names, with their sizes if the names are the same."""
    base, head = (one.profile.device for one in (view.base, view.head))
    before, after = (device.name if device else "" for device in (base, head))
    return (device_line(base), device_line(head)) if before == after else (before, after)


def _memory_columns() -> tuple[Column[MemoryRow], ...]:
    return (
        display("change", lambda row: row.delta),
        name("", "made by", lambda row: row.name),
        words("", "what", _memory_words, kind=CellKind.REMARK),
    )


def _memory_words(row: MemoryRow) -> str:
    """Return what is held on both sides, and the lines that create it."""
    tensor = f"{clean(row.tensor)}: " if row.tensor else ""
    called_at = _in_brackets(_called_at(row.source_lines))
    return f"{tensor}{row.base} on base, {row.head} on head{called_at}."


def _called_at(source_lines: Sequence[SourceLine]) -> list[str]:
    """Return where something is called in the user's code, in at most one phrase."""
    return [f"called at {_line_words(source_lines)}"] if source_lines else []


def _line_words(source_lines: Sequence[SourceLine]) -> str:
    return ", ".join(
        f"{clean(one.text)} ({one.remark})" if one.remark else clean(one.text)
        for one in source_lines
    )


def _in_brackets(details: Sequence[str]) -> str:
    return f" ({'; '.join(details)})" if details else ""


def _cause_columns() -> tuple[Column[CauseRow], ...]:
    return (
        display("change", lambda cause: cause.delta),
        display("share", lambda cause: cause.share),
        name("", "operation", lambda cause: cause.name),
        words("", "how", _cause_words, kind=CellKind.REMARK),
    )


def _cause_words(cause: CauseRow) -> str:
    """Return how and why an operation's time changed, and the step's time without it."""
    base = f" {clean(cause.base_name)}" if cause.base_name else ""
    because = f"; {cause.why}" if cause.why else ""
    evidence = f": {clean(cause.evidence, limit=_MAX_EVIDENCE)}" if cause.evidence else ""
    details = [f"in {clean(cause.path)}"] if cause.path else []
    details += _called_at(cause.source_lines)
    details += [cause.effects] if cause.effects else []
    reverted = f". {cause.reverted}" if cause.reverted else ""
    return f"{cause.how}{base}{because}{evidence}{_in_brackets(details)}{reverted}."
