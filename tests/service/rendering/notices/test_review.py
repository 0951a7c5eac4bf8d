"""Tests what is said of a quarter's review."""

from perfledger_service.rendering.layout.writers import to_markdown
from perfledger_service.rendering.notices.review import MAX_PROBLEM, review_notice_document


def test_a_stored_review_says_who_reads_it():
    text = to_markdown(review_notice_document("2026Q3", ""))

    assert "The review of 2026Q3 is stored" in text
    assert "maintainers" in text


def test_a_problem_says_what_is_missing_and_what_happens_next():
    text = to_markdown(review_notice_document("2026Q3", "there is no file bill.csv."))

    assert "The review of 2026Q3 is not decided" in text
    assert "there is no file `bill.csv`" in text
    assert "tries again every day" in text


def test_a_problem_is_neither_a_link_nor_endless():
    link = to_markdown(review_notice_document("2026Q3", "[x](https://evil.example) @octo `a`"))
    long = to_markdown(review_notice_document("2026Q3", "y" * 10**6))

    assert "Reason: `[x](https://evil.example) @octo` `a`" in link  # as code
    assert len(long) < 2 * MAX_PROBLEM
