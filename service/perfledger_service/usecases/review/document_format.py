"""Names the formats of a review."""

from enum import StrEnum


class ReviewFormat(StrEnum):
    """Format of a review, in the order in which files are written."""

    HTML = "html"
    JSON = "json"
    CSV = "csv"
    XLSX = "xlsx"
    PDF = "pdf"
