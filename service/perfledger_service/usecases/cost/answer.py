"""Answers a comparison: the cheapest option, and what would make another one cheapest."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_cost_models.tco.buy_vs_rent import owned_curve
from perfledger_cost_models.tco.hardware_inputs import WACC
from perfledger_cost_models.tco.input_phrases import input_phrase
from perfledger_cost_models.tco.switching_values import switching_inputs
from perfledger_service.usecases.cost.purchase_options import AcceleratorOption, CostRequest
from perfledger_service.usecases.inputs.price_books import PriceBooks
from perfledger_service.values.cost_views import (
    AnswerSwitch,
    CostAnswer,
    CostRow,
    RequiredSpeed,
)

_PERCENT = 100


def cost_answer(
    books: PriceBooks,
    request: CostRequest,
    rows: Sequence[CostRow],
    offers: Mapping[str, AcceleratorOption],
) -> CostAnswer | None:
    """Return the answer for rows sorted by cost; None if none may rank.

    It is about the accelerator that can be both owned and rented, else about the first. With a
    known piece of work every accelerator is compared by it, so no speed is left open.
    """
    ranked = [row for row in rows if row.may_rank]
    if not ranked:
        return None
    accelerator = ranked[0].cost.accelerator if request.works else _subject(request, ranked)
    mine = [row for row in ranked if request.works or row.cost.accelerator == accelerator]
    cheapest, runner_up = mine[0], mine[1] if len(mine) > 1 else None
    switches: tuple[AnswerSwitch, ...] = ()
    if runner_up is not None and not request.works:
        costs = {row.cost.name: _cost_at(books, request, row, offers) for row in mine}
        switches = (
            *_share_switches(request.use, costs),
            *_price_switches(request, cheapest, runner_up),
            *_input_switches(books, request, mine, offers),
        )
    return CostAnswer(
        accelerator=accelerator,
        cheapest=cheapest,
        likeliest=max(mine, key=lambda row: (row.work or row.cost).chance_cheapest),
        runner_up=runner_up,
        owned=next((row for row in mine if row.price is None), None),
        on_demand=next((row for row in mine if _is_on_demand(row)), None),
        commitment=next((row for row in mine if row.is_committed), None),
        speeds=() if request.works else tuple(_required_speeds(ranked, mine)),
        switches=switches,
    )


def _subject(request: CostRequest, ranked: Sequence[CostRow]) -> str:
    """Return the accelerator that the answer is about."""
    owned = {row.cost.accelerator for row in ranked if row.price is None}
    rented = {row.cost.accelerator for row in ranked if row.price is not None}
    names = [name for name in request.accelerators if name in owned | rented]
    return next((name for name in names if name in owned & rented), names[0])


def _is_on_demand(row: CostRow) -> bool:
    return row.price is not None and row.price.pricing_model is PricingModel.ON_DEMAND


def _is_spot(row: CostRow) -> bool:
    return row.price is not None and row.price.pricing_model is PricingModel.SPOT


def _cost_at(
    books: PriceBooks,
    request: CostRequest,
    row: CostRow,
    offers: Mapping[str, AcceleratorOption],
) -> Callable[[float], float]:
    """Return the median cost of an option's useful hour as a function of the allocated share."""
    offer = offers[row.cost.name]
    server = offer.server
    if server is not None:
        return lambda use: owned_curve(server, books.parameters, (use,), terms=request.terms)[0][1]
    scale = row.cost.p50_usd / offer.option.mode_usd
    return lambda use: scale * offer.usd_at(use, requested_use=request.use)


def _share_switches(
    use: float, costs: Mapping[str, Callable[[float], float]]
) -> Iterator[AnswerSwitch]:
    """Yield the nearest whole percentages below and above the share where the answer changes."""
    cheapest = _cheapest(costs, use)
    below = (percent / _PERCENT for percent in range(_PERCENT, 0, -1) if percent < use * _PERCENT)
    above = (percent / _PERCENT for percent in range(1, _PERCENT + 1) if percent > use * _PERCENT)
    for shares in (below, above):
        for share in shares:
            alternative = _cheapest(costs, share)
            if alternative != cheapest:
                yield AnswerSwitch(
                    figure="allocated share",
                    unit="share",
                    now=use,
                    value=share,
                    alternative=alternative,
                )
                break


def _cheapest(costs: Mapping[str, Callable[[float], float]], share: float) -> str:
    return min(costs, key=lambda name: costs[name](share))


def _price_switches(
    request: CostRequest, cheapest: CostRow, runner_up: CostRow
) -> Iterator[AnswerSwitch]:
    """Yield the list prices at which the cheapest option and the next one cost the same.

    Costs are proportional to list prices, except for spot with a share of the work on demand; then,
    and if both cost the same now, there are none.
    """
    if request.fallback_share > 0 and any(map(_is_spot, (cheapest, runner_up))):
        return
    ratio = cheapest.cost.p50_usd / runner_up.cost.p50_usd
    if ratio == 1:
        return
    for row, factor in ((cheapest, 1 / ratio), (runner_up, ratio)):
        if row.price is not None:
            now = float(row.price.usd_per_device_hour)
            yield AnswerSwitch(
                figure=f"price of {row.cost.name}",
                unit="USD/h",
                now=now,
                value=now * factor,
                alternative=runner_up.cost.name,
            )


def _input_switches(
    books: PriceBooks,
    request: CostRequest,
    rows: Sequence[CostRow],
    offers: Mapping[str, AcceleratorOption],
) -> Iterator[AnswerSwitch]:
    """Yield the cost of owning, and its inputs, that make it the cheapest option, or no longer.

    The cost of capital also changes the cost of upfront payments, and gets no switch point of its
    own.
    """
    owned = next((row for row in rows if row.price is None), None)
    rival = next((row for row in rows if row.price is not None), None)
    if owned is None or rival is None:
        return
    server, rented = offers[owned.cost.name].server, offers[rival.cost.name].mode
    alternative = rival.cost.name if rows[0] is owned else owned.cost.name
    if server is None or rented is None:
        return
    yield AnswerSwitch(
        figure="cost of owning",
        unit="USD/h",
        now=owned.cost.p50_usd,
        value=rival.cost.p50_usd,
        alternative=alternative,
    )
    for one in switching_inputs(
        server,
        books.parameters,
        use=request.use,
        usd_per_hour=rival.cost.p50_usd,
        terms=request.terms,
    ):
        if one.parameter == WACC and rented.upfront_share:
            continue
        yield AnswerSwitch(
            figure=input_phrase(one.parameter),
            unit=one.unit,
            now=one.mode,
            value=one.value,
            alternative=alternative,
        )


def _required_speeds(ranked: Sequence[CostRow], mine: Sequence[CostRow]) -> Iterator[RequiredSpeed]:
    """Yield the speed that each other accelerator must reach with its cheapest option."""
    cheapest = mine[0].cost.p50_usd
    on_demand = next((row.cost.p50_usd for row in mine if _is_on_demand(row)), None)
    subject = mine[0].cost.accelerator
    rivals = [row for row in ranked if row.cost.accelerator != subject]
    for accelerator, rows in groupby(rivals, lambda row: row.cost.accelerator):
        first = next(rows)
        usd = first.cost.p50_usd
        yield RequiredSpeed(
            accelerator=accelerator,
            option=first,
            speed=usd / cheapest,
            speed_to_on_demand=None if on_demand is None else usd / on_demand,
        )
