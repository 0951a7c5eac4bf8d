"""Lists the findings in a history, as figures and words for any kind of page.

Points are counted from one; labels are untrusted text, not escaped yet.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from perfledger_baselines.history.detection.changes import ChangePoint, Movement, Suspect
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.values.measured_series import SearchedSeries

# Too few observations cannot show a change.
MIN_POINTS = 8
# Marks of the change points below the picture, in order; further change points share the last one.
MARKS = "123456789abcdefghijklmnopqrstuvwxyz^"

_CYCLE_NAMES = {"day": "daily", "week": "weekly"}
_TO = " \N{RIGHTWARDS ARROW} "
_NEW_MACHINE = "; the machine changed there too"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """One finding as shown; a missing figure is ""."""

    index: int  # of its first point, from zero; rows are sorted by it
    what: str
    label: str  # of the first point, untrusted
    place: str
    size: str
    mark: str = ""  # below the picture
    interval: str = ""
    detail: str = ""
    confidence: str = ""


def finding_rows(searched: SearchedSeries) -> tuple[FindingRow, ...]:
    """Return all findings, in the order of their first points."""
    rows = (
        *_changes(searched),
        *_transients(searched),
        *_drifts(searched),
        *_spread_changes(searched),
        *_state_changes(searched),
        *_cycles(searched),
        *_confounded_changes(searched),
        *_suspects(searched),
    )
    return tuple(sorted(rows, key=lambda row: row.index))


def findings_sentence(searched: SearchedSeries) -> str:
    """Return a sentence with the numbers of points and findings."""
    history, values = searched.history, searched.series.values
    gaps = sum(map(math.isnan, values))
    measured = len(values) - gaps
    looked = number_format.quantity(measured, "point") + (
        f" and {number_format.quantity(gaps, 'gap')}" if gaps else ""
    )
    if searched.series.epochs:
        looked += f" in {number_format.quantity(len(searched.series.epochs) + 1, 'epoch')}"
    if measured < MIN_POINTS:
        return f"{looked}: at least {MIN_POINTS} are needed"
    parts = [
        number_format.quantity(len(findings), word)
        for findings, word in (
            (history.changes, "change point"),
            (history.drifts, "drift"),
            (history.spread_changes, "change of the noise"),
            (history.state_changes, "change of states"),
            (history.transients, "transient"),
            (history.cycles, "cycle of time"),
            (history.confounded_changes, "change that a cycle may hide"),
        )
        if findings
    ]
    odd = f"; {_odd_end(searched.suspect)}" if searched.suspect is not None else ""
    return f"{looked}: {', '.join(parts) or 'nothing moved'}{odd}"


def mark_of(place: int) -> str:
    """Return the mark of the change point with this number, counted from zero."""
    return MARKS[min(place, len(MARKS) - 1)]


def _changes(searched: SearchedSeries) -> Iterator[FindingRow]:
    for number, change in enumerate(searched.history.changes):
        size, interval = number_format.change(change.change, change.low, change.high)
        is_relative = size != number_format.NOT_KNOWN
        levels = _TO.join(_value(searched, value) for value in (change.before, change.after))
        yield FindingRow(
            index=change.index,
            mark=mark_of(number),
            what=str(change.movement),
            label=_label(searched, change.index),
            place=_within(change),
            size=size if is_relative else _step(searched, change),
            interval=interval if is_relative else "",
            detail=levels + _NEW_MACHINE * (change.index in searched.new_machines),
            confidence=number_format.confidence(change.confidence),
        )


def _step(searched: SearchedSeries, change: ChangePoint) -> str:
    """Return the absolute size of a change from zero or below, which has no relative size."""
    sign = "+" if change.movement is Movement.UP else "-"
    return sign + _value(searched, abs(change.after - change.before))


def _transients(searched: SearchedSeries) -> Iterator[FindingRow]:
    for transient in searched.history.transients:
        yield FindingRow(
            index=transient.first,
            what="came back",
            label=_label(searched, transient.first),
            place=_stretch(transient.first, transient.last),
            size=number_format.percent(transient.change),
        )


def _drifts(searched: SearchedSeries) -> Iterator[FindingRow]:
    for drift in searched.history.drifts:
        size, interval = number_format.change(drift.change, drift.low, drift.high)
        yield FindingRow(
            index=drift.first,
            what="drift",
            label=_label(searched, drift.first),
            place=_stretch(drift.first, drift.last),
            size=size,
            interval="" if interval == number_format.NOT_KNOWN else interval,
            detail="over the whole stretch",
        )


def _spread_changes(searched: SearchedSeries) -> Iterator[FindingRow]:
    for change in searched.history.spread_changes:
        times = f"{number_format.NBSP}times"
        ends = (number_format.factor(end).removesuffix(times) for end in (change.low, change.high))
        yield FindingRow(
            index=change.index,
            what="noisier" if change.ratio > 1 else "quieter",
            label=_label(searched, change.index),
            place=f"from point {change.index + 1:,} on",
            size=number_format.factor(change.ratio),
            interval=number_format.INTERVAL_TO.join(ends),
            detail="standard deviation",
            confidence=number_format.confidence(change.confidence),
        )


def _state_changes(searched: SearchedSeries) -> Iterator[FindingRow]:
    for change in searched.history.state_changes:
        shares = (
            number_format.whole_share(change.share_before),
            number_format.whole_share(change.share_after),
        )
        distance = number_format.share(change.distance)
        yield FindingRow(
            index=change.index,
            what="two states",
            label=_label(searched, change.index),
            place=f"from point {change.index + 1:,} on",
            size=_TO.join(shares),
            detail=f"of points in the upper state, {distance} above the other",
            confidence=number_format.confidence(change.confidence),
        )


def _cycles(searched: SearchedSeries) -> Iterator[FindingRow]:
    for cycle in searched.history.cycles:
        yield FindingRow(
            index=0,
            what=f"{_CYCLE_NAMES[cycle.period]} cycle",
            label="",
            place="throughout",
            size=number_format.percent(cycle.size).replace("+", "\N{PLUS-MINUS SIGN}"),
            detail="of the machine, by time of measurement; excluded from the other findings",
        )


def _confounded_changes(searched: SearchedSeries) -> Iterator[FindingRow]:
    for change in searched.history.confounded_changes:
        yield FindingRow(
            index=change.index,
            what="suspect",
            label=_label(searched, change.index),
            place=f"from point {change.index + 1:,} on",
            size=number_format.percent(change.change),
            detail="measured at other hours from here on: a cycle or a change; an A/B run decides",
        )


def _suspects(searched: SearchedSeries) -> Iterator[FindingRow]:
    suspect = searched.suspect
    if suspect is None:
        return
    place = f"point {suspect.index + 1:,}"
    yield FindingRow(
        index=suspect.index,
        what="suspect",
        label=_label(searched, suspect.index),
        place=place if suspect.observations == 1 else f"from {place} on",
        size=number_format.percent(suspect.change),
        detail="too few points to tell: an A/B run against its parent decides",
    )


def _odd_end(suspect: Suspect) -> str:
    if suspect.observations == 1:
        return "the last one is suspect"
    return f"the last {suspect.observations} are suspect"


def _label(searched: SearchedSeries, index: int) -> str:
    labels = searched.series.labels
    return labels[index] if labels else ""


def _within(change: ChangePoint) -> str:
    place = f"point {change.index + 1:,}"
    if change.earliest == change.latest:
        return place
    return f"{place} ({change.earliest + 1:,}{number_format.INTERVAL_TO}{change.latest + 1:,})"


def _stretch(first: int, last: int) -> str:
    if first == last:
        return f"point {first + 1:,}"
    return f"points {first + 1:,} to {last + 1:,}"


def _value(searched: SearchedSeries, value: float) -> str:
    return vocabulary.value(value, searched.series.unit)
