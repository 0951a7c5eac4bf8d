"""An accelerator in, every way to get its hours and what speaks for owning out."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from perfledger_cost_models.comparison import (
    BreakEven,
    Option,
    bought_option,
    break_even,
    owned_curve,
    owned_option,
    worked_option,
)
from perfledger_cost_models.footprint import (
    SAME_POWER,
    Footprint,
    Grid,
    cloud_footprint,
    owned_footprint,
)
from perfledger_cost_models.interruption import Interruptions, spot_cost
from perfledger_cost_models.investment import Horizon, Investment, owning_instead
from perfledger_cost_models.onprem import AS_STUDIED, Ownership, Server
from perfledger_cost_models.purchase import (
    Mode,
    Payment,
    PurchaseError,
    block_usd_per_useful_hour,
    mode_of,
)
from perfledger_cost_models.sheet import Price, PriceMissingError, PriceSheet, PricingModel
from perfledger_cost_models.work import Work
from perfledger_service.cost_views import Curve
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.price_books import Books

# Spot's overhead is that of a week of work where no job is named: in a shorter one the last save
# would weigh more.
SPOT_WORK_H = 168.0
# Nine hours of a year: of a server that is used less nobody asks what a useful hour costs.
LEAST_USE = 0.001
# Five years of hours: no job is longer than the horizon of the comparison.
MOST_JOB_H = 5 * 8760.0
CURVE_USES = tuple(percent / 100 for percent in range(5, 101, 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class CostQuestion:
    """What is to be compared, and what is taken for granted."""

    accelerators: Sequence[str] = ("H100-80GB",)
    use: float
    today: date
    years: Horizon = Horizon.FIVE
    terms: Ownership = AS_STUDIED
    grid: Grid = field(default_factory=Grid)
    interruptions: Interruptions | None = None  # of spot machines; None: not known
    fallback_share: float = 0.0  # of work that finds no spot machine
    job_h: float | None = None  # of work at a time; with it a capacity block has its cliff
    works: Sequence[Work] = ()  # one piece, on each accelerator where its speed is known
    assumed: Sequence[str] = ()  # of the use, in words: it was not said and has no good source

    def __post_init__(self) -> None:
        """Refuse what is no share and no length of a job; raises UsageError."""
        if not LEAST_USE <= self.use <= 1:
            msg = (
                f"a use of {self.use * 100:g} %: give a percentage above 0, "
                f"{LEAST_USE:.1%} at least, and up to 100"
            )
            raise UsageError(msg)
        if not 0 <= self.fallback_share <= 1:
            msg = f"a fall-back of {self.fallback_share * 100:g} %: give a percentage, 0 to 100"
            raise UsageError(msg)
        if self.job_h is not None and not 0 < self.job_h <= MOST_JOB_H:
            msg = f"a job of {self.job_h:g} hours: give a number above 0, up to {MOST_JOB_H:,.0f}"
            raise UsageError(msg)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offer:
    """One way to get an accelerator's hours: owned with its server, or bought with its price."""

    name: str
    option: Option
    server: Server | None = None
    price: Price | None = None
    mode: Mode | None = None

    @property
    def is_doubtful(self) -> bool:
        """Whether its price is of low confidence."""
        return self.price is not None and not self.price.is_trusted

    def usd_at(self, use: float, *, asked: float) -> float:
        """Return what a useful hour costs at another use than the one asked for, at all modes."""
        is_by_use = self.mode is None or self.mode.payment is Payment.USED
        return self.option.mode_usd if is_by_use else self.option.mode_usd * asked / use


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offers:
    """All that is known of one accelerator; `owner` is the server that renting is held against."""

    accelerator: str
    owner: Server | None
    found: tuple[Offer, ...]
    unknown: tuple[str, ...]  # what is on the sheet and cannot be priced, in words


def offers_of(books: Books, accelerator: str, question: CostQuestion) -> Offers:
    """Return every way to get an accelerator's hours, at the question's use.

    Raises NotFoundError for an accelerator without a price.
    """
    servers = [one for one in books.servers if one.accelerator == accelerator]
    found = [
        Offer(
            name=server.option,
            option=owned_by(books, server, question),
            server=server,
        )
        for server in servers
    ]
    unknown: list[str] = []
    for price in _newest(books.sheet, accelerator):
        try:
            found.append(_bought(books, price, question))
        except (PurchaseError, PriceMissingError) as error:
            why = str(error).removeprefix(f"{price.option}: ")
            unknown.append(f"{_name(price)}: {why}")
    unknown += [
        f"{each.provider}:{each.option}: its price was {each.why}"
        for each in books.sheet.unknown
        if each.accelerator == accelerator
    ]
    if not found:
        known = sorted({price.accelerator for price in books.sheet.prices})
        msg = f"no price for an accelerator {accelerator!r}: there are {', '.join(known)}"
        raise NotFoundError(msg)
    return Offers(
        accelerator=accelerator,
        owner=servers[0] if servers else None,
        found=tuple(found),
        unknown=tuple(unknown),
    )


def owned_by(books: Books, server: Server, question: CostQuestion) -> Option:
    """Return an owned server's useful hour; what its use assumes is named with its inputs."""
    option = owned_option(server, books.parameters, use=question.use, terms=question.terms)
    return replace(option, assumed=(*option.assumed, *question.assumed))


def investment_of(
    books: Books, question: CostQuestion, owner: Server | None, offer: Offer
) -> Investment | None:
    """Return what owning is worth in place of an offer, for as many useful hours."""
    if owner is None or offer.price is None:
        return None
    return owning_instead(
        owner,
        books.parameters,
        use=question.use,
        rent_usd_per_useful_hour=offer.option.draws_usd,
        rent_mode_usd=offer.option.mode_usd,
        years=question.years,
        terms=question.terms,
    )


def break_even_of(
    books: Books, question: CostQuestion, owner: Server | None, offer: Offer
) -> BreakEven | None:
    """Return from which use owning is cheaper; a commitment counts with its rate."""
    if owner is None or offer.price is None:
        return None
    usd = offer.usd_at(1.0, asked=question.use)
    return break_even(owner, books.parameters, usd_per_hour=usd, terms=question.terms)


def footprint_of(books: Books, question: CostQuestion, offer: Offer) -> Footprint | None:
    """Return what a useful hour takes; None where no server of such a draw is known."""
    sheet, grid = books.parameters, question.grid
    if offer.server is not None:
        return owned_footprint(
            offer.server, sheet, use=question.use, grid=grid, terms=question.terms
        )
    accelerator = offer.option.accelerator
    name = SAME_POWER.get(accelerator, accelerator)
    alike = next((one for one in books.servers if one.accelerator == name), None)
    return None if alike is None else cloud_footprint(alike, sheet, grid=grid)


def curves_of(books: Books, question: CostQuestion, offers: Offers) -> tuple[Curve, ...]:
    """Return what each offer's useful hour costs at each use."""
    found: list[Curve] = []
    for offer in offers.found:
        rates = [offer.usd_at(use, asked=question.use) for use in CURVE_USES]
        ends = tuple((usd, usd, usd) for usd in rates)
        if offer.server is not None:
            ends = owned_curve(offer.server, books.parameters, CURVE_USES, terms=question.terms)
        points = tuple((use, *each) for use, each in zip(CURVE_USES, ends, strict=True))
        found.append(Curve(name=offer.name, is_owned=offer.server is not None, points=points))
    return tuple(found)


def _bought(books: Books, price: Price, question: CostQuestion) -> Offer:
    mode = mode_of(price)
    if price.pricing_model is PricingModel.CAPACITY_BLOCK and question.job_h is not None:
        usd = block_usd_per_useful_hour(mode.usd_per_hour, question.job_h)
        mode = replace(mode, payment=Payment.USED, usd_per_hour=usd)
    option = bought_option(mode, books.parameters, use=question.use, accelerator=price.accelerator)
    if price.pricing_model is PricingModel.SPOT and question.interruptions is not None:
        option = _interrupted(books, option, price, question, question.interruptions)
    words = () if price.is_trusted else (f"price of {_name(price)} ({price.usd_per_hour:f})",)
    named = replace(option, name=_name(price), assumed=words)
    return Offer(name=_name(price), option=named, price=price, mode=mode)


def _interrupted(
    books: Books,
    option: Option,
    price: Price,
    question: CostQuestion,
    interruptions: Interruptions,
) -> Option:
    """Return spot with what is lost, repeated, and done on demand instead."""
    on_demand = price
    if question.fallback_share > 0:
        name = f"{price.provider}:{price.sku}/{PricingModel.ON_DEMAND}@{price.region}"
        on_demand = books.sheet.find(name)
    work_h = question.job_h or SPOT_WORK_H
    cost = spot_cost(
        work_h,
        interruptions,
        spot_usd_per_hour=price.usd_per_device_hour,
        on_demand_usd_per_hour=on_demand.usd_per_device_hour,
        fallback_share=question.fallback_share,
    )
    factor = float(cost.usd) / work_h / option.mode_usd
    return worked_option(option, factor, mode_hours=factor)


def _newest(sheet: PriceSheet, accelerator: str) -> tuple[Price, ...]:
    """Return the newest price of each option that can be bought, in one region each."""
    found: dict[str, Price] = {}
    for price in sheet.prices:
        is_bought = price.pricing_model is not PricingModel.MARKET_INDEX
        if price.accelerator != accelerator or not is_bought or _name(price) in found:
            continue
        try:
            found[_name(price)] = sheet.find(_name(price))
        except PriceMissingError:  # it is not sold in the reference region
            found[_name(price)] = sheet.find(f"{_name(price)}@{price.region}")
    return tuple(found.values())


def _name(price: Price) -> str:
    return f"{price.provider}:{price.option}"
