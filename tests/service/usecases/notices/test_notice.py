"""Where a project's notices go: added, changed, bounded, and in the audit log."""

from dataclasses import replace

import pytest

from perfledger_service.errors import ConflictError, UsageError
from perfledger_service.store.events.notices import MAX_TARGETS
from perfledger_service.usecases.notices.notice import notice_overview
from tests.service.usecases.notices.conftest import CHAT, REPOSITORY


def test_a_target_that_is_added_again_changes(any_engine, send_to):
    first = send_to()
    second = send_to(is_early=False, hourly=3)

    assert second == replace(first, is_early=False, hourly=3)
    assert notice_overview(any_engine, REPOSITORY).targets == (second,)


def test_a_project_has_so_many_targets_at_most(send_to):
    for number in range(MAX_TARGETS):
        send_to(address=f"chat-{number}")
    with pytest.raises(ConflictError, match="at most 20 targets"):
        send_to(address="one-more")
    send_to(address="chat-1", hourly=2)


@pytest.mark.parametrize("address", ["", "a b", "x" * 65, "https://hooks.example/x", "ä"])
def test_a_webhook_is_named(send_to, address):
    with pytest.raises(UsageError, match="not its URL"):
        send_to(replace(CHAT, address=address))
