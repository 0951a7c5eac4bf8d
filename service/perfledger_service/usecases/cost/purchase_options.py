"""Lists the purchase options of an accelerator, and compares each with owning."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from perfledger.rounding import exact, for_programs, integer, typed
from perfledger.time_units import HOURS_PER_YEAR
from perfledger_cost_models.energy.carbon_footprint import (
    POWER_SUBSTITUTES,
    CarbonFootprint,
    GridCarbon,
    cloud_footprint,
    owned_footprint,
)
from perfledger_cost_models.prices.price_sheet import (
    Price,
    PriceMissingError,
    PriceSheet,
    PricingModel,
)
from perfledger_cost_models.prices.staleness import (
    MAX_STALE_DAYS,
    age_warnings,
)
from perfledger_cost_models.quote import PriceLayer
from perfledger_cost_models.tco.buy_vs_rent import (
    BreakEven,
    OptionCost,
    bought_option,
    break_even,
    chance_cheaper,
    owned_curve,
    owned_option,
    worked_option,
)
from perfledger_cost_models.tco.npv import Investment, npv_of_owning
from perfledger_cost_models.tco.onprem import (
    DEFAULT_OWNERSHIP,
    UTILIZATION,
    Ownership,
    ServerSpec,
)
from perfledger_cost_models.tco.purchase_modes import (
    Payment,
    PurchaseError,
    PurchaseTerms,
    block_usd_per_useful_hour,
    terms_of,
)
from perfledger_cost_models.tco.spot_interruption import InterruptionModel, spot_cost
from perfledger_cost_models.tco.work_cost import PricedWork
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.cost.option_names import is_price_named, is_server_named
from perfledger_service.usecases.inputs.price_books import PriceBooks
from perfledger_service.values.cost_views import BreakEvenCurve

# Without a job, the spot overhead assumes a week of work; in a shorter job the last checkpoint
# would weigh more.
SPOT_WORK_H = 168.0
# Nine hours a year: below that, the cost of a server's useful hour is meaningless.
MIN_USE = 0.001
# Five years of hours: no job is longer than the horizon of the comparison.
MAX_JOB_H = 5.0 * HOURS_PER_YEAR
CURVE_USES = tuple(percent / 100 for percent in range(5, 101, 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRequest:
    """The accelerators to compare, of some names or of all, and the assumptions."""

    accelerators: Sequence[str] = ("H100-80GB",)
    option_names: Sequence[str] = ()
    use: float
    today: date
    terms: Ownership = DEFAULT_OWNERSHIP
    grid: GridCarbon = field(default_factory=GridCarbon)
    interruptions: InterruptionModel | None = None  # interruptions of spot machines; None: unknown
    fallback_share: float = 0.0  # share of work for which no spot machine is available
    job_h: float | None = None  # hours of work at a time; with it a capacity block has its cliff
    shows_all: bool = False  # otherwise only the cheapest option of each purchase mode is shown
    works: Sequence[PricedWork] = ()  # one piece of work, on each accelerator with a known speed
    assumed: Sequence[str] = ()  # on the use, in words: it was not given and has no good source

    def __post_init__(self) -> None:
        """Raise UsageError for an invalid share or job length."""
        if not MIN_USE <= self.use <= 1:
            msg = (
                f"an allocated share of {typed(self.use * 100)} %: give a percentage above 0, "
                f"{typed(MIN_USE * 100)} % at least, and up to 100"
            )
            raise UsageError(msg)
        if not 0 <= self.fallback_share <= 1:
            msg = f"a fallback of {typed(self.fallback_share * 100)} %: give a percentage, 0 to 100"
            raise UsageError(msg)
        if self.job_h is not None and not 0 < self.job_h <= MAX_JOB_H:
            msg = (
                f"a job of {for_programs(self.job_h)} hours: give a number above 0, up to "
                f"{integer(MAX_JOB_H)}"
            )
            raise UsageError(msg)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AcceleratorOption:
    """A purchase option of an accelerator: owned with its server, or rented at a price."""

    name: str
    option: OptionCost
    server: ServerSpec | None = None
    price: Price | None = None
    mode: PurchaseTerms | None = None
    lacks_interruptions: bool = False  # a spot price that omits the cost of interruptions
    is_superseded: bool = False  # a price beyond MAX_STALE_DAYS, beside younger ones

    @property
    def may_rank(self) -> bool:
        """Return whether the option's cost is known well enough to rank as the cheapest."""
        return not (self.is_doubtful or self.lacks_interruptions or self.is_superseded)

    @property
    def is_doubtful(self) -> bool:
        """Return whether the option's price has low confidence."""
        return self.price is not None and not self.price.is_trusted

    @property
    def is_committed(self) -> bool:
        """Return whether all hours of a term are paid for, whether used or not."""
        return self.mode is not None and self.mode.payment is Payment.TERM

    def usd_at(self, use: float, *, requested_use: float) -> float:
        """Return the modal cost of a useful hour at a use other than the requested one."""
        usd = self.option.mode_usd
        return usd * requested_use / use if self.is_committed else usd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AcceleratorOptions:
    """All options of one accelerator; `owner` is the server that renting is compared with."""

    accelerator: str
    owner: ServerSpec | None
    options: tuple[AcceleratorOption, ...]
    unknown: tuple[str, ...]  # options on the sheet that have no usable price, in words


def use_of(books: PriceBooks, percent: float | None) -> tuple[float, tuple[str, ...]]:
    """Return the useful share of hours, by default the usual one, and what is assumed."""
    if percent is not None:
        return percent / 100, ()
    usual = books.parameters.find(UTILIZATION)
    return float(usual.mode), (usual.label,) if usual.is_assumed else ()


def accelerator_options(
    books: PriceBooks, accelerator: str, request: CostRequest
) -> AcceleratorOptions:
    """Return every purchase option of an accelerator of the request's names and use.

    Raises NotFoundError for an accelerator without a price; one that is only named as unknown has
    none.
    """
    servers = [
        one
        for one in books.servers
        if one.accelerator == accelerator and is_server_named(one, request.option_names)
    ]
    options = [
        AcceleratorOption(
            name=server.option, option=owned_option_of(books, server, request), server=server
        )
        for server in servers
    ]
    unknown: list[str] = []
    for price in _newest_prices(books.sheet, accelerator):
        if not is_price_named(price, request.option_names):
            continue
        if reason := _expiry_of_block(price, request.today):
            unknown.append(f"{_name(price)}: {reason}")
            continue
        try:
            options.append(_rented_option(books, price, request))
        except (PurchaseError, PriceMissingError) as error:
            reason = str(error).removeprefix(f"{price.option}: ")
            unknown.append(f"{_name(price)}: {reason}")
    unknown += [
        f"{each.provider}:{each.option}: its price was {each.reason}"
        for each in books.sheet.unknown
        if each.accelerator == accelerator and is_price_named(each, request.option_names)
    ]
    priced = {price.key for price in books.sheet.prices}
    unknown += [
        each.text
        for each in books.sheet.rejected
        if each.accelerator == accelerator
        and is_price_named(each, request.option_names)
        and each.key not in priced
    ]
    if not options and not (request.option_names and unknown):
        accelerators = sorted({price.accelerator for price in books.sheet.prices})
        msg = f"no price for accelerator {accelerator!r}: choose from {', '.join(accelerators)}"
        raise NotFoundError(msg)
    return AcceleratorOptions(
        accelerator=accelerator,
        owner=servers[0] if servers else None,
        options=_with_superseded(options, request.today),
        unknown=tuple(unknown),
    )


def _expiry_of_block(price: Price, today: date) -> str:
    """Return why a capacity block can no longer be had at its price; "" if it may be.

    Blocks are repriced within a quarter, and a list that states one price says nothing of today's.
    An organisation's own price, or its contract's, stays valid.
    """
    days = (today - price.as_of).days
    is_block = price.pricing_model is PricingModel.CAPACITY_BLOCK
    if not is_block or days <= MAX_STALE_DAYS or price.layer is PriceLayer.OVERRIDE:
        return ""
    return (
        f"its price of {price.as_of} is {integer(days)} days old, and blocks are repriced within a "
        "quarter"
    )


def _with_superseded(
    options: Sequence[AcceleratorOption], today: date
) -> tuple[AcceleratorOption, ...]:
    """Return the options of an accelerator, those marked whose prices are too old to rank.

    Where every price that could rank is as old none is marked: otherwise owning would look like the
    cheapest. An organisation's own price, or its contract's, stays valid.
    """
    old = {
        one.price.key
        for one in options
        if one.price is not None and (today - one.price.as_of).days > MAX_STALE_DAYS
    }
    if all(one.price.key in old for one in options if one.price is not None and one.may_rank):
        return tuple(options)
    return tuple(
        replace(one, is_superseded=True)
        if one.price is not None
        and one.price.key in old
        and one.price.layer is not PriceLayer.OVERRIDE
        else one
        for one in options
    )


def owned_option_of(books: PriceBooks, server: ServerSpec, request: CostRequest) -> OptionCost:
    """Return the cost of a useful hour on an owned server, with the assumptions about its use."""
    option = owned_option(server, books.parameters, use=request.use, terms=request.terms)
    return replace(option, assumed=(*option.assumed, *request.assumed))


def investment_of(
    books: PriceBooks, request: CostRequest, owner: ServerSpec | None, offer: AcceleratorOption
) -> Investment | None:
    """Return the value of owning instead of renting by an option, for the same useful hours."""
    if owner is None or offer.price is None:
        return None
    return npv_of_owning(
        owner,
        books.parameters,
        use=request.use,
        rent_usd_per_useful_hour=offer.option.draws_usd,
        rent_mode_usd=offer.option.mode_usd,
        years=request.terms.years,
        terms=request.terms,
    )


def break_even_of(
    books: PriceBooks, request: CostRequest, owner: ServerSpec | None, offer: AcceleratorOption
) -> BreakEven | None:
    """Return the break-even utilization of owning; a commitment counts at its rate."""
    if owner is None or offer.price is None:
        return None
    usd = offer.usd_at(1.0, requested_use=request.use)
    return break_even(owner, books.parameters, usd_per_hour=usd, terms=request.terms)


def equal_size_chance_of(
    books: PriceBooks, request: CostRequest, owner: ServerSpec | None, offer: AcceleratorOption
) -> float | None:
    """Return the chance that owning costs less than committing to the same number of devices."""
    if owner is None or not offer.is_committed:
        return None
    return chance_cheaper(owned_option_of(books, owner, request), offer.option)


def footprint_of(
    books: PriceBooks, request: CostRequest, offer: AcceleratorOption
) -> CarbonFootprint | None:
    """Return the footprint of a useful hour; None without a server of known power."""
    sheet, grid = books.parameters, request.grid
    if offer.server is not None:
        return owned_footprint(offer.server, sheet, use=request.use, grid=grid, terms=request.terms)
    accelerator = offer.option.accelerator
    name = POWER_SUBSTITUTES.get(accelerator, accelerator)
    alike = next((one for one in books.servers if one.accelerator == name), None)
    return None if alike is None else cloud_footprint(alike, sheet, grid=grid)


def curves_of(
    books: PriceBooks, request: CostRequest, offers: AcceleratorOptions
) -> tuple[BreakEvenCurve, ...]:
    """Return the cost of each option's useful hour at each use."""
    curves: list[BreakEvenCurve] = []
    for offer in offers.options:
        rates = [offer.usd_at(use, requested_use=request.use) for use in CURVE_USES]
        ends = tuple((usd, usd, usd) for usd in rates)
        if offer.server is not None:
            ends = owned_curve(offer.server, books.parameters, CURVE_USES, terms=request.terms)
        points = tuple((use, *each) for use, each in zip(CURVE_USES, ends, strict=True))
        curves.append(
            BreakEvenCurve(name=offer.name, is_owned=offer.server is not None, points=points)
        )
    return tuple(curves)


def _rented_option(books: PriceBooks, price: Price, request: CostRequest) -> AcceleratorOption:
    mode = terms_of(price)
    if price.pricing_model is PricingModel.CAPACITY_BLOCK and request.job_h is not None:
        usd = block_usd_per_useful_hour(mode.usd_per_hour, request.job_h)
        mode = replace(mode, payment=Payment.USED, usd_per_hour=usd)
    option = bought_option(mode, books.parameters, use=request.use, accelerator=price.accelerator)
    is_spot = price.pricing_model is PricingModel.SPOT
    if is_spot and request.interruptions is not None:
        option = _interrupted_option(books, option, price, request, request.interruptions)
    words = () if price.is_trusted else (f"price of {_name(price)} ({exact(price.usd_per_hour)})",)
    named = replace(option, name=_name(price), assumed=words)
    return AcceleratorOption(
        name=_name(price),
        option=named,
        price=price,
        mode=mode,
        lacks_interruptions=is_spot and request.interruptions is None,
    )


def _interrupted_option(
    books: PriceBooks,
    option: OptionCost,
    price: Price,
    request: CostRequest,
    interruptions: InterruptionModel,
) -> OptionCost:
    """Return a spot option with the cost of interruptions and of on-demand fallback."""
    on_demand = price
    if request.fallback_share > 0:
        name = f"{price.provider}:{price.sku}/{PricingModel.ON_DEMAND}@{price.region}"
        on_demand = books.sheet.find(name)
    work_h = request.job_h or SPOT_WORK_H
    cost = spot_cost(
        work_h,
        interruptions,
        spot_usd_per_hour=price.usd_per_device_hour,
        on_demand_usd_per_hour=on_demand.usd_per_device_hour,
        fallback_share=request.fallback_share,
    )
    factor = float(cost.usd) / work_h / option.mode_usd
    return worked_option(option, factor, mode_hours=factor)


def _newest_prices(sheet: PriceSheet, accelerator: str) -> tuple[Price, ...]:
    """Return the newest price of each available option, in one region each."""
    newest: dict[str, Price] = {}
    for price in sheet.prices:
        is_bought = price.pricing_model is not PricingModel.MARKET_INDEX
        if price.accelerator != accelerator or not is_bought or _name(price) in newest:
            continue
        try:
            newest[_name(price)] = sheet.find(_name(price))
        except PriceMissingError:  # not sold in the reference region
            newest[_name(price)] = sheet.find(f"{_name(price)}@{price.region}")
    return tuple(newest.values())


def _name(price: Price) -> str:
    return f"{price.provider}:{price.option}"


def price_warnings(books: PriceBooks, price: Price | None, today: date) -> tuple[str, ...]:
    """Return warnings about a stale price, and about a rejected price that would replace it.

    Owned hardware has none.
    """
    if price is None:
        return ()
    warnings = age_warnings(price, today=today)
    rejected = books.sheet.rejection_of(price)
    return warnings if rejected is None else (*warnings, rejected.text)
