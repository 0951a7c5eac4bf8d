"""Presents the profiles of a job's ranks: which rank the others wait for."""

from collections.abc import Iterator

from perfledger_profiles.bottleneck.communication_bound import MAX_SKEW
from perfledger_profiles.bottleneck.stragglers import CollectiveLoad, RankLoad, Stragglers
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    CellKind,
    Column,
    Document,
    TextStyle,
    attributes,
    display,
    fact,
    figure,
    heading,
    name,
    record_facts,
    sentences,
    table,
    words,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME
from perfledger_service.rendering.trace.bottlenecks import bottleneck_phrase
from perfledger_service.rendering.trace.profile_json import classification_record
from perfledger_service.values.trace_views import RanksView, TraceView

MAX_COLLECTIVES = 10  # names; JSON has all
_Rank = tuple[TraceView, RankLoad]
_COLLECTIVES: tuple[Column[CollectiveLoad], ...] = (
    figure("", "last rank", lambda load: load.rank, str),
    display("late a step", lambda load: number_format.seconds(load.late_seconds)),
    display("joins last", lambda load: f"{load.last} of {load.calls}"),
    name("name", "collective", lambda load: load.name, limit=MAX_LONG_NAME),
    *record_facts(CollectiveLoad, lambda load: load, without=("name",)),
)


def ranks_document(view: RanksView) -> Document:
    """Return the imbalance of the ranks, in SI units for programs."""
    stragglers = view.stragglers
    rows = tuple(zip(view.traces, stragglers.ranks, strict=True))
    return Document(
        name="perfledger-ranks",
        facts={
            "slowest_rank": stragglers.slowest.rank,
            **attributes(stragglers, "is_uneven", "compute_ratio", "skew", "collectives"),
        },
        blocks=(
            *sentences([" ".join(_sentences(view))]),
            table(
                _columns(view),
                rows,
                key="ranks",
                style=lambda row: (
                    TextStyle.STRONG
                    if stragglers.is_uneven and row[1] is stragglers.slowest
                    else TextStyle.PLAIN
                ),
            ),
            *([heading("By collective")] if stragglers.by_collective else []),
            table(
                _COLLECTIVES,
                stragglers.by_collective,
                key="by_collective",
                most=MAX_COLLECTIVES,
                in_csv=False,
            ),
        ),
    )


def _columns(view: RanksView) -> tuple[Column[_Rank], ...]:
    seconds = number_format.seconds
    return (
        figure("", "rank", lambda row: row[1].rank, str),
        display("step", lambda row: seconds(row[1].step_seconds)),
        display("computes", lambda row: seconds(row[1].compute_seconds)),
        display("late a step", lambda row: seconds(row[1].late_seconds)),
        display("waits a step", lambda row: seconds(row[1].wait_seconds)),
        display("joins last", lambda row: f"{row[1].last} of {view.stragglers.collectives}"),
        name("name", "file", lambda row: row[0].name, limit=MAX_LONG_NAME),
        *record_facts(RankLoad, _rank),
        words(
            "",
            "bound by",
            lambda row: bottleneck_phrase(row[0].classification),
            kind=CellKind.REMARK,
        ),
        fact(
            "classification", lambda row: classification_record(row[0].classification), in_csv=False
        ),
    )


def _rank(row: _Rank) -> RankLoad:
    return row[1]


def _sentences(view: RanksView) -> Iterator[str]:
    """Yield the straggler, how often and how long the others wait for it, and where to look."""
    stragglers, slowest = view.stragglers, view.stragglers.slowest
    if not stragglers.is_uneven:
        yield f"None of the {len(stragglers.ranks)} ranks makes the others wait."
    elif stragglers.skew is not None:
        share = slowest.late_seconds / slowest.step_seconds if slowest.step_seconds > 0 else 0.0
        yield (
            f"The others wait for rank {slowest.rank}: "
            f"{number_format.seconds(slowest.late_seconds)} a step ({number_format.share(share)} "
            f"of it). It joins {slowest.last} of {stragglers.collectives} collectives last."
        )
    if stragglers.is_uneven:
        yield _where_to_look(stragglers)
    if stragglers.skew is None:
        yield "No collective is in all of these files: waiting cannot be told apart from working."
    else:
        yield (
            "The first and the last rank join a collective "
            f"{number_format.share(stragglers.skew)} of its duration apart, at the median of "
            f"{stragglers.collectives}."
        )


def _where_to_look(stragglers: Stragglers) -> str:
    slowest = stragglers.slowest
    if stragglers.compute_ratio < 1 + MAX_SKEW:
        return (
            f"Rank {slowest.rank} computes no longer than the median rank: look at its input, its "
            "host and its links."
        )
    return (
        f"Rank {slowest.rank} computes {number_format.factor(stragglers.compute_ratio)} as long as "
        "the median rank: look at its share of the work and at its clock."
    )
