"""Tests where a page ends."""

import pytest

from perfledger_service.store.api_reads.keysets import page_of


@pytest.mark.parametrize(
    ("rows", "items", "last"), [((), (), None), ((1, 2), (1, 2), None), ((1, 2, 3), (1, 2), (2,))]
)
def test_one_row_more_than_a_page_says_that_there_is_another(rows, items, last):
    page = page_of(rows, most=2, key=lambda row: (row,), read=int)

    assert (page.items, page.last) == (items, last)
