"""A series as it grows in, each change of it alarmed once out."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from perfledger_baselines.history.detect import MIN_CHANGE, detect
from perfledger_baselines.history.findings import ChangePoint

# Of the form that `to_json` writes.
VERSION = 1

# Observations that are searched again when new ones come. A change that is further back than this
# was found long ago or never will be; its neighbours reach 100 to either side.
LONGEST_TAIL = 400


class WatchError(ValueError):
    """What was stored is no watch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What must be kept of a series between commits.

    `tail` are its latest values, NaN for gaps, the first of them at index `first` of the series.
    `raised` are all changes that were alarmed, in the order of alarm; later looks never alter them.
    """

    first: int = 0
    tail: tuple[float, ...] = ()
    raised: tuple[ChangePoint, ...] = ()
    min_change: float = MIN_CHANGE

    def to_json(self) -> str:
        """Return the watch as one line of JSON; a gap is null."""
        stored = {"version": VERSION, **asdict(self)}
        stored["tail"] = [_stored(value) for value in self.tail]
        stored["raised"] = [
            {name: _stored(value) for name, value in asdict(change).items()}
            for change in self.raised
        ]
        return json.dumps(stored, allow_nan=False)


def watch_from_json(text: str) -> Watch:
    """Return the watch that `to_json` wrote. Raises WatchError for anything else."""
    try:
        stored = json.loads(text)
        version = stored["version"]
        watch = Watch(
            first=stored["first"],
            tail=tuple(_read(value) for value in stored["tail"]),
            raised=tuple(_change(change) for change in stored["raised"]),
            min_change=stored["min_change"],
        )
    except (ValueError, TypeError, KeyError) as error:
        msg = f"{text[:40]!r} is no stored watch: search the whole series anew"
        raise WatchError(msg) from error
    if version != VERSION:
        msg = f"this watch has version {version}, not {VERSION}: search the whole series anew"
        raise WatchError(msg)
    return watch


def extend(watch: Watch, values: Sequence[float]) -> tuple[Watch, tuple[ChangePoint, ...]]:
    """Return the watch with new values, one per commit, and the changes to alarm now.

    The tail is searched again. A change is alarmed once: not if its place may be that of one that
    was alarmed already and it goes the same way. Where the class of machine changes, begin a new
    watch. Raises SeriesError for an infinite value.
    """
    tail = (*watch.tail, *values)
    alarms: list[ChangePoint] = []
    if not all(math.isnan(value) for value in tail):
        for change in detect(tail, min_change=watch.min_change).changes:
            moved = _moved(change, by=watch.first)
            if not any(_is_same(moved, other) for other in (*watch.raised, *alarms)):
                alarms.append(moved)
    cut = max(len(tail) - LONGEST_TAIL, 0)
    extended = replace(
        watch, first=watch.first + cut, tail=tail[cut:], raised=(*watch.raised, *alarms)
    )
    return extended, tuple(alarms)


def _moved(change: ChangePoint, *, by: int) -> ChangePoint:
    return replace(
        change, index=change.index + by, earliest=change.earliest + by, latest=change.latest + by
    )


def _is_same(change: ChangePoint, other: ChangePoint) -> bool:
    overlap = min(change.latest, other.latest) - max(change.earliest, other.earliest)
    return overlap >= 0 and change.movement is other.movement


def _stored(value: float) -> float | str | None:
    """JSON knows neither NaN, which is null here, nor infinity, which is its name."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _read(value: float | str | None) -> float:
    return math.nan if value is None else float(value)


def _change(stored: Mapping[str, float | str | None]) -> ChangePoint:
    sizes = ("before", "after", "change", "low", "high", "confidence")
    index, earliest, latest = (int(_read(stored[name])) for name in ("index", "earliest", "latest"))
    before, after, change, low, high, confidence = (_read(stored[name]) for name in sizes)
    return ChangePoint(
        index=index,
        earliest=earliest,
        latest=latest,
        before=before,
        after=after,
        change=change,
        low=low,
        high=high,
        confidence=confidence,
    )
