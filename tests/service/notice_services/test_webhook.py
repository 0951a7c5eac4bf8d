"""Webhooks over real https on this machine: what is sent, and where nothing is."""

import json
import socket
import threading

import pytest
from pydantic import SecretStr

from perfledger_service.errors import NoticeServiceError, SettingsError
from perfledger_service.notice_services.webhook import (
    MAX_TEXT,
    WebhookSender,
    is_public,
    read_webhooks,
    slack_text,
)


@pytest.fixture
def sender(webhook, certificates):
    return WebhookSender(
        {"chat": SecretStr(webhook.url)}, allows_private=True, tls=certificates.client
    )


def test_a_message_is_sent_as_slack_reads_it(sender, webhook, message):
    sender.send("chat", message)

    [(path, headers, body)] = webhook.received
    assert path == "/services/T0/canary"
    assert headers["Content-Type"] == "application/json"
    assert headers["Host"] == f"localhost:{webhook.server_port}"
    assert json.loads(body) == {
        "text": "octo/models: gpt:step is 20 % slower &lt;!channel&gt; &amp; more"
    }


@pytest.mark.parametrize(
    ("answer", "words", "is_transient", "wait_s"),
    [
        ((404, {}, b"no_service"), "'chat' answered 404: no_service", False, None),
        ((429, {"Retry-After": "30"}, b""), "'chat' answered 429", True, 30.0),
        ((429, {"Retry-After": "9" * 40}, b""), "answered 429", True, 3600.0),
        ((500, {"Retry-After": "-1"}, b"\x00\xff\r\nSet: x"), "answered 500", True, None),
        ((302, {"Location": "http://169.254.169.254/"}, b""), "answered 302", False, None),
        ((400, {}, b"x" * 10_000_000), "answered 400: xxx", False, None),
    ],
)
def test_a_refusal_says_why_and_whether_to_try_again(
    sender, webhook, message, *, answer, words, is_transient, wait_s
):
    webhook.answers.append(answer)
    with pytest.raises(NoticeServiceError) as caught:
        sender.send("chat", message)

    assert words in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300
    assert (caught.value.is_transient, caught.value.wait_s) == (is_transient, wait_s)
    assert "canary" not in str(caught.value)
    assert len(webhook.received) == 1


def test_an_answer_that_breaks_off_after_its_status_is_one(sender, webhook, message):
    webhook.answers.append((200, {"Content-Length": "100"}, b"o"))
    sender.send("chat", message)

    assert len(webhook.received) == 1


def test_a_server_that_does_not_end_its_answer_holds_nobody(webhook, certificates, message):
    is_over = threading.Event()

    def drip(handler):
        while not is_over.wait(0.01):
            handler.wfile.write(b"H")

    webhook.answers.append((200, {}, drip))
    sender = WebhookSender(
        {"chat": SecretStr(webhook.url)},
        allows_private=True,
        tls=certificates.client,
        max_seconds=0.1,
    )
    with pytest.raises(NoticeServiceError, match="did not answer") as caught:
        sender.send("chat", message)
    is_over.set()

    assert caught.value.is_transient


def test_no_address_is_connected_to_after_the_end_of_a_request(certificates, message):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/hook"
        sender = WebhookSender(
            {"chat": SecretStr(url)}, allows_private=True, tls=certificates.client, max_seconds=0.0
        )
        with pytest.raises(NoticeServiceError, match=r"did not answer \(TimeoutError\)"):
            sender.send("chat", message)

        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_private_address_is_not_connected_to(webhook, certificates, message):
    sender = WebhookSender({"chat": SecretStr(webhook.url)}, tls=certificates.client)
    with pytest.raises(NoticeServiceError, match="private address") as caught:
        sender.send("chat", message)

    assert not caught.value.is_transient
    assert webhook.received == []


def test_a_server_that_nobody_vouches_for_gets_nothing(webhook, message):
    sender = WebhookSender({"chat": SecretStr(webhook.url)}, allows_private=True)
    with pytest.raises(NoticeServiceError, match="SSLCertVerificationError") as caught:
        sender.send("chat", message)

    assert webhook.received == []
    assert "canary" not in str(caught.value)


def test_a_webhook_that_the_settings_lack_is_named(message):
    with pytest.raises(NoticeServiceError, match="PERFLEDGER_NOTICE_WEBHOOKS has no webhook 'x'"):
        WebhookSender({}).send("x", message)


def test_nobody_listens(certificates, message):
    sender = WebhookSender(
        {"chat": SecretStr("https://localhost:1/canary")},
        allows_private=True,
        tls=certificates.client,
    )
    with pytest.raises(NoticeServiceError, match="did not answer \\(ConnectionRefused") as caught:
        sender.send("chat", message)

    assert caught.value.is_transient


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("64:ff9b::808:808", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00:ec2::254", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("::127.0.0.1", False),
        ("::ffff:0:7f00:1", False),
        ("64:ff9b:1::a00:1", False),
        ("fec0::1", False),
        ("nothing", False),
    ],
)
def test_only_addresses_of_the_internet_are_public(address, expected):
    assert is_public(address) is expected


def test_webhooks_are_read_by_their_names():
    webhooks = read_webhooks(
        SecretStr(" chat=https://a.example/x?y=z \n on-call=https://b.example ")
    )

    assert {name: one.get_secret_value() for name, one in webhooks.items()} == {
        "chat": "https://a.example/x?y=z",
        "on-call": "https://b.example",
    }
    assert read_webhooks(None) == {}


@pytest.mark.parametrize(
    "entry",
    [
        "https://a.example/canary",
        "chat=http://a.example/canary",
        "chat=file:///canary",
        "chat=https://user:canary@a.example/",
        "chat=https:///canary",
        "chat=https://a.example:99999/canary",
        "chat=https://a.example:0/canary",
        "=https://a.example/canary",
        "chat=https://ä.example/canary",
        "a/b=https://a.example/canary",
    ],
)
def test_a_setting_that_is_wrong_is_refused_and_not_quoted(entry):
    with pytest.raises(SettingsError, match="entry 2 is not NAME=https") as caught:
        read_webhooks(SecretStr(f"fine=https://a.example {entry}"))

    assert "canary" not in str(caught.value)


def test_a_long_text_is_cut():
    assert len(slack_text("x" * 2 * MAX_TEXT)) == MAX_TEXT + 1
