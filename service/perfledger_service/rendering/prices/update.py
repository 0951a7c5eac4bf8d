"""Presents an update of a price sheet."""

from pathlib import Path

from perfledger_service.rendering.layout.document import Document, notes, sentences
from perfledger_service.rendering.prices.check import price_check_document
from perfledger_service.rendering.prices.diff import price_diff_document
from perfledger_service.values.price_update import PriceUpdate


def price_update_document(update: PriceUpdate, *, written_to: Path | None) -> Document:
    """Return the changes in a new sheet, the rejected prices and those that need approval.

    `written_to` is None if the sheet was not written.
    """
    diff, check = price_diff_document(update.diff), price_check_document(update.check)
    left_out = ", ".join(f"{count} with {reason}" for reason, count in update.left_out)
    file = None if written_to is None else str(written_to)
    count = len(update.check.sheet.prices)
    use = f"{file}: {count} prices; use them with PERFLEDGER_PRICES={file}"
    return Document(
        name="perfledger-price-update",
        facts={
            **diff.facts,
            **check.facts,
            "to_approve": len(update.check.to_approve),
            "left_out": dict(update.left_out),
            "written_to": file,
        },
        blocks=(
            *diff.blocks,
            *check.blocks,
            *notes([f"Left out when reading: {left_out}."] if left_out else []),
            *sentences([use] if file else [], names=[file] if file else []),
        ),
    )
