"""Mail to a real SMTP server on this machine, encrypted at once and with STARTTLS."""

from dataclasses import replace
from email import message_from_bytes, policy

import pytest
from pydantic import SecretStr

from perfledger_service.errors import NoticeServiceError, SettingsError
from perfledger_service.notice_services.mail import (
    PORTS,
    MailSender,
    is_address,
    read_mail_server,
)
from tests.service.servers.notice_servers import PASSWORD, USER, MailServerStandIn, running_server

SENDER, TEAM = "perf@example.com", "team@example.com"


@pytest.fixture(params=["smtps", "smtp"])
def mail_server(request, certificates):
    server = MailServerStandIn(certificates.server, is_encrypted_at_once=request.param == "smtps")
    with running_server(server):
        yield server


@pytest.fixture
def sender(mail_server, certificates):
    return a_sender(mail_server, certificates)


def a_sender(server, certificates, *, password=PASSWORD):
    url = f"{server.scheme}://{USER}:{password}@localhost:{server.port}"
    return MailSender(read_mail_server(SecretStr(url), SENDER), tls=certificates.client)


def sent(server):
    return [message_from_bytes(one[2], policy=policy.default) for one in server.received]


def test_mail_is_sent_encrypted_and_answers_go_to_its_thread(sender, mail_server, message):
    sender.send(TEAM, message)
    sender.send(TEAM, replace(message, key="1-event-3-2", is_reply=True))

    envelopes = [(one[0], *one[1]) for one in mail_server.received]
    # smtplib's commands differ in case by the version of Python; SMTP does not tell them apart.
    assert [[line.lower() for line in envelope] for envelope in envelopes] == [
        [f"mail from:<{SENDER}>", f"rcpt to:<{TEAM}>"]
    ] * 2
    first, reply = sent(mail_server)
    assert (first["From"], first["To"], first["Subject"]) == (SENDER, TEAM, message.title)
    assert first["Auto-Submitted"] == "auto-generated"
    assert first.get_content().replace("\r\n", "\n") == message.text
    assert reply["In-Reply-To"] == first["Message-ID"] != reply["Message-ID"]
    assert first["In-Reply-To"] is None
    secrets = {is_encrypted for command, is_encrypted in mail_server.commands if command == "AUTH"}
    assert secrets == {True}


def test_a_message_that_is_sent_again_has_the_same_id(sender, mail_server, message):
    sender.send(TEAM, message)
    sender.send(TEAM, message)

    first, again = sent(mail_server)
    assert first["Message-ID"] == again["Message-ID"]


@pytest.mark.parametrize("word", ["=?utf-8?q?a=0d=0aX-Evil:_1?=", "=?utf-8?b?YQ0KWC1FdmlsOiAx?="])
def test_an_encoded_word_in_a_name_is_no_header(sender, mail_server, message, word):
    title = f"[octo/models] {word} is 20 % slower"
    sender.send(TEAM, replace(message, title=title))

    [mail] = sent(mail_server)
    assert mail["X-Evil"] is None
    assert mail["Subject"] == title.replace("=?", "= ?")
    assert mail.get_content().replace("\r\n", "\n") == message.text


@pytest.mark.parametrize(
    ("command", "reply", "words", "is_transient"),
    [
        ("RCPT", b"550 nobody\r\n", "rejected the recipient team@example.com (550)", False),
        ("RCPT", b"450 later\r\n", "rejected the recipient team@example.com (450)", True),
        ("DATA", b"554 spam\r\n", "refused a message (554)", False),
        ("MAIL", b"451 busy\r\n", "refused a message (451)", True),
        ("MAIL", b"not smtp at all\r\n", "refused a message (-1)", True),
    ],
)
def test_a_refusal_says_what_and_whether_to_try_again(
    sender, mail_server, message, *, command, reply, words, is_transient
):
    mail_server.refusals[command] = reply
    with pytest.raises(NoticeServiceError) as caught:
        sender.send(TEAM, message)

    assert words in str(caught.value)
    assert caught.value.is_transient is is_transient
    assert mail_server.received == []


def test_a_wrong_password_is_not_quoted(mail_server, certificates, message):
    sender = a_sender(mail_server, certificates, password="canary")
    with pytest.raises(NoticeServiceError, match="rejected the user") as caught:
        sender.send(TEAM, message)

    assert "canary" not in str(caught.value)


def test_nothing_is_said_to_a_server_that_does_not_encrypt(certificates, message):
    server = MailServerStandIn(certificates.server, is_encrypted_at_once=False, has_starttls=False)
    with running_server(server), pytest.raises(NoticeServiceError, match="did not accept the mail"):
        a_sender(server, certificates).send(TEAM, message)

    assert {command for command, _ in server.commands} <= {"EHLO", "QUIT"}


def test_nothing_is_said_to_a_server_that_nobody_vouches_for(mail_server, message):
    url = SecretStr(f"{mail_server.scheme}://{USER}:{PASSWORD}@localhost:{mail_server.port}")
    with pytest.raises(NoticeServiceError, match="SSLCertVerificationError"):
        MailSender(read_mail_server(url, SENDER)).send(TEAM, message)

    assert "AUTH" not in {command for command, _ in mail_server.commands}


def test_no_mail_is_sent_without_a_server(message):
    with pytest.raises(NoticeServiceError, match="without PERFLEDGER_SMTP_URL"):
        MailSender(read_mail_server(None, "")).send(TEAM, message)


def test_a_url_gives_host_port_user_and_password():
    server = read_mail_server(SecretStr("smtps://a%40b:p%3Aw@mail.example"), SENDER)

    assert server is not None
    assert (server.host, server.port, server.user) == ("mail.example", PORTS["smtps"], "a@b")
    assert server.password.get_secret_value() == "p:w"


@pytest.mark.parametrize(
    ("url", "sender", "words"),
    [
        ("http://user:canary@mail.example", SENDER, "PERFLEDGER_SMTP_URL is not smtps"),
        ("smtps://user:canary@", SENDER, "PERFLEDGER_SMTP_URL"),
        ("smtps://user:canary@mail.example:99999", SENDER, "PERFLEDGER_SMTP_URL"),
        ("smtps://user:canary%C3%A4@mail.example", SENDER, "PERFLEDGER_SMTP_URL"),
        ("smtps://user:canary%00@mail.example", SENDER, "PERFLEDGER_SMTP_URL"),
        ("smtps://user:canary@mail.example", "", "PERFLEDGER_SMTP_SENDER"),
        ("smtps://user:canary@mail.example", "a@b\r\nBcc: c@d", "PERFLEDGER_SMTP_SENDER"),
    ],
)
def test_settings_that_are_wrong_are_refused_and_not_quoted(url, sender, words):
    with pytest.raises(SettingsError, match=words) as caught:
        read_mail_server(SecretStr(url), sender)

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a@",
        "@b",
        "a b@c",
        "a@b, c@d",
        "a@b>",
        "<a@b>",
        "a@b\r\nRCPT TO:<x@y>",
        "a@" + "b" * 300,
    ],
)
def test_what_is_not_one_address_is_refused(text):
    assert not is_address(text)
