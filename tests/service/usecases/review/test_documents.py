"""Tests writing a review's documents into a folder."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from perfledger_cost_models.review.document import UnknownFigure
from perfledger_service.errors import UsageError
from perfledger_service.usecases.review.document_format import ReviewFormat
from perfledger_service.usecases.review.documents import write_review

pytestmark = pytest.mark.slow  # the example takes a second to build

EXAMPLE = Path(__file__).parents[4] / "examples" / "review"
TEXTS = (ReviewFormat.HTML, ReviewFormat.JSON, ReviewFormat.CSV)
NAMES = ("review.html", "review.json", "focus.csv")


@pytest.fixture
def write(example, tmp_path):
    """Write documents of the example, or of another review, and return what is said of them."""

    def write(*forms, of=example):
        return list(write_review(of, tmp_path / "out", forms=forms))

    return write


@pytest.fixture
def without_bill(example):
    return replace(
        example,
        allocation=UnknownFigure(name="allocation", reason="no bill", remedy="--bill"),
    )


def written(tmp_path):
    return {path.name for path in (tmp_path / "out").iterdir()}


@pytest.mark.slow(ci_only=True)
def test_the_decision_comes_first_then_a_line_for_each_document(write, example, tmp_path):
    take, why, *paths = write(*TEXTS)

    assert example.choice.option.name in take
    assert why.endswith(".")
    attached = str(tmp_path / "out" / "attachments" / "quote.csv")
    assert paths == [*(str(tmp_path / "out" / name) for name in NAMES), attached]
    assert written(tmp_path) == {*NAMES, "attachments"}


def test_an_attached_file_is_copied_unchanged(write, tmp_path):
    write(ReviewFormat.JSON)

    copied = tmp_path / "out" / "attachments" / "quote.csv"
    assert copied.read_bytes() == (EXAMPLE / "quote.csv").read_bytes()


def test_each_document_is_of_its_format(write, tmp_path):
    write(*TEXTS)

    page, document, rows = ((tmp_path / "out" / name).read_text() for name in NAMES)
    assert page.startswith("<!doctype html>")
    assert json.loads(document)["quarter"] == "2026Q3"
    assert "EffectiveCost" in rows.partition("\n")[0].split(",")


def test_a_format_that_is_named_twice_is_written_once(write):
    assert len(write(ReviewFormat.JSON, ReviewFormat.JSON)) == 4


def test_documents_that_are_there_are_replaced(write, tmp_path):
    write(ReviewFormat.JSON)
    (tmp_path / "out" / "review.json").write_text("old")

    write(ReviewFormat.JSON)

    assert json.loads((tmp_path / "out" / "review.json").read_text())["quarter"] == "2026Q3"


def test_without_a_bill_there_are_no_rows_and_a_line_says_so(write, without_bill, tmp_path):
    *_, line, _ = write(ReviewFormat.CSV, of=without_bill)

    assert "focus.csv: not written, because it needs --bill" in line
    assert written(tmp_path) == {"attachments"}


@pytest.mark.parametrize("form", [ReviewFormat.XLSX, ReviewFormat.PDF])
def test_without_its_library_a_format_says_what_to_install_and_nothing_is_written(
    write, tmp_path, monkeypatch, form
):
    for library in ("xlsxwriter", "weasyprint"):
        monkeypatch.setitem(sys.modules, library, None)
    for name in ("review.xlsx_workbook", "review.xlsx", "review.pdf"):
        monkeypatch.delitem(sys.modules, f"perfledger_service.rendering.{name}", raising=False)

    with pytest.raises(UsageError, match=r"pip install 'perfledger\[review\]'"):
        write(ReviewFormat.JSON, form)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_an_error(write, tmp_path):
    (tmp_path / "out").write_text("a file")

    with pytest.raises(UsageError, match=r"cannot write into .*/out: File exists"):
        write(ReviewFormat.JSON)
