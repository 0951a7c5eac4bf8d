from hypothesis import given, strategies as st

from perfledger_service.rendering.layout.paging import page_of


@given(st.integers(0, 40), st.integers(1, 9))
def test_all_pages_together_are_the_list(count, size):
    first = page_of(range(count), 1, size=size)

    pages = [page_of(range(count), number + 1, size=size) for number in range(first.pages)]

    assert [one for page in pages for one in page.items] == list(range(count))
    assert {page.total for page in pages} == {count}


def test_a_number_past_the_end_is_the_last_page():
    assert page_of("abc", 9, size=2).items == ("c",)
    assert page_of("abc", 9, size=2).number == 2
    assert page_of("", 3, size=2).number == 1
