import json

from perfledger_service.rendering.layout.writers import plain_lines, to_json, to_terminal
from perfledger_service.rendering.server.retry import RetriedUploadRow, retried_document

ROW = RetriedUploadRow(
    upload_id="1" * 32,
    repository="octo/[red]models",
    pull_request=None,
    status="failed",
    reason="GitHub answered 502",
)


def test_an_upload_is_shown_by_the_beginning_of_its_id_and_names_are_no_markup():
    shown_plain_lines = plain_lines(to_terminal(retried_document([ROW])))

    assert "11111111" in shown_plain_lines
    assert "1" * 9 not in shown_plain_lines
    assert "octo/[red]models" in shown_plain_lines


def test_json_has_the_whole_id_and_null_without_a_pull_request():
    (row,) = json.loads(to_json(retried_document([ROW])))["uploads"]

    assert (row["upload_id"], row["pull_request"]) == ("1" * 32, None)


def test_without_uploads_it_says_so():
    assert "No upload failed, and none is waiting." in plain_lines(
        to_terminal(retried_document([]))
    )
