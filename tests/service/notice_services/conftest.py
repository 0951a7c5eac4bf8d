"""A notice to send, and servers on this machine that take it."""

from datetime import UTC, datetime

import pytest

from perfledger_service.values.notices.notice import NoticeMessage
from tests.service.servers.notice_servers import Certificates, Webhook, running_server

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def webhook(certificates):
    with running_server(Webhook(certificates.server)) as server:
        yield server


@pytest.fixture
def message():
    return NoticeMessage(
        thread="1-event-3",
        key="1-event-3",
        title="[octo/models] `gpt:step` is 20 % slower",
        markdown="**slower**",
        text="gpt:step is 20 % slower\n\nEvent 3: https://ledger.example/octo/models/events/3\n",
        summary="octo/models: gpt:step is 20 % slower <!channel> & more",
        is_reply=False,
        is_final=False,
        since=NOON,
        written_at=NOON,
    )
