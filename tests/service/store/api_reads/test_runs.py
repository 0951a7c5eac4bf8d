"""Tests the pages of runs, verdicts, series and points on both databases."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from perfledger_service.store.api_reads.runs import runs_page, verdicts_page
from perfledger_service.store.api_reads.series import points_page, series_page
from perfledger_service.store.api_reads.values import KeysetPage
from perfledger_service.store.database import read_session
from tests.cases import case

PAGES: Mapping[str, Callable[..., KeysetPage[Any]]] = {
    "runs": runs_page,
    "verdicts": verdicts_page,
    "series": series_page,
    "points": lambda session, project, **values: points_page(session, project, 1, **values),
}


@pytest.fixture
def two_runs(any_engine, judged, make_bundle):
    """A database with two runs of a project, and the project's id."""
    judged(any_engine, make_bundle(pairs=4))
    second = judged(any_engine, make_bundle(pairs=4, seed=1), upload_id="2" * 32)
    return any_engine, second.project_id


@pytest.mark.slow
def test_pages_of_one_row_hold_what_one_page_holds(two_runs):
    for name in PAGES:
        with case(name=name):
            engine, project = two_runs
            with read_session(engine) as session:
                whole_page = PAGES[name](session, project, most=100)

                items, after = [], None
                while True:
                    page = PAGES[name](session, project, after=after, most=1)
                    items += page.items
                    after = page.last
                    if after is None:
                        break

            assert whole_page.last is None
            assert len(whole_page.items) > 1
            assert tuple(items) == whole_page.items


def test_another_project_has_no_rows(two_runs):
    for name in PAGES:
        with case(name=name):
            engine, project = two_runs
            with read_session(engine) as session:
                page = PAGES[name](session, project + 1, most=100)

            assert (page.items, page.last) == ((), None)
