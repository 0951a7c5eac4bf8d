"""A review in, its documents in a folder out."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import assert_never

from perfledger_cost_models.review import Review
from perfledger_cost_models.showback import Allocation
from perfledger_service.errors import UsageError
from perfledger_service.pages.allocation_focus import allocation_focus
from perfledger_service.pages.review_html import review_html
from perfledger_service.pages.review_json import review_json
from perfledger_service.pages.review_words import decision_words

# What is missing is said as pip is told it; the extra is named so in pyproject.toml.
EXTRA = "pip install 'perfledger[review]'"


class Form(StrEnum):
    """What a review is written as; the order is that in which files are written."""

    HTML = "html"
    JSON = "json"
    CSV = "csv"
    XLSX = "xlsx"
    PDF = "pdf"


def write_review(review: Review, folder: Path, *, forms: Sequence[Form]) -> Iterator[str]:
    """Write the documents and yield what there is to say about each, the decision first.

    Raises UsageError for a folder that cannot be written, and where a form needs a library that is
    not installed: before anything is written.
    """
    writers = [(form, _writer(form)) for form in dict.fromkeys(forms)]
    words = decision_words(review)
    yield words.take
    yield words.why
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for form, write in writers:
            path = folder / f"{'focus' if form is Form.CSV else 'review'}.{form}"
            content = write(review)
            if content is None:
                yield f"{path}: not written: it is a bill's rows by team, and no bill was given"
            else:
                path.write_bytes(content)
                yield str(path)
    except OSError as error:
        msg = f"cannot write into {folder}: {error.strerror}"
        raise UsageError(msg) from error


def _writer(form: Form) -> Callable[[Review], bytes | None]:
    match form:
        case Form.HTML:
            return lambda review: review_html(review).encode()
        case Form.JSON:
            return lambda review: review_json(review).encode()
        case Form.CSV:
            return _focus
        case Form.XLSX:
            try:
                from perfledger_service.pages.review_xlsx import review_xlsx  # noqa: PLC0415
            except ModuleNotFoundError as error:
                raise _missing(form, "XlsxWriter") from error
            return review_xlsx
        case Form.PDF:
            try:
                from perfledger_service.pages.review_pdf import review_pdf  # noqa: PLC0415
            except (ModuleNotFoundError, OSError) as error:  # OSError: Pango is not installed
                raise _missing(form, "WeasyPrint and the system's Pango") from error
            return lambda review: review_pdf(review_html(review))
        case _ as unreachable:
            assert_never(unreachable)


def _focus(review: Review) -> bytes | None:
    if not isinstance(review.allocation, Allocation):
        return None
    return allocation_focus(review.allocation, quarter=review.quarter.name).encode()


def _missing(form: Form, library: str) -> UsageError:
    return UsageError(
        f"--format {form} needs {library}, which is not installed: {EXTRA}, or leave it out with "
        "--format html --format json --format csv"
    )
