"""Turns what changed between two profiles into a terminal's text and Markdown.

Nothing that others wrote reaches a page but as clean text.
"""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfledger_service.pages.bottlenecks import SharePair
from perfledger_service.pages.environment import render
from perfledger_service.pages.escape import clean, clean_sentence
from perfledger_service.pages.kernel_rows import PairedRow, paired_rows
from perfledger_service.pages.profiled import advice_line, device_line, head_line
from perfledger_service.pages.reasons import CauseRow, ReasonBlock, reason_block
from perfledger_service.views import TraceDiffView

MAX_CAUSES = 12
MAX_ROWS = 10
TWO_DEVICES = "These are two devices: what differs is theirs as well as the code's."

_MAX_NAME = 200
_MAX_SHORT = 90
_MAX_COMMAND = 600
_INDENT = (0, 0, 0, 2)
_STYLES = {"slower": "red", "faster": "green"}


def block_text(block: ReasonBlock) -> Iterator[RenderableType]:
    """Yield why a step changed for a terminal: causes, the waterfall, what it is bound by."""
    profiled = f"Profiled: {block.base} a step on base, {block.head} on head ({block.delta})."
    if not block.is_attributable:
        those = "These do not account" if block.causes else "No operation accounts"
        profiled += f" {those} for it."
    note = clean_sentence(block.note) if block.note else ""
    sentences = (profiled, note, block.caveats, block.bottleneck)
    yield Padding(Text(" ".join(filter(None, sentences))), _INDENT)
    yield Padding(_cause_grid(block), _INDENT)
    if block.waterfall:
        yield Padding(Text(block.waterfall, no_wrap=True), (1, 0, 1, 2))
    for suggestion in block.suggestions:
        yield Padding(Text(clean_sentence(suggestion)), _INDENT)
    for one in block.advice:
        yield Padding(advice_line(one), _INDENT)
    if block.reproduction:
        again = Text("Profile it again: ", style="dim")
        again.append(clean(block.reproduction, limit=_MAX_COMMAND), style="not dim")
        yield Padding(again, _INDENT)


def trace_diff_text(view: TraceDiffView) -> Group:
    """Return what changed between two traces for a terminal of 80 columns or more."""
    block = _block(view)
    parts: list[RenderableType] = []
    for side, trace in (("base", view.base), ("head", view.head)):
        line = Text.assemble(f"{side} ", (clean(trace.name, limit=_MAX_NAME), "bold"))
        line.append(f": {clean(head_line(trace), limit=_MAX_NAME)}")
        parts.append(line)
    for device in dict.fromkeys(device_line(one.profile.device) for one in (view.base, view.head)):
        parts.extend([Text(clean(device, limit=_MAX_NAME), style="dim")] if device else [])
    if not view.is_same_device:
        parts.append(Text(TWO_DEVICES, style="bold"))
    parts.append(_heading(f"Why the step is {block.pace}"))
    parts.extend(block_text(block))
    if block.shares:
        parts += [_heading("Shares of the step"), Padding(_share_grid(block.shares), _INDENT)]
    rows = paired_rows(view.base.profile, view.head.profile, most=MAX_ROWS)
    if rows:
        parts += [_heading("What runs longest"), Padding(_paired_grid(rows), _INDENT)]
    return Group(*parts)


def trace_diff_markdown(view: TraceDiffView) -> str:
    """Return what changed between two traces as Markdown, as a comment has it."""
    text = render(
        "trace_diff.md.j2",
        base=view.base.name,
        head=view.head.name,
        block=_block(view),
        devices="" if view.is_same_device else TWO_DEVICES,
        kernels=paired_rows(view.base.profile, view.head.profile, most=MAX_ROWS),
        foreign=(view.base.name, view.head.name),
    )
    return text.strip("\n") + "\n"


def _block(view: TraceDiffView) -> ReasonBlock:
    return reason_block(view.explanation, max_causes=MAX_CAUSES, advice=view.head.recommendations)


def _cause_grid(block: ReasonBlock) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(min_width=9, justify="right")
    grid.add_column(min_width=6, justify="right")
    grid.add_column(overflow="fold")
    for cause in block.causes:
        style = "red" if cause.is_slower else "green"
        grid.add_row(Text(cause.delta, style=style), Text(cause.share), _cause_words(cause))
    if block.causes:
        grid.add_row(Text(block.rest, style="dim"), Text(), Text("all the rest", style="dim"))
    return grid


def _cause_words(cause: CauseRow) -> Text:
    base = f" {clean(cause.base_name)}" if cause.base_name else ""
    line = Text(clean(cause.name), style="bold")
    line.append(f": {cause.how}{base}", style="not bold")
    if cause.why:
        line.append(f"; {cause.why}", style="not bold")
    if cause.evidence:
        line.append(f": {clean(cause.evidence, limit=160)}", style="not bold")
    details = [f"in {clean(cause.path)}"] if cause.path else []
    details += [cause.effects] if cause.effects else []
    if details:
        line.append(f" ({'; '.join(details)})", style="not bold dim")
    if cause.reverted:
        line.append(f". {cause.reverted}.", style="not bold dim")
    return line


def _share_grid(shares: Sequence[SharePair]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_row("base", "head", "", style="dim")
    for pair in shares:
        style = "bold" if pair.is_primary else ""
        grid.add_row(Text(pair.base or "-"), Text(pair.head or "-"), Text(pair.name, style=style))
    return grid


def _paired_grid(rows: Sequence[PairedRow]) -> Table:
    grid = Table.grid(padding=(0, 1), expand=True)
    for _ in range(3):
        grid.add_column(min_width=9, justify="right")
    grid.add_column(overflow="fold", ratio=1)
    grid.add_row("base", "head", "change", "", style="dim")
    for row in rows:
        style = _STYLES.get(row.tone, "")
        grid.add_row(
            Text(row.base or "-"),
            Text(row.head or "-"),
            Text(row.delta, style=style),
            Text(clean(row.short, limit=_MAX_SHORT)),
        )
    return grid


def _heading(text: str) -> Padding:
    return Padding(Text(text, style="bold underline"), (1, 0, 0, 0))
