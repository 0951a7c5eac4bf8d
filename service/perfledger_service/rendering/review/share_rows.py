"""Lists the hour shares of a review, each with its definition and its sources."""

from collections.abc import Mapping

from perfledger import rounding
from perfledger_cost_models.procurement.hour_shares import HourShare, ShareStatement
from perfledger_cost_models.review.document import Review
from perfledger_service.rendering.layout import number_format

DEFINITIONS: Mapping[HourShare, str] = {
    HourShare.COMMITMENT_UTILIZATION: "the share of commitments that is used",
    HourShare.ALLOCATED: "the share of paid hours that was allocated",
    HourShare.BUSY: "the share of allocated hours in which the device worked",
}


def share_rows(review: Review) -> list[dict[str, str]]:
    """Return each source's value of each share; one line for a share without a source."""
    rows: list[dict[str, str]] = []
    for share, definition in DEFINITIONS.items():
        statements = [each for each in review.shares if each.share is share]
        rows += [_row(each, definition) for each in statements]
        if not statements:
            rows.append(
                {
                    "share": str(share),
                    "definition": definition,
                    "value": "not known",
                    "source": number_format.NOTHING,
                }
            )
    return rows


def share_sentence(review: Review) -> str:
    """Return how the shares relate, with the busy share of paid hours if it is known."""
    first = {each.share: each.range.mode for each in reversed(review.shares)}
    text = (
        "These are three different figures. Hours on a bill are paid hours: they include hours "
        "that were not allocated and hours that were idle, and only the commitment utilization "
        "converts them into devices. No two sources of one share differ by more than 5 points."
    )
    if {HourShare.ALLOCATED, HourShare.BUSY} <= first.keys():
        allocated, busy = first[HourShare.ALLOCATED], first[HourShare.BUSY]
        text += (
            f" Of 100 paid hours {rounding.integer(100 * allocated)} were allocated, and in "
            f"{rounding.integer(100 * allocated * busy)} the device worked."
        )
    return text


def _row(statement: ShareStatement, definition: str) -> dict[str, str]:
    figure = statement.range
    low, mode, high = map(number_format.share, map(float, (figure.low, figure.mode, figure.high)))
    counts = f"{statement.counts}; " if statement.counts else ""
    return {
        "share": str(statement.share),
        "definition": definition,
        "value": mode if low == high else f"{mode} ({low}{number_format.INTERVAL_TO}{high})",
        "source": f"{counts}{figure.source} ({figure.basis})",
    }
