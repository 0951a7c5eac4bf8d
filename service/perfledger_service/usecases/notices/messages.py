"""Writes the messages of notices from the data stored when they are sent."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_service.errors import NotFoundError
from perfledger_service.rendering.layout import writers
from perfledger_service.rendering.layout.document import (
    Document,
    Paragraph,
    sentences,
    title,
)
from perfledger_service.rendering.layout.escape import clean, link, path, prose
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.rendering.notices.event import (
    MAX_TITLE,
    EventNotice,
    event_notice_document,
)
from perfledger_service.rendering.notices.price import price_notice_document
from perfledger_service.rendering.notices.review import review_notice_document
from perfledger_service.rendering.server.event import MAX_SHOWN, triage_document
from perfledger_service.store.database import read_session
from perfledger_service.store.events.events import event_by_id
from perfledger_service.store.gate_checks import RED_CONCLUSION
from perfledger_service.store.projects import Project
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.events.event import triage
from perfledger_service.usecases.notices.reviews import REVIEW_KEY
from perfledger_service.usecases.notices.stale_prices import outdated_prices
from perfledger_service.values.notices.notice import Notice, NoticeMessage, NoticeSubject

# GitHub takes 65,536 characters; the limit is in bytes, which are never fewer, with room for a
# marker.
MAX_MARKDOWN_BYTES = 65_000
# Rows in each part of a triage report, fewer if it would be too long.
_ROWS = (MAX_SHOWN, 10, 3)
_TRIAGE_PERIOD = timedelta(days=7)
_FINAL = frozenset(
    {
        NoticeSubject.FIXED,
        NoticeSubject.EXPECTED,
        NoticeSubject.ENVIRONMENT,
        NoticeSubject.NOT_FOUND,
    }
)


def message_of(
    engine: Engine, project: Project, notice: Notice, *, public_url: str, now: datetime
) -> NoticeMessage:
    """Return the message of a notice."""
    site = f"{public_url}/{path(project.repository)}"
    match notice.subject:
        case NoticeSubject.TRIAGE:
            report = triage(engine, project.repository, period=_TRIAGE_PERIOD, now=now)
            documents = [triage_document(report, most=most) for most in _ROWS]
            links = {"Triage": site}
        case NoticeSubject.SUMMARY:
            documents = [_summary_document(notice.count)]
            links = {"Triage": site}
        case NoticeSubject.PRICES:
            documents = [price_notice_document(outdated_prices(today=now.date()))]
            links = {"Prices": f"{public_url}/admin/prices?stale=true"}
        case NoticeSubject.REVIEW:
            quarter = notice.key.removeprefix(REVIEW_KEY)
            documents = [review_notice_document(quarter, notice.cause)]
            links = {"Reviews": f"{site}/reviews"}
        case _:
            with read_session(engine) as session:
                event_notice = _event_notice(session, project, notice)
            documents = [event_notice_document(event_notice)]
            links = {f"Event {notice.event_id}": f"{site}/events/{notice.event_id}"}
            if event_notice.headline:
                links["Check"] = f"{public_url}/runs/{notice.upload_id}"
    return _message(project, notice, documents, links, now=now)


def _message(
    project: Project,
    notice: Notice,
    documents: Sequence[Document],
    links: Mapping[str, str],
    *,
    now: datetime,
) -> NoticeMessage:
    """Return the message of the first document whose Markdown fits."""
    headline, thread = (
        clean(_first_line(documents[0]), limit=MAX_TITLE),
        f"{notice.id}-{notice.key}",
    )
    is_reply = notice.edition > 1
    lines = [f"{name}: {url}" for name, url in links.items()]
    plain_text = writers.plain_lines(writers.to_terminal(documents[0]))
    return NoticeMessage(
        thread=thread,
        key=f"{thread}-{notice.edition}" if is_reply else thread,
        title=clean(f"[{project.repository}] {headline}", limit=MAX_TITLE),
        markdown=_fitting_markdown(documents, links),
        text="\n".join((plain_text, *lines, "")),
        summary="\n".join((f"{project.repository}: {_for_chats(headline)}", *lines)),
        is_reply=is_reply,
        is_final=notice.subject in _FINAL,
        since=notice.queued_at,
        written_at=now,
    )


def _for_chats(headline: str) -> str:
    """Return a headline with names as code; Slack cannot quote a name that has a backtick."""
    return prose(headline.replace("`", "'"), limit=MAX_TITLE, in_table=False)


def _fitting_markdown(documents: Sequence[Document], links: Mapping[str, str]) -> str:
    targets = (f"[{name}]({link(url)})" for name, url in links.items() if link(url))
    last_line = " · ".join(targets)
    text = ""
    for document in documents:
        text = f"{writers.to_markdown(document)}\n{last_line}\n"
        if len(text.encode()) <= MAX_MARKDOWN_BYTES:
            break
    return text  # the last document has few rows, each with a limit


def _first_line(document: Document) -> str:
    first = document.blocks[0]
    return first.text if isinstance(first, Paragraph) else ""


def _event_notice(session: Session, project: Project, notice: Notice) -> EventNotice:
    view = event_by_id(session, project.id, notice.event_id or 0)
    headline = ""
    if notice.upload_id:
        with suppress(NotFoundError):  # its retention period is over
            upload = upload_by_id(session, notice.upload_id)
            headline = upload.headline if upload.conclusion == RED_CONCLUSION else ""
    return EventNotice(
        view=view,
        subject=notice.subject,
        headline=headline,
        is_again=notice.edition > 1,
    )


def _summary_document(count: int) -> Document:
    """Return the message that stands for the events beyond a target's quota."""
    regressions = quantity(count, "more regression")
    return Document(
        name="",
        blocks=(
            title(f"And {regressions}"),
            *sentences(("more were found at once than the hourly limit of notices",)),
        ),
    )
