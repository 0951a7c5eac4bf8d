"""Renders the history of a workload's kernel families: areas over commits, and their changes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger.records import short_sha
from perfledger_baselines.estimation.kernel_families import HISTORY_SHARE
from perfledger_service.rendering.chart.axis import linear_axis, places_axis
from perfledger_service.rendering.chart.marks import SERIES_TONES, BandMark, Tone
from perfledger_service.rendering.chart.picture import Chart, LegendKey
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.values.upload_views import FamilyChange, FamilyHistory, KernelHistory

# Areas of a chart, plus one for the rest. More colours would be indistinguishable.
MAX_AREAS = 8
MAX_CHANGES = 10  # per machine class
_MAX_LABELS = 6  # hashes of commits that fit beside each other
_MAX_NAME = 40  # characters of a legend entry
_NAME_END = 16  # of them are its end, where others begin alike
_OPACITY = 0.75
_GONE = -1.0  # the relative change of a family that is gone


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyChangeRow:
    """A change of a kernel family as shown."""

    series_id: int
    name: str  # untrusted
    commits: str  # a git range
    seconds: str
    size: str  # "" for a family that is new or gone
    tone: str
    word: str
    has_new_environment: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSection:
    """The kernel families of a workload on one machine class, as shown."""

    commits: int
    least_share: str  # of a step: shorter families are not recorded
    svg: str  # "" with fewer than two commits
    families: tuple[tuple[int, str, str], ...]  # series id, untrusted name, newest time
    changes: tuple[FamilyChangeRow, ...]  # newest first


def kernel_section(history: KernelHistory) -> KernelSection:
    """Return the kernel families of a workload on one machine class, the longest first."""
    chart = kernel_chart(history)
    spoken = "time of kernel families in a step over commits; the table below has the newest"
    return KernelSection(
        commits=len(history.commits),
        least_share=number_format.share(HISTORY_SHARE),
        svg="" if chart is None else embedded_svg(chart, label=spoken),
        families=tuple(
            (one.series_id, one.name, number_format.seconds(one.seconds[-1]))
            for one in history.families
        ),
        changes=_newest_changes(history),
    )


def kernel_chart(history: KernelHistory) -> Chart | None:
    """Return the families' seconds as stacked areas, None for fewer than two commits.

    The families with the longest times at any commit have an area each. A family that was not
    recorded at a commit has no height there.
    """
    commits = len(history.commits)
    if commits < 2:  # noqa: PLR2004 - an area has two ends
        return None
    longest = sorted(history.families, key=lambda one: -max(one.seconds))
    rows = [_row(one, commits) for one in longest]
    areas, rest = rows[:MAX_AREAS], rows[MAX_AREAS:]
    names = _legend_names([one.name for one in longest[:MAX_AREAS]])
    tones = list(SERIES_TONES[: len(areas)])
    if rest:
        areas.append([sum(column) for column in zip(*rest, strict=True)])
        names.append(number_format.quantity(len(rest), "other"))
        tones.append(Tone.MUTED)
    bands: list[BandMark] = []
    floor = [0.0] * commits
    for row, tone in zip(areas, tones, strict=True):
        top = [low + value for low, value in zip(floor, row, strict=True)]
        points = tuple(zip(range(commits), floor, top, strict=True))
        bands.append(BandMark(points=points, tone=tone, opacity=_OPACITY))
        floor = top
    labels = [short_sha(sha) for sha in history.commits]
    return Chart(
        x=places_axis(labels, most=_MAX_LABELS),
        y=linear_axis(0.0, max(floor) or 1.0, label=number_format.seconds),
        marks=tuple(bands),
        legend=tuple(
            LegendKey(label=name, tone=tone, opacity=_OPACITY)
            for name, tone in zip(names, tones, strict=True)
        ),
        height=220.0,
    )


def _legend_names(names: Sequence[str]) -> list[str]:
    """Return the families' names for the legend; those that begin alike keep their ends, too."""
    shortened = [clean(one, limit=_MAX_NAME) for one in names]
    return [
        one
        if shortened.count(one) == 1
        else clean(name, limit=_MAX_NAME - _NAME_END) + clean(name[-_NAME_END:])
        for name, one in zip(names, shortened, strict=True)
    ]


def _row(family: FamilyHistory, commits: int) -> list[float]:
    row = [0.0] * commits
    for place, seconds in zip(family.places, family.seconds, strict=True):
        row[place] = seconds
    return row


def _newest_changes(history: KernelHistory) -> tuple[FamilyChangeRow, ...]:
    places = {sha: index for index, sha in enumerate(history.commits)}
    changes = [(family, one) for family in history.families for one in family.changes]
    changes.sort(key=lambda item: (-places[item[1].change.sha], -abs(item[1].added_s)))
    return tuple(_change_rows(changes[:MAX_CHANGES]))


def _change_rows(
    changes: Sequence[tuple[FamilyHistory, FamilyChange]],
) -> Iterator[FamilyChangeRow]:
    for family, one in changes:
        size, bounds = number_format.change_and_bounds(
            one.change.change, one.change.low, one.change.high
        )
        is_relative = one.change.change > _GONE  # neither new nor gone
        first, last = (short_sha(sha) for sha in (one.change.after_sha, one.change.last_sha))
        tone, word = _badge(one)
        yield FamilyChangeRow(
            series_id=family.series_id,
            name=family.name,
            commits=f"{first}..{last}",
            seconds=number_format.signed_seconds(one.added_s),
            size=", ".join(filter(None, (size, bounds))) if is_relative else "",
            tone=tone,
            word=word,
            has_new_environment=one.change.has_new_environment,
        )


def _badge(change: FamilyChange) -> tuple[str, str]:
    if change.is_moved:
        return "unchanged", "moved"
    if change.change.change <= _GONE:
        return "improved", "gone"
    if math.isnan(change.change.change):
        return "regressed", "new"
    return ("regressed", "slower") if change.added_s > 0 else ("improved", "faster")
