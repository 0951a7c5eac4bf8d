"""Presents the detectable change by number of pairs, and the pairs needed by size of change."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict

from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Block,
    Column,
    Document,
    attributes,
    figure,
    heading,
    name,
    notes,
    sentences,
    table,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME
from perfledger_service.values.power_views import PowerView, SpreadView

_BEYOND = ">10k"  # pairs: more than any check takes


def power_document(view: PowerView) -> Document:
    """Return the spread of each series, the detectable changes and the pairs needed."""
    return Document(
        name="perfledger-power",
        facts={
            **attributes(view, "alpha", "tests", "floor", "power"),
            "spreads": [_record(spread) for spread in view.spreads],
        },
        blocks=(
            *sentences(
                (f"{spread.name}: {_spread(spread)}" for spread in view.spreads),
                names=[spread.name for spread in view.spreads],
            ),
            *_tables(view),
            *sentences(_steps_sentences(view), names=[spread.name for spread in view.spreads]),
            *notes([_rule(view)]),
        ),
    )


def _tables(view: PowerView) -> Iterator[Block]:
    """Yield the smallest changes by pairs, and the pairs by change, one row per series."""
    pairs = dict.fromkeys(pairs for spread in view.spreads for pairs, _ in spread.detectable)
    changes = dict.fromkeys(change for spread in view.spreads for change, _ in spread.needed)
    series: Column[SpreadView] = name("", "series", lambda spread: spread.name, limit=MAX_LONG_NAME)
    if pairs:
        yield heading("Smallest detectable change, by number of pairs")
        columns = [
            figure("", f"{count:,}", _change_at(count), number_format.share) for count in pairs
        ]
        yield table((series, *columns), [each for each in view.spreads if each.detectable])
    if changes:
        yield heading("Pairs needed, by size of the change")
        columns = [figure("", number_format.margin(each), _pairs_for(each)) for each in changes]
        yield table((series, *columns), [each for each in view.spreads if each.needed])


def _change_at(pairs: int) -> Callable[[SpreadView], float | None]:
    def change(spread: SpreadView) -> float | None:
        return dict(spread.detectable).get(pairs)

    return change


def _pairs_for(change: float) -> Callable[[SpreadView], str | None]:
    def pairs(spread: SpreadView) -> str | None:
        if change not in dict(spread.needed):
            return None
        count = dict(spread.needed)[change]
        return _BEYOND if count is None else f"{count:,}"

    return pairs


def _record(spread: SpreadView) -> Mapping[str, object]:
    return asdict(spread) | {
        "detectable": [{"pairs": pairs, "change": change} for pairs, change in spread.detectable],
        "needed": [{"change": change, "pairs": pairs} for change, pairs in spread.needed],
    }


def _spread(spread: SpreadView) -> str:
    if spread.sd is None:
        return spread.source
    source = f" ({spread.source})" if spread.source else ""
    return f"pairs differ by {number_format.share(spread.sd)} without a change{source}"


def _steps_sentences(view: PowerView) -> Iterator[str]:
    for spread in view.spreads:
        if steps := _steps(spread):
            yield steps if len(view.spreads) == 1 else f"{spread.name}: {steps}"


def _steps(spread: SpreadView) -> str:
    if spread.steps is not None:
        return f"Best steps per process: {spread.steps} (Kalibera and Jones, 2013)."
    return f"Best steps per process: unknown: {spread.steps_note}." if spread.steps_note else ""


def _rule(view: PowerView) -> str:
    shared = f" shared by {view.tests:,} tests" if view.tests > 1 else ""
    return (
        f"Detected with a chance of {number_format.whole_share(view.power)} or more. The chance "
        "of any false change over all looks of a check is "
        f"{number_format.margin(view.alpha)}{shared}. Changes below "
        f"{number_format.margin(view.floor)} are never reported."
    )
