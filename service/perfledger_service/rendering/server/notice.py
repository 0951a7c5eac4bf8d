"""Presents where a project's notices are sent, and the newest ones."""

from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Preformatted,
    display,
    fact,
    figure,
    heading,
    name,
    table,
)
from perfledger_service.values.notices.notice import (
    MAX_ADDRESS,
    Notice,
    NoticeOverview,
    NoticeTarget,
)

MAX_SHOWN = 30
_MAX_PROBLEM = 300


def _what(target: NoticeTarget) -> str:
    events = "all regressions" if target.is_early else "confirmed regressions"
    return f"{events}, weekly report" if target.is_weekly else events


_TARGET_COLUMNS: tuple[Column[NoticeTarget], ...] = (
    figure("channel", "channel", lambda target: target.channel.value),
    name("address", "address", lambda target: target.address, limit=MAX_ADDRESS),
    display("what", _what),
    figure("hourly", "an hour", lambda target: target.hourly, str),
    fact("is_early", lambda target: target.is_early),
    fact("is_weekly", lambda target: target.is_weekly),
    fact("created_at", lambda target: target.created_at and target.created_at.isoformat()),
)


def notices_document(overview: NoticeOverview) -> Document:
    """Return where a project's notices are sent, and its newest notices."""
    channels = {one.id: f"{one.channel} {one.address}".rstrip() for one in overview.targets}
    columns: tuple[Column[Notice], ...] = (
        figure("key", "notice", lambda notice: notice.key),
        name("target", "to", lambda notice: channels.get(notice.target_id, "")),
        figure("subject", "says", lambda notice: notice.subject.value),
        figure("status", "status", lambda notice: notice.status.value),
        display("when", lambda notice: f"{notice.sent_at or notice.queued_at:%Y-%m-%d %H:%M}"),
        name("problem", "problem", lambda notice: notice.problem, limit=_MAX_PROBLEM),
        fact("edition", lambda notice: notice.edition),
        fact("event", lambda notice: notice.event_id),
        fact("queued_at", lambda notice: notice.queued_at.isoformat()),
        fact("sent_at", lambda notice: notice.sent_at and notice.sent_at.isoformat()),
    )
    nothing = () if overview.targets else (Preformatted("No notices are sent."),)
    return Document(
        name="perfledger-notices",
        facts={"repository": overview.repository},
        blocks=(
            *nothing,
            table(_TARGET_COLUMNS, overview.targets, key="targets"),
            *((heading("Newest notices"),) if overview.notices else ()),
            table(columns, overview.notices, key="notices", most=MAX_SHOWN),
        ),
    )
