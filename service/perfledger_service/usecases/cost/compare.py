"""Compares the cost of a useful hour, or of a piece of work, across all purchase options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perfledger_cost_models.prices.staleness import is_outdated, max_age_of
from perfledger_cost_models.tco.buy_vs_rent import (
    OptionComparison,
    OptionCost,
    compare,
    worked_option,
)
from perfledger_cost_models.tco.onprem import ServerSpec, kept_years
from perfledger_cost_models.tco.spot_interruption import (
    InterruptionModel,
    best_interval_h,
    daly_interval_h,
    young_interval_h,
)
from perfledger_cost_models.tco.work_cost import PricedWork
from perfledger_service.errors import NotFoundError
from perfledger_service.usecases.cost.answer import cost_answer
from perfledger_service.usecases.cost.purchase_options import (
    AcceleratorOption,
    AcceleratorOptions,
    CostRequest,
    accelerator_options,
    break_even_of,
    curves_of,
    equal_size_chance_of,
    footprint_of,
    investment_of,
    price_warnings,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import PriceBooks
from perfledger_service.values.cost_views import CheckpointIntervals, CostRow, CostView

# The accelerators of P4d, P4de, P5, P5e, P5en, A2, A3, ND A100, ND H100 and TPU v4 to v6e.
FAMILIES = (
    "A100-40GB",
    "A100-80GB",
    "H100-80GB",
    "H200-141GB",
    "TPU-v4",
    "TPU-v5e",
    "TPU-v5p",
    "TPU-v6e",
)


@dataclass(frozen=True, slots=True, eq=False)
class _OptionBesideOwner:
    """A purchase option, the server it is compared with, and its cost per hour of that server."""

    offer: AcceleratorOption
    owner: ServerSpec | None
    as_owned: OptionCost


def compare_costs(books: PriceBooks, request: CostRequest) -> CostView:
    """Return the cost of a useful hour on every known option of the accelerators.

    `use` is the share of useful hours: committed and owned hardware is paid for all hours, hourly
    rentals only for the useful ones. With work, accelerators are compared by the cost of a piece;
    without it each is listed separately, because their hours are not comparable. Raises
    NotFoundError for an accelerator without a price, or without one of these names, and
    UsageError.
    """
    works = {work.accelerator: work for work in request.works}
    with translate_errors():
        every = [accelerator_options(books, name, request) for name in request.accelerators]
        offers = [offer for each in every for offer in each.options]
        if not offers:
            unknown = "; ".join(words for each in every for words in each.unknown)
            msg = f"no price at {', '.join(request.option_names)} is known: {unknown}"
            raise NotFoundError(msg)
        pieces = _cost_per_piece(offers, works)
        owned_piece = _owned_piece(offers, pieces)
        rows = [
            _row(books, request, cost, _beside_owner(each, offer, owned_piece, works), pieces)
            for each in every
            for cost, offer in (_by_cost(each.options) if each.options else ())
        ]
        rows = [_with_piece(row, works.get(row.cost.accelerator)) for row in rows]
        owned = next((each for each in every if each.owner is not None), None)
        curves = () if owned is None else curves_of(books, request, owned)
        intervals = (
            None if request.interruptions is None else _checkpoint_intervals(request.interruptions)
        )
    if works:
        by_piece = [(row.work.p50_usd, row) for row in rows if row.work is not None]
        rows = [row for _, row in sorted(by_piece, key=lambda pair: pair[0])]
    by_name = {offer.name: offer for offer in offers}
    without_speed = [name for name in request.accelerators if works and name not in works]
    return CostView(
        accelerators=tuple(request.accelerators),
        use=request.use,
        rows=tuple(rows),
        assumed=_assumed_inputs(offers, request),
        piece=request.works[0].piece if works else "",
        works=tuple(request.works),
        unknown=(
            *(words for each in every for words in each.unknown),
            *(f"{name}: no speed given" for name in without_speed),
        ),
        answer=cost_answer(books, request, rows, by_name),
        shows_all=request.shows_all,
        sheet=books.sheet.name,
        curves=curves,
        owner=owned.owner.label if owned is not None and owned.owner is not None else "",
        checkpoint_intervals=intervals,
        kept_years=kept_years(books.parameters, terms=request.terms),
    )


def _cost_per_piece(
    offers: Sequence[AcceleratorOption], works: Mapping[str, PricedWork]
) -> Mapping[str, OptionComparison]:
    """Return the cost of a piece of work by option, for all accelerators with a known speed."""
    worked_offers = [
        (replace(offer, option=worked_option(offer.option, work.hour_draws, mode_hours=work.hours)))
        for offer in offers
        if (work := works.get(offer.option.accelerator)) is not None
    ]
    return {one.name: one for one in _compare_offers(worked_offers)}


def _compare_offers(offers: Sequence[AcceleratorOption]) -> tuple[OptionComparison, ...]:
    """Return the options by median cost.

    One that may not rank is never the cheapest, so its chance of being cheapest is 0.
    """
    ranking: list[OptionCost] = [offer.option for offer in offers if offer.may_rank]
    unranked = [
        replace(one, chance_cheapest=0.0)
        for offer in offers
        if not offer.may_rank
        for one in compare([offer.option])
    ]
    comparisons = (*(compare(ranking) if ranking else ()), *unranked)
    return tuple(sorted(comparisons, key=lambda one: (one.p50_usd, one.name)))


def _assumed_inputs(offers: Sequence[AcceleratorOption], request: CostRequest) -> tuple[str, ...]:
    """Return the low-confidence inputs of the options and of their use, each once."""
    assumptions = [words for offer in offers for words in offer.option.assumed]
    return tuple(dict.fromkeys([*assumptions, *request.assumed]))


def _by_cost(
    offers: Sequence[AcceleratorOption],
) -> list[tuple[OptionComparison, AcceleratorOption]]:
    by_name = {offer.name: offer for offer in offers}
    return [(cost, by_name[cost.name]) for cost in _compare_offers(offers)]


def _owned_piece(
    offers: Sequence[AcceleratorOption], pieces: Mapping[str, OptionComparison]
) -> ServerSpec | None:
    """Return the server on which the piece of work costs least; None if there is none."""
    owned = [(pieces[offer.name].p50_usd, offer) for offer in offers if offer.name in pieces]
    servers = [(usd, offer.server) for usd, offer in owned if offer.server is not None]
    return min(servers, key=lambda pair: pair[0])[1] if servers else None


def _beside_owner(
    offers: AcceleratorOptions,
    offer: AcceleratorOption,
    owned_piece: ServerSpec | None,
    works: Mapping[str, PricedWork],
) -> _OptionBesideOwner:
    """Return an option with its accelerator's server, else with one that does the same work.

    If the accelerator cannot be owned, its hours for the work of one server-hour are compared with
    that hour.
    """
    work = works.get(offers.accelerator)
    if offers.owner is not None or owned_piece is None or work is None:
        return _OptionBesideOwner(offer=offer, owner=offers.owner, as_owned=offer.option)
    owned_work = works[owned_piece.accelerator]
    as_owned = worked_option(
        offer.option,
        work.hour_draws / owned_work.hour_draws,
        mode_hours=work.hours / owned_work.hours,
    )
    return _OptionBesideOwner(offer=offer, owner=owned_piece, as_owned=as_owned)


def _row(
    books: PriceBooks,
    request: CostRequest,
    cost: OptionComparison,
    beside: _OptionBesideOwner,
    pieces: Mapping[str, OptionComparison],
) -> CostRow:
    offer, owner = beside.offer, beside.owner
    offer_as_owned = replace(offer, option=beside.as_owned)
    return CostRow(
        cost=cost,
        work=pieces.get(cost.name),
        price=offer.price,
        break_even=break_even_of(books, request, owner, offer_as_owned),
        investment=investment_of(books, request, owner, offer_as_owned),
        equal_size_chance=equal_size_chance_of(books, request, owner, offer_as_owned),
        is_committed=offer.is_committed,
        may_rank=offer.may_rank,
        is_superseded=offer.is_superseded,
        owner=owner.label if owner else "",
        is_same_work=owner is not None and owner.accelerator != cost.accelerator,
        footprint=footprint_of(books, request, offer),
        is_outdated=offer.price is not None
        and is_outdated(
            offer.price.as_of,
            today=request.today,
            max_age=max_age_of(offer.price.pricing_model),
        ),
        server_price=books.parameters.find(offer.server.price) if offer.server else None,
        warnings=price_warnings(books, offer.price, request.today),
    )


def _with_piece(row: CostRow, work: PricedWork | None) -> CostRow:
    """Return the row with the footprint of the piece of work, if the power is known too."""
    if work is None or row.footprint is None:
        return row
    return replace(row, piece_footprint=row.footprint.times(work.hours))


def _checkpoint_intervals(interruptions: InterruptionModel) -> CheckpointIntervals:
    return CheckpointIntervals(
        best_interval_h(interruptions),
        young_interval_h(interruptions),
        daly_interval_h(interruptions),
    )
