"""Renders the notice that prices are too old to be trusted."""

from collections.abc import Sequence

from perfledger_cost_models.prices.staleness import StalePrice
from perfledger_service.rendering.layout.document import Document, sentences, title
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.rendering.prices.check import age_sentences

_ADVICE = "Update them with perfledger prices update, and set PERFLEDGER_PRICES to the file"
_CURRENT = "Prices are current again"


def price_notice_document(stale: Sequence[StalePrice]) -> Document:
    """Return the notice about old prices; without any, that they are current again."""
    if not stale:
        return Document(name="", blocks=(title(_CURRENT),))
    return Document(
        name="",
        blocks=(
            title(f"The service computes with old prices: {quantity(len(stale), 'price')}"),
            *sentences((*age_sentences(stale), _ADVICE)),
        ),
    )
