"""The fields of GitHub's deliveries: others may be missing, or have another form."""

import json

import pytest

from perfledger_service.errors import UsageError
from perfledger_service.web.delivery_documents import (
    read_check,
    read_comment,
    read_merge_group,
    read_pull_request,
)

REPOSITORY = {"id": 1, "full_name": "octo/models"}


def pull_request(**values):
    document = {"action": "edited", "repository": REPOSITORY, "pull_request": {"number": 7}}
    return read_pull_request(json.dumps(document | values).encode())


def test_an_edit_names_the_base_of_before():
    changes = {"title": {"from": "x"}, "base": {"ref": {"from": "main"}, "sha": {"from": "a" * 40}}}
    changed = {"number": 7, "base": {"ref": "release"}}
    delivery = pull_request(changes=changes, pull_request=changed)

    assert delivery.changes.base.ref.before == "main"
    assert delivery.pull_request.base.ref == "release"


@pytest.mark.parametrize("changes", [None, {}, {"body": {"from": ""}}, {"base": None}])
def test_another_edit_has_no_base_of_before(changes):
    changes = pull_request(changes=changes).changes

    assert changes is None or changes.base is None


@pytest.mark.parametrize("name", ["check_run", "check_suite"])
def test_a_check_has_the_commit_that_it_is_of(name):
    document = {
        "action": "rerequested",
        "repository": REPOSITORY,
        "sender": {"login": "alice", "type": "User"},
        name: {"head_sha": "b" * 40, "pull_requests": []},
    }
    delivery = read_check(json.dumps(document).encode())

    assert (delivery.check_run or delivery.check_suite).head_sha == "b" * 40


@pytest.mark.parametrize("read", [read_check, read_comment, read_merge_group, read_pull_request])
@pytest.mark.parametrize("body", [b"", b"[]", b'{"action": 1}', b"\xff", b"[" * 100_000])
def test_what_is_no_delivery_is_our_error(read, body):
    with pytest.raises(UsageError, match="is not a delivery of"):
        read(body)
