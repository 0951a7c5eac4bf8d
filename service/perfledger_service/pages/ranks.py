"""Turns the profiles of a job's ranks into text, Markdown and JSON: which one the others wait for.

Nothing that others wrote reaches a page but as clean text.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfledger_profiles.communication_part import MAX_SKEW
from perfledger_profiles.stragglers import Stragglers
from perfledger_service.pages import figures
from perfledger_service.pages.bottlenecks import bound_by
from perfledger_service.pages.escape import clean, code
from perfledger_service.pages.profile_json import classification_document, number
from perfledger_service.views import RanksView

# 1: first version. Keys are only ever added.
RANKS_FORMAT = "perfledger-ranks"
RANKS_VERSION = 1

_TITLES = ("rank", "step", "computes", "late a step", "waits a step", "joins last")
_MAX_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    cells: tuple[str, ...]
    name: str  # of its file; foreign
    bound_by: str
    is_slowest: bool


def ranks_text(view: RanksView) -> Group:
    """Return which rank the others wait for, for a terminal of 80 columns or more."""
    grid = Table.grid(padding=(0, 2))
    for _ in _TITLES:
        grid.add_column(justify="right")
    grid.add_row(*_TITLES, style="dim")
    rows = tuple(_rows(view))
    for row in rows:
        grid.add_row(*row.cells, style="bold" if row.is_slowest else "")
    parts: list[RenderableType] = [Text(" ".join(_sentences(view)))]
    parts.append(Padding(grid, (1, 0, 1, 2)))
    for row in rows:
        line = Text(f"rank {row.cells[0]} ", style="dim")
        line.append(clean(row.name, limit=_MAX_NAME), style="not dim bold")
        line.append(f": bound by {row.bound_by}", style="not dim")
        parts.append(Padding(line, (0, 0, 0, 2)))
    return Group(*parts)


def ranks_markdown(view: RanksView) -> str:
    """Return which rank the others wait for as Markdown."""
    lines = [" ".join(_sentences(view)), ""]
    lines.append(f"| {' | '.join(_TITLES)} | file | bound by |")
    lines.append(f"|{'--:|' * len(_TITLES)}:--|:--|")
    for row in _rows(view):
        cells = (f"**{cell}**" if row.is_slowest else cell for cell in row.cells)
        lines.append(f"| {' | '.join(cells)} | {code(row.name)} | {row.bound_by} |")
    return "\n".join(lines) + "\n"


def ranks_json(view: RanksView) -> str:
    """Return how uneven the ranks are as JSON, in SI units."""
    found = view.stragglers
    document = {
        "format": RANKS_FORMAT,
        "version": RANKS_VERSION,
        "slowest_rank": found.slowest.rank,
        "is_uneven": found.is_uneven,
        "compute_ratio": number(found.compute_ratio),
        "skew": number(found.skew),
        "collectives": found.collectives,
        "ranks": [
            {
                "name": trace.name,
                **asdict(one),
                "classification": classification_document(trace.classification),
            }
            for trace, one in zip(view.traces, found.ranks, strict=True)
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _rows(view: RanksView) -> Iterator[_Row]:
    found = view.stragglers
    for trace, one in zip(view.traces, found.ranks, strict=True):
        yield _Row(
            cells=(
                str(one.rank),
                *map(figures.seconds, (one.step_seconds, one.compute_seconds)),
                *map(figures.seconds, (one.late_seconds, one.wait_seconds)),
                f"{one.last} of {found.collectives}",
            ),
            name=trace.name,
            bound_by=bound_by(trace.classification),
            is_slowest=found.is_uneven and one is found.slowest,
        )


def _sentences(view: RanksView) -> Iterator[str]:
    """Yield who it is, how often and at what cost to the others, and where to look."""
    found, slowest = view.stragglers, view.stragglers.slowest
    if not found.is_uneven:
        yield f"None of the {len(found.ranks)} ranks is waited for."
    elif found.skew is not None:
        share = slowest.late_seconds / slowest.step_seconds if slowest.step_seconds > 0 else 0.0
        yield (
            f"The others wait for rank {slowest.rank}: {figures.seconds(slowest.late_seconds)} a "
            f"step ({figures.share(share)} of it). It joins {slowest.last} of "
            f"{found.collectives} collectives last."
        )
    if found.is_uneven:
        yield _where_to_look(found)
    if found.skew is None:
        yield "No collective is in all of these files: who waits cannot be told from who works."
    else:
        yield (
            f"The first and the last rank join a collective {figures.share(found.skew)} of its "
            f"length apart, at the median of {found.collectives}."
        )


def _where_to_look(found: Stragglers) -> str:
    slowest = found.slowest
    if found.compute_ratio < 1 + MAX_SKEW:
        return (
            f"Rank {slowest.rank} computes no longer than the median rank: look at its input, its "
            "host and its links."
        )
    return (
        f"Rank {slowest.rank} computes {figures.factor(found.compute_ratio)} as long as the median "
        "rank: look at its share of the work and at its clock."
    )
