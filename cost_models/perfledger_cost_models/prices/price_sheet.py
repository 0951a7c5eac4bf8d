"""Holds prices and finds them by purchase option."""

import re
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from enum import StrEnum
from itertools import chain

from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.prices.tpu_slices import slice_of
from perfledger_cost_models.quote import HourlyRate, PriceLayer

COLUMNS = (
    "provider",
    "sku",
    "region",
    "accelerator",
    "count",
    "pricing_model",
    "term",
    "usd_per_hour",
    "usd_per_accelerator_hour",
    "as_of_date",
    "retrieved_at",
    "confidence",
    "source",
    "note",
)
CURRENCY_COLUMN = "currency"  # of both prices of a row; a sheet without it is in USD
ADDRESS_COLUMN = "source_url"  # the https address of the source; empty if none is known
OPTIONAL_COLUMNS = (CURRENCY_COLUMN, ADDRESS_COLUMN)
# The region of an option without "@region". Other providers: the first region on the sheet.
REFERENCE_REGIONS = {"aws": "us-east-1"}
MAX_ACCELERATORS = 10_000  # in one instance or slice; more is a shifted column
MAX_OPTION_CHARS = 200
MAX_HINTS = 5
# The column of prices per accelerator is rounded to five decimals.
ROUNDING_USD = Decimal("0.00001")

OptionKey = tuple[str, str, str]  # provider, option, region
_OPTION = re.compile(
    r"(?:(?P<provider>[^:/@]+):)?(?P<sku>[^:/@]+)/(?P<model>[^:/@]+)"
    r"(?:/(?P<term>[^:/@]+))?(?:@(?P<region>[^:/@]+))?"
)
BILLED_TERM = "billed"  # the term of a price computed from a bill: effective, by hours used
UNKNOWN_CONFIDENCE = "unknown"  # the confidence of a row that says: searched for, no price found
_PER_CHIP = "per chip"  # in the term column; says what is counted, not for how long


class PriceMissingError(LookupError):
    """An error for an option without a price on the sheet; a missing price is never zero."""

    def __init__(self, option: str, sheet: str, hint: str) -> None:
        super().__init__(f"no price for {option[:MAX_OPTION_CHARS]!r} on sheet {sheet!r}: {hint}")


class PricingModel(StrEnum):
    """How device time is bought."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    SAVINGS_PLAN = "savings_plan"
    RESERVED = "reserved"
    COMMITTED_USE = "committed_use"
    CAPACITY_BLOCK = "capacity_block"
    MARKETPLACE = "marketplace"  # the current offers for other people's machines
    MARKET_INDEX = "market_index"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """One published price of an instance, a chip or a card, with its source.

    `as_of` is the day the source states, else the day it was read (`is_read_date`).
    """

    provider: str
    sku: str
    region: str  # "" if the provider does not say
    accelerator: str
    count: int  # accelerators that usd_per_hour pays for
    pricing_model: PricingModel
    term: str
    usd_per_hour: Decimal
    as_of: date
    is_read_date: bool
    retrieved_at: date | None
    confidence: SourceConfidence
    source: str
    source_url: str = ""  # its https address; "" if none is known
    note: str = ""
    layer: PriceLayer = PriceLayer.SNAPSHOT
    newer_below: date | None = None  # day of the other, newer price that this one has replaced

    @property
    def usd_per_device_hour(self) -> Decimal:
        """Return the price of one accelerator for one hour."""
        return self.usd_per_hour / self.count

    @property
    def option(self) -> str:
        """Return the purchase option's id without its region: sku/pricing_model[/term]."""
        return option_of(self.sku, self.pricing_model, self.option_term)

    @property
    def key(self) -> OptionKey:
        """Return the provider, the option and the region, which identify what is priced."""
        return self.provider, self.option, self.region

    @property
    def option_term(self) -> str:
        """Return the term as the option's id writes it: "prepaid 24h" is "prepaid_24h"."""
        return option_term(self.term)

    @property
    def recency(self) -> tuple[bool, date, date]:
        """Return the sort key of one option's prices: a stated day ranks above a day of reading."""
        return (not self.is_read_date, self.as_of, self.retrieved_at or date.min)

    @property
    def newest_day(self) -> date:
        """Return the later of the price's day and the day on which it was read."""
        return max(self.as_of, self.retrieved_at or self.as_of)

    @property
    def is_trusted(self) -> bool:
        """Return whether the source is better than hearsay."""
        return self.confidence is not SourceConfidence.LOW


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownPrice:
    """A purchase option whose price was searched for and not found: never zero, never a guess."""

    provider: str
    sku: str
    region: str
    accelerator: str
    count: int
    pricing_model: PricingModel
    term: str
    searched_on: date
    source: str
    note: str

    @property
    def option(self) -> str:
        """Return the purchase option's id without its region, like a price's."""
        return option_of(self.sku, self.pricing_model, option_term(self.term))

    @property
    def key(self) -> OptionKey:
        """Return the provider, the option and the region, which identify what is priced."""
        return self.provider, self.option, self.region

    @property
    def reason(self) -> str:
        """Return a clause that says when the price was last searched for, and what is known."""
        note = f" ({self.note})" if self.note else ""
        return f"searched until {self.searched_on} and not found{note}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedPrice:
    """A row that must not be used, as far as it can be read."""

    sheet: str
    row: int  # the number of its line; the header is line 1
    provider: str
    option: str  # without its region, like a price's
    region: str
    accelerator: str
    as_of: date | None  # None if it cannot be read
    reason: str

    @property
    def key(self) -> OptionKey:
        """Return the provider, the option and the region, which identify what is priced."""
        return self.provider, self.option, self.region

    @property
    def text(self) -> str:
        """Return the place of the row, its option and the reason, as a clause."""
        region = f"@{self.region}" if self.region else ""
        return (
            f"{self.sheet}, line {self.row} ({self.provider}:{self.option}{region}) is left out: "
            f"{self.reason}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSheet:
    """Prices from a named source; one option may have prices of several days.

    `unknown` are the options whose price was searched for and not found, `rejected` the rows that
    are implausible or cannot be read. `owned` are the rates of servers for which an organisation
    has its own inputs; they replace the packaged ones.
    """

    name: str
    prices: tuple[Price, ...]
    owned: tuple[HourlyRate, ...] = ()
    unknown: tuple[UnknownPrice, ...] = ()
    rejected: tuple[RejectedPrice, ...] = ()

    def find(self, option: str) -> Price:
        """Return the newest price of a purchase option, `[provider:]sku/model[/term][@region]`.

        The default region is the reference region. A low-confidence price is returned only if there
        is no better one. A price that states its day ranks above one with a day of reading. A slice
        of TPUs, such as tpu-v4-32, that is not listed costs what its chips cost. Raises
        PriceMissingError, which names the nearest options; a term is never guessed.
        """
        match = _OPTION.fullmatch(option) if len(option) <= MAX_OPTION_CHARS else None
        if match is None:
            hint = "write sku/pricing_model[/term][@region], such as 'p5.48xlarge/on_demand'"
            raise PriceMissingError(option, self.name, hint)
        key = (match["sku"], match["model"], match["term"] or "")
        prices = self._select(key, match["provider"]) or self._slice_prices(key, match["provider"])
        if len({price.provider for price in prices}) > 1:
            raise self._missing(option, prices, reason="several providers sell it: name one of")
        region = match["region"] or _reference_region(prices)
        prices = _best([price for price in prices if price.region == region])
        if not prices:
            near = self._neighbours(match["sku"], match["model"])
            raise self._missing(
                option, near, search_note=self._search_note(key, match["provider"], region)
            )
        return max(prices, key=lambda price: price.recency)

    def rejection_of(self, price: Price) -> RejectedPrice | None:
        """Return the rejected row that would replace a price; None if there is none.

        For a slice of TPUs it is the row of its chips.
        """
        chip = slice_of(price.sku) if price.layer is PriceLayer.DERIVED else None
        options = {
            option_of(sku, price.pricing_model, price.option_term)
            for sku in (price.sku, chip.sku if chip else price.sku)
        }
        return next(
            (
                each
                for each in reversed(self.rejected)
                if (each.provider, each.region) == (price.provider, price.region)
                and each.option in options
                and (each.as_of is None or each.as_of >= price.as_of)
            ),
            None,
        )

    def _select(self, key: tuple[str, str, str], provider: str | None) -> list[Price]:
        return [
            price
            for price in self.prices
            if (price.sku, price.pricing_model, price.option_term) == key
            and provider in {None, price.provider}
        ]

    def _slice_prices(self, key: tuple[str, str, str], provider: str | None) -> list[Price]:
        """Return the prices of a slice of TPUs: its chips' prices times their number."""
        tpu_slice = slice_of(key[0])
        if tpu_slice is None or tpu_slice.chips > MAX_ACCELERATORS:
            return []
        chips = self._select((tpu_slice.sku, *key[1:]), provider)
        return [
            replace(
                price,
                sku=key[0],
                count=price.count * tpu_slice.chips,
                usd_per_hour=price.usd_per_hour * tpu_slice.chips,
                note=f"{tpu_slice.chips} chips; {price.note}".rstrip("; "),
                layer=PriceLayer.DERIVED,
            )
            for price in chips
        ]

    def _neighbours(self, sku: str, model: str) -> list[Price]:
        skus = sorted({price.sku for price in self.prices})
        chip = slice_of(sku)
        sku = chip.sku if chip is not None and sku not in skus else sku
        near = [sku] if sku in skus else get_close_matches(sku, skus, n=MAX_HINTS)
        prices = [price for name in near for price in self.prices if price.sku == name]
        return sorted(prices, key=lambda price: price.pricing_model != model)

    def _search_note(self, key: tuple[str, str, str], provider: str | None, region: str) -> str:
        """Return a clause saying that the price was rejected or not found; "" if neither."""
        chip = slice_of(key[0])
        options = {option_of(sku, *key[1:]) for sku in (key[0], chip.sku if chip else "")}
        unknown = (
            each
            for each in self.unknown
            if each.option in options
            and provider in {None, each.provider}
            and each.region == (region or REFERENCE_REGIONS.get(each.provider, each.region))
        )
        rejected = (
            each
            for each in self.rejected
            if each.option in options
            and provider in {None, each.provider}
            and each.region == (region or REFERENCE_REGIONS.get(each.provider, each.region))
        )
        return next(
            chain(
                (f"; {each.text}" for each in rejected),
                (f"; it was {each.reason}" for each in unknown),
            ),
            "",
        )

    def _missing(
        self,
        option: str,
        near: list[Price],
        *,
        reason: str = "add it there, or use",
        search_note: str = "",
    ) -> PriceMissingError:
        is_shared = len({price.provider for price in near}) > 1
        names = list(dict.fromkeys(_full_name(price, is_shared=is_shared) for price in near))
        names = names[:MAX_HINTS]
        hint = f"{reason} {', '.join(map(repr, names))}" if names else "add it there"
        return PriceMissingError(option, self.name, f"{hint}{search_note}")


def option_of(sku: str, model: str, term: str) -> str:
    """Return an option's id without its region: sku/pricing_model[/term]."""
    return f"{sku}/{model}/{term}" if term else f"{sku}/{model}"


def option_term(term: str) -> str:
    """Return a term as an option's id writes it: "prepaid 24h" is "prepaid_24h"."""
    return term.replace(_PER_CHIP, "").strip().replace(" ", "_")


def _best(prices: list[Price]) -> list[Price]:
    return [price for price in prices if price.is_trusted] or prices


def _reference_region(prices: list[Price]) -> str:
    best = _best(prices)
    return REFERENCE_REGIONS.get(best[0].provider, best[0].region) if best else ""


def _full_name(price: Price, *, is_shared: bool) -> str:
    provider = f"{price.provider}:" if is_shared else ""
    region = f"@{price.region}" if price.region else ""
    return f"{provider}{price.option}{region}"
