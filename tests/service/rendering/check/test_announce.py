import json
from datetime import UTC, datetime

from perfledger_runners.bundles.check_announcement import AnnouncedCheck, AnnouncedClass
from perfledger_service.rendering.check.announce import announced_document
from perfledger_service.rendering.layout.writers import plain_lines, to_json, to_terminal

ANNOUNCED = AnnouncedCheck(
    repository="octo/models",
    pull_request=7,
    head_sha="b" * 40,
    classes=(AnnouncedClass("cuda:*[red]H100*:1", datetime(2026, 11, 20, 18, tzinfo=UTC)),),
)


def test_the_classes_are_listed_with_their_deadlines_and_are_no_markup():
    shown_plain_lines = plain_lines(to_terminal(announced_document(ANNOUNCED)))

    assert "octo/models#7 at bbbbbbbbbbbb is announced" in shown_plain_lines
    assert "cuda:*[red]H100*:1" in shown_plain_lines
    assert "2026-11-20 18:00 UTC" in shown_plain_lines


def test_json_has_the_whole_hash_and_deadlines_in_iso_8601():
    document = json.loads(to_json(announced_document(ANNOUNCED)))

    assert document["head_sha"] == "b" * 40
    assert document["classes"][0]["deadline"] == "2026-11-20T18:00:00+00:00"
