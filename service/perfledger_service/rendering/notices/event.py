"""Renders a notice about an event, in the words of the comment that confirms it."""

from dataclasses import dataclass

from perfledger.records import short_sha
from perfledger_baselines.history.commits.tracked_event import ChangedSeries, TrackedEvent
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.document import (
    Block,
    Column,
    Document,
    display,
    name,
    sentences,
    table,
    title,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean
from perfledger_service.rendering.server.event import largest
from perfledger_service.values.branch_views import EventView
from perfledger_service.values.notices.notice import NoticeSubject

MAX_TITLE = 200
MAX_SERIES = 20
_MAX_WORDS = 300

_SERIES_COLUMNS: tuple[Column[ChangedSeries], ...] = (
    name("workload", "workload", lambda one: one.workload, limit=MAX_LONG_NAME),
    name(
        "metric",
        "metric",
        lambda one: one.metric,
        show=lambda one: vocabulary.series_label(one.metric),
    ),
    display("change", lambda one: number_format.change(one.change, one.low, one.high)[0]),
    display("interval", lambda one: number_format.change(one.change, one.low, one.high)[1]),
    name("machine_class", "machine class", lambda one: one.machine_class),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventNotice:
    """An event that a notice is about.

    `headline` is that of the check that confirms it, "" without one. `is_again` if it was over and
    is back.
    """

    view: EventView
    subject: NoticeSubject
    headline: str
    is_again: bool = False


def event_title(notice: EventNotice) -> str:
    """Return what happened in one line that quotes untrusted names."""
    event = notice.view.event
    match notice.subject:
        case NoticeSubject.FIXED:
            return f"Fixed: {short_sha(event.fixed_sha)} undid it. {_what(notice)}"
        case NoticeSubject.EXPECTED:
            return f"Expected from now on. {_what(notice)}"
        case NoticeSubject.ENVIRONMENT:
            return f"The machines changed, not the code. {_what(notice)}"
        case NoticeSubject.NOT_FOUND:
            return f"No longer found with more data. {_what(notice)}"
        case _:
            return f"{'It is back. ' if notice.is_again else ''}{_what(notice)}"


def event_notice_document(notice: EventNotice) -> Document:
    """Return the notice: what changed, where, by how much and why."""
    event = notice.view.event
    names = (event.reason, event.owner, event.set_by, *(one.workload for one in event.series))
    series: tuple[Block, ...] = ()
    if notice.subject is NoticeSubject.OPEN:
        series = (table(_SERIES_COLUMNS, event.series, most=MAX_SERIES),)
    return Document(
        name="",
        blocks=(
            title(clean(event_title(notice), limit=2 * _MAX_WORDS), names=names),
            *sentences(_sentences(notice), names=names),
            *series,
        ),
    )


def _what(notice: EventNotice) -> str:
    """Return the comment's headline, or the largest change of an unconfirmed event."""
    if notice.headline:
        return notice.headline
    series = largest(notice.view)
    if series is None:
        return f"Event {notice.view.event.id} is a change of unknown size"
    size, _ = number_format.change(series.change, series.low, series.high)
    metric = vocabulary.series_label(series.metric)
    return f"{series.workload} on the default branch: {metric} {size}"


def _sentences(notice: EventNotice) -> list[str]:
    event = notice.view.event
    lines = [_place(event)]
    if notice.subject is NoticeSubject.OPEN and not notice.headline:
        lines.append("Not confirmed by paired runs yet.")
    if notice.subject in {NoticeSubject.EXPECTED, NoticeSubject.ENVIRONMENT} and event.set_by:
        lines.append(f"Set by {event.set_by}: {event.reason}")
        if event.until:
            lines.append(f"Expected until {event.until}.")
    return lines


def _place(event: TrackedEvent) -> str:
    place = event.occurrences[-1]
    merged = f", merged from pull request {event.pull_request}" if event.pull_request else ""
    last = short_sha(place.last_sha)
    if not place.after_sha:
        return f"Found at commit {last} of the default branch{merged}."
    return f"Found after commit {short_sha(place.after_sha)}, up to {last}{merged}."
