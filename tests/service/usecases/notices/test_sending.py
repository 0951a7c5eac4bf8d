"""Notices to a webhook, a mail server and the stand-in for GitHub, all over real connections."""

import json
from dataclasses import replace
from datetime import timedelta
from email import message_from_bytes, policy

import pytest
from pydantic import SecretStr

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.errors import GitHubError, NoticeServiceError
from perfledger_service.notice_services.mail import MailSender, read_mail_server
from perfledger_service.notice_services.webhook import WebhookSender
from perfledger_service.store.database import read_session
from perfledger_service.store.events.notices import notices_of
from perfledger_service.usecases.notices.notice import end_target
from perfledger_service.usecases.notices.queue import queue_notices
from perfledger_service.usecases.notices.sending import (
    NoticeSenders,
    fail_notice,
    record_sent,
    send_notice,
)
from perfledger_service.values.notices.notice import NoticeChannel, NoticeStatus, NoticeTarget
from perfledger_service.values.people.person import Actor
from tests.service.servers.notice_servers import PASSWORD, USER, MailServerStandIn, running_server
from tests.service.usecases.notices.conftest import REPOSITORY, an_event, changed, sha

SITE = "https://ledger.example"
EVENT_URL = f"{SITE}/octo/models/events/2"
HOUR = timedelta(hours=1)
HOSTILE = "gpt:step[x='<!channel> @everyone ](https://evil.example) `']"
MAIL = NoticeTarget(channel=NoticeChannel.MAIL, address="team@example.com", is_early=True)
ISSUE = NoticeTarget(channel=NoticeChannel.ISSUE, is_early=True)


@pytest.fixture
def mail_server(certificates):
    with running_server(
        MailServerStandIn(certificates.server, is_encrypted_at_once=True)
    ) as server:
        yield server


@pytest.fixture
def senders(certificates, webhook, mail_server, github, at_github):
    at_github.open_pull()
    url = SecretStr(f"smtps://{USER}:{PASSWORD}@localhost:{mail_server.port}")
    return NoticeSenders(
        webhooks=WebhookSender(
            {"chat": SecretStr(webhook.url)}, allows_private=True, tls=certificates.client
        ),
        mail=MailSender(read_mail_server(url, "perf@example.com"), tls=certificates.client),
        issues=github.issues,
    )


@pytest.fixture
def send_all(any_engine, senders, now):
    """Queue and send what is to be sent at a time, and return the work."""

    def send_all(*, now=now):
        works = queue_notices(any_engine, now=now)
        for work in works:
            reference = send_notice(
                any_engine, work, senders=senders, public_url=SITE, now=lambda: now
            )
            assert reference is not None
            record_sent(any_engine, work, reference, now=lambda: now)
        return works

    return send_all


@pytest.fixture
def notices(any_engine, project):
    def notices():
        with read_session(any_engine) as session:
            return notices_of(session, project.id)

    return notices


def texts(webhook):
    return [json.loads(body)["text"] for _, _, body in webhook.received]


def mails(server):
    return [message_from_bytes(one[2], policy=policy.default) for one in server.received]


@pytest.fixture
def notified_event(send_to, save, send_all, *, judged, make_bundle, any_engine):
    """An event that a pull request's check confirms, told everywhere."""
    upload = judged(any_engine, make_bundle(pairs=4))
    send_to()
    send_to(MAIL)
    send_to(ISSUE)
    event = save(an_event(pull_request=7, merged_sha=sha(5), measured_series=(changed(),)))
    assert len(send_all()) == 3
    return event, upload


def test_a_notice_has_the_comments_words_where_it_happened_and_where_to_decide(
    notified_event, webhook, mail_server, at_github
):
    _, upload = notified_event
    assert upload.headline

    [text] = texts(webhook)
    [mail] = mails(mail_server)
    [issue] = at_github.state["issues"].values()
    for output in (text, mail.get_content(), issue["body"]):
        assert "20.0" in output
        assert EVENT_URL in output
        assert f"{SITE}/runs/{upload.id}" in output
    assert upload.headline.split()[0] in text
    assert mail["Subject"].startswith("[octo/models] ")
    assert "up to 000000000000" in mail.get_content().replace("\r\n", " ")
    assert issue["body"].startswith("<!-- perfledger:notice:3-event-2 -->\n")
    assert "| workload" in issue["body"]
    assert issue["labels"] == [{"name": "performance"}]


def test_the_end_is_told_where_the_beginning_was(
    notified_event, save, send_all, *, webhook, mail_server, at_github, now
):
    event, _ = notified_event
    save(replace(event, state=EventState.FIXED, fixed_sha=sha(9)))
    assert len(send_all(now=now + HOUR)) == 3
    assert send_all(now=now + 2 * HOUR) == ()

    assert texts(webhook)[1].startswith("octo/models: Fixed: 000000000000")
    first, second = mails(mail_server)
    assert second["In-Reply-To"] == first["Message-ID"]
    [issue] = at_github.state["issues"].values()
    assert issue["state"] == "closed"
    [comment] = at_github.comments
    assert comment["number"] == issue["number"]
    assert "Fixed" in comment["body"]

    save(event)
    send_all(now=now + 3 * HOUR)
    assert issue["state"] == "open"
    assert "It is back" in at_github.comments[1]["body"]
    assert len(at_github.state["issues"]) == 1


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"state": EventState.EXPECTED, "set_by": "alice", "reason": "safer"}, "Expected from now"),
        ({"state": EventState.ENVIRONMENT}, "The machines changed, not the code"),
        ({"is_detected": False}, "No longer found"),
    ],
)
def test_why_it_is_over_is_said(notified_event, save, send_all, *, webhook, now, state, words):
    event, _ = notified_event
    save(replace(event, **state))
    send_all(now=now + HOUR)

    assert words in texts(webhook)[1]


def test_hostile_names_mention_and_link_nothing(
    send_to, save, send_all, *, webhook, mail_server, at_github
):
    send_to()
    send_to(MAIL)
    send_to(ISSUE)
    save(an_event(5, changed(HOSTILE), changed(f"a\r\nBcc: x@y.example{HOSTILE}")))
    send_all()

    [text] = texts(webhook)
    assert "<!channel>" not in text
    outside_of_code = "".join(text.partition("\n")[0].split("`")[::2])
    assert "@" not in outside_of_code
    assert "evil.example" not in outside_of_code
    [mail] = mails(mail_server)
    assert set(mail.keys()) >= {"Subject", "From", "To"}
    assert mail["Bcc"] is None
    [issue] = at_github.state["issues"].values()
    for line in issue["body"].splitlines():
        outside = "".join(part for place, part in enumerate(line.split("``")) if place % 2 == 0)
        assert "@everyone" not in outside


def test_an_end_whose_beginning_failed_is_an_issue_that_is_closed(
    any_engine, send_to, save, send_all, *, at_github, now
):
    send_to(ISSUE)
    event = save(an_event())
    [work] = queue_notices(any_engine, now=now)
    fail_notice(any_engine, work, "no answer", is_final=True)
    save(replace(event, state=EventState.FIXED, fixed_sha=sha(9)))
    assert len(send_all(now=now + HOUR)) == 1

    [issue] = at_github.state["issues"].values()
    assert "Fixed" in issue["title"]
    assert issue["state"] == "closed"


def test_an_issue_whose_answer_was_lost_is_found_again(
    any_engine, send_to, save, *, senders, at_github, now
):
    send_to(ISSUE)
    save(an_event())
    [work] = queue_notices(any_engine, now=now)
    at_github.fail_next(method="POST", path="/issues", drop="after")
    with pytest.raises(GitHubError):
        send_notice(any_engine, work, senders=senders, public_url=SITE, now=lambda: now)
    for _ in range(2):
        send_notice(any_engine, work, senders=senders, public_url=SITE, now=lambda: now)

    assert len(at_github.state["issues"]) == 1


def test_an_issue_that_people_deleted_is_not_opened_again(
    notified_event, save, send_all, *, at_github, notices, now
):
    event, _ = notified_event
    at_github.state["issues"].clear()
    save(replace(event, state=EventState.FIXED, fixed_sha=sha(9)))
    send_all(now=now + HOUR)

    assert at_github.state["issues"] == {}
    assert {one.status for one in notices()} == {NoticeStatus.SENT}


def test_the_weekly_report_is_one_issue_that_each_week_comments(
    send_to, save, send_all, *, at_github, webhook, mail_server, now
):
    for target in (ISSUE, MAIL):
        send_to(target, is_weekly=True, now=now - timedelta(days=14))
    send_to(is_weekly=True, now=now - timedelta(days=14))
    save(an_event())
    send_all()
    send_all(now=now + timedelta(days=7))

    reports = [one for one in at_github.state["issues"].values() if "to decide" in one["title"]]
    [report] = reports
    assert "1 regression to decide" in report["title"]
    assert [one["number"] for one in at_github.comments] == [report["number"]]
    subjects = [one["Subject"] for one in mails(mail_server) if "to decide" in one["Subject"]]
    assert len(subjects) == 2
    assert len({one["Message-ID"] for one in mails(mail_server)}) == len(mails(mail_server))
    assert f"{SITE}/octo/models" in texts(webhook)[-1]


def test_a_notice_to_a_removed_target_is_not_sent(
    any_engine, send_to, save, *, senders, webhook, now
):
    target = send_to()
    save(an_event())
    [work] = queue_notices(any_engine, now=now)
    end_target(
        any_engine,
        REPOSITORY,
        target.channel,
        target.address,
        actor=Actor(name="operator"),
        now=now,
    )
    send_notice(any_engine, work, senders=senders, public_url=SITE)
    fail_notice(any_engine, work, "late", is_final=True)

    assert webhook.received == []


def test_a_target_that_was_removed_and_added_is_told_again(
    any_engine, send_to, save, send_all, *, mail_server, now
):
    target = send_to(MAIL)
    event = save(an_event())
    first = send_all()
    save(replace(event, state=EventState.ACKNOWLEDGED))
    end_target(
        any_engine,
        REPOSITORY,
        target.channel,
        target.address,
        actor=Actor(name="operator"),
        now=now,
    )
    send_to(MAIL)
    save(event)
    second = send_all()

    assert len({work.id for work in first + second}) == 2
    assert len({mail["Message-ID"] for mail in mails(mail_server)}) == 2


def test_why_a_notice_waits_or_failed_is_kept(any_engine, send_to, save, notices, now):
    send_to()
    save(an_event())
    [work] = queue_notices(any_engine, now=now)
    fail_notice(any_engine, work, "the webhook 'chat' answered 503", is_final=False)
    [notice] = notices()
    assert (notice.status, notice.problem) == (
        NoticeStatus.QUEUED,
        "the webhook 'chat' answered 503",
    )

    fail_notice(any_engine, work, "x" * 9999, is_final=True)
    [notice] = notices()
    assert (notice.status, len(notice.problem)) == (NoticeStatus.FAILED, 500)
    assert queue_notices(any_engine, now=now + HOUR) == ()


def test_an_issue_needs_github(any_engine, send_to, save, senders, now):
    send_to(ISSUE)
    save(an_event())
    [work] = queue_notices(any_engine, now=now)
    with pytest.raises(NoticeServiceError, match="without GitHub") as caught:
        send_notice(any_engine, work, senders=replace(senders, issues=None), public_url=SITE)

    assert caught.value.is_transient
