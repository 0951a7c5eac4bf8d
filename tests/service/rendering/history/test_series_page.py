from dataclasses import replace

import pytest

from perfledger.metrics import WorseDirection
from perfledger_service.rendering.history.series_page import change_rows, series_page


def test_a_page_has_the_newest_commits_and_leads_to_the_older_ones(history):
    first, last = series_page(history), series_page(history, page=2)

    assert 'href="/series/1?page=2"' in first
    assert 'href="/series/1?page=1"' in last
    assert "cb00000000" in first
    assert "cb00000000" not in last.partition("Commits, newest first")[2]


def test_a_head_leads_to_its_pull_request(history):
    assert 'of <a href="/acme/models/pull/51">#51</a>' in series_page(history)


@pytest.mark.parametrize(
    ("worse", "word"), [(WorseDirection.HIGHER, "worse"), (WorseDirection.LOWER, "better")]
)
def test_a_change_is_worse_or_better_by_the_metric(history, worse, word):
    (row,) = change_rows(replace(history, series=replace(history.series, worse=worse)))

    assert (row.word, row.size) == (word, "+14.6\u00a0%")
    assert row.commits == "7b00000000..8b00000000"


def test_a_series_that_did_not_move_says_so(history):
    assert "has not changed" in series_page(replace(history, changes=(), new_machines=()))
