"""The list of a project's notices."""

from perfledger_service.rendering.layout.writers import to_markdown
from perfledger_service.rendering.server.notice import notices_document
from perfledger_service.values.notices.notice import (
    Notice,
    NoticeChannel,
    NoticeOverview,
    NoticeStatus,
    NoticeSubject,
    NoticeTarget,
)


def test_a_notice_that_waits_says_where_to_and_why(now):
    target = NoticeTarget(
        channel=NoticeChannel.WEBHOOK, address="chat", is_weekly=True, id=2, created_at=now
    )
    notice = Notice(
        id=1,
        project_id=1,
        target_id=2,
        key="event-3",
        subject=NoticeSubject.OPEN,
        status=NoticeStatus.QUEUED,
        edition=1,
        queued_at=now,
        event_id=3,
        problem="the webhook 'chat' answered 503",
    )
    overview = NoticeOverview(repository="octo/models", targets=(target,), notices=(notice,))
    text = to_markdown(notices_document(overview))

    assert "confirmed regressions, weekly report" in text
    assert "webhook chat" in text
    assert "answered 503" in text


def test_nothing_is_said_so():
    overview = NoticeOverview(repository="octo/models", targets=(), notices=())

    assert "No notices are sent." in to_markdown(notices_document(overview))
