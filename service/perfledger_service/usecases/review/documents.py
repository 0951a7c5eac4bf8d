"""Writes a review's documents into a folder."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import assert_never

from perfledger_cost_models.billing.showback import CostAllocation
from perfledger_cost_models.review.document import Review
from perfledger_service.errors import UsageError
from perfledger_service.rendering.fleet.allocation_focus import allocation_focus
from perfledger_service.rendering.review.first_page import first_page
from perfledger_service.rendering.review.html import review_html
from perfledger_service.rendering.review.json_file import review_json
from perfledger_service.usecases.review.document_format import ReviewFormat

ATTACHMENTS = "attachments"  # the folder beside the documents
# The install command of the extra in pyproject.toml.
EXTRA = "pip install 'perfledger[review]'"


def write_review(
    review: Review,
    folder: Path,
    *,
    forms: Sequence[ReviewFormat],
    keep: Callable[[ReviewFormat, bytes], None] | None = None,
) -> Iterator[str]:
    """Write the documents and yield a line about each, the decision first.

    Each written document is passed to `keep`, too. Raises UsageError for a folder that cannot be
    written, and, before anything is written, for a format whose library is not installed.
    """
    contents = render_review(review, forms=forms)
    words = first_page(review)
    yield words.take
    yield words.why
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for form, content in contents:
            path = folder / f"{'focus' if form is ReviewFormat.CSV else 'review'}.{form}"
            if content is None:
                yield f"{path}: not written, because it needs --bill"
            else:
                path.write_bytes(content)
                if keep is not None:
                    keep(form, content)
                yield str(path)
        for attachment in review.attachments:
            path = folder / ATTACHMENTS / Path(attachment.file).name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(attachment.data)
            yield str(path)
    except OSError as error:
        msg = f"cannot write into {folder}: {error.strerror}"
        raise UsageError(msg) from error


def render_review(
    review: Review, *, forms: Sequence[ReviewFormat]
) -> Iterator[tuple[ReviewFormat, bytes | None]]:
    """Return each format with its lazily written document, None for one that needs a bill.

    Raises UsageError at once for a format whose library is not installed.
    """
    writers = [(form, _writer(form)) for form in dict.fromkeys(forms)]
    return ((form, write(review)) for form, write in writers)


def is_installed(form: ReviewFormat) -> bool:
    """Return whether the library that writes a format is installed."""
    try:
        _writer(form)
    except UsageError:
        return False
    return True


def _writer(form: ReviewFormat) -> Callable[[Review], bytes | None]:
    match form:
        case ReviewFormat.HTML:
            return lambda review: review_html(review).encode()
        case ReviewFormat.JSON:
            return lambda review: review_json(review).encode()
        case ReviewFormat.CSV:
            return _focus
        case ReviewFormat.XLSX:
            try:
                from perfledger_service.rendering.review.xlsx import review_xlsx  # noqa: PLC0415
            except ModuleNotFoundError as error:
                raise _missing(form, "XlsxWriter") from error
            return review_xlsx
        case ReviewFormat.PDF:
            try:
                from perfledger_service.rendering.review.pdf import review_pdf  # noqa: PLC0415
            except (ModuleNotFoundError, OSError) as error:  # OSError: Pango is not installed
                raise _missing(form, "WeasyPrint and the system's Pango") from error
            return lambda review: review_pdf(review_html(review))
        case _ as unreachable:
            assert_never(unreachable)


def _focus(review: Review) -> bytes | None:
    if not isinstance(review.allocation, CostAllocation):
        return None
    return allocation_focus(review.allocation, quarter=review.quarter.name).encode()


def _missing(form: ReviewFormat, library: str) -> UsageError:
    return UsageError(
        f"--format {form} needs {library}, which is not installed: {EXTRA}, or leave it out with "
        "--format html --format json --format csv"
    )
