"""Words the answer of a cost comparison: the cheapest option, when it is, what would change it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from perfledger import rounding
from perfledger_cost_models.prices.price_sheet import Price
from perfledger_cost_models.prices.staleness import max_age_of
from perfledger_cost_models.quote import price_origin
from perfledger_cost_models.tco.buy_vs_rent import BreakEven
from perfledger_cost_models.tco.hourly_rates import PROVIDER_NAMES
from perfledger_cost_models.tco.onprem import QUANTILES, KeptYears
from perfledger_cost_models.tco.purchase_modes import terms_of
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Block,
    display,
    heading,
    name,
    sentences,
    table,
)
from perfledger_service.values.cost_views import AnswerSwitch, CostAnswer, CostRow, RequiredSpeed

_MAX_SWITCHES = 6
_TAIL = QUANTILES[0]  # of the draws: if one option is cheaper in fewer, the other counts as cheaper


def answer_blocks(
    answer: CostAnswer | None, *, use: float, piece: str, kept_years: KeptYears | None = None
) -> Iterator[Block]:
    """Yield the answer as one paragraph of at most two sentences."""
    if answer is None:
        yield from sentences(
            ["Unknown: no option here has a cost that can be ranked, so none is the cheapest."]
        )
        return
    rows = (
        *(answer.cheapest, answer.likeliest, answer.runner_up),
        *(answer.owned, answer.on_demand, answer.commitment),
    )
    quoted_rows = [*(row for row in rows if row), *(each.option for each in answer.speeds)]
    names = [row.price.sku if row.price else row.cost.name for row in quoted_rows]
    yield from sentences(
        [" ".join(answer_sentences(answer, use=use, piece=piece, kept_years=kept_years))],
        names=names,
    )


def answer_record(
    answer: CostAnswer | None, *, use: float, piece: str, kept_years: KeptYears | None = None
) -> Mapping[str, object]:
    """Return the answer for programs: its sentences, and its figures."""
    if answer is None:
        return {"sentences": (), "accelerator": None}
    rows = {
        "cheapest": answer.cheapest,
        "likeliest": answer.likeliest,
        "runner_up": answer.runner_up,
        "owned": answer.owned,
        "on_demand": answer.on_demand,
        "commitment": answer.commitment,
    }
    return {
        "sentences": tuple(answer_sentences(answer, use=use, piece=piece, kept_years=kept_years)),
        "accelerator": answer.accelerator,
        **{key: None if row is None else row.cost.name for key, row in rows.items()},
        "required_speeds": tuple(
            {
                "accelerator": each.accelerator,
                "option": each.option.cost.name,
                "speed": each.speed,
                "speed_to_on_demand": each.speed_to_on_demand,
            }
            for each in answer.speeds
        ),
        "switches": tuple(map(asdict, answer.switches)),
    }


def answer_sentences(
    answer: CostAnswer, *, use: float, piece: str, kept_years: KeptYears | None = None
) -> Iterator[str]:
    """Yield the cheapest option, owning's break-even, and the speeds other accelerators need."""
    rivals = [] if piece or answer.owned is None else list(_rivals(answer, use=use))
    years = f" for {years_phrase(kept_years)}" if kept_years else ""
    owning = f"; owning{years} is cheaper {', and '.join(rivals)}" if rivals else ""
    yield f"{_cheapest(answer, use=use, piece=piece)}{owning}."
    if answer.speeds:
        yield _speeds(answer)


def switches_blocks(answer: CostAnswer | None) -> Iterator[Block]:
    """Yield a table of what would change the answer."""
    if answer is None or answer.runner_up is None:
        return
    if not answer.switches:
        return
    yield heading("What would change the answer, one figure at a time")
    yield table(
        (
            name("", "if the", lambda row: row.figure),
            display("is now", lambda row: _amount(row.now, row.unit)),
            display("becomes", _becomes),
            name("", "then the cheapest is", lambda row: row.alternative),
        ),
        answer.switches[:_MAX_SWITCHES],
    )


def years_phrase(kept_years: KeptYears) -> str:
    """Return the years that owned devices are kept: "3 years", "5 years (3 to 6)"."""
    low, likely, high = map(rounding.digits, kept_years)
    return f"{likely} years" + ("" if low == high else f" ({low} to {high})")


def usd_text(usd: float) -> str:
    """Return an amount to the cent, and smaller ones to three digits."""
    return number_format.cents(usd) if usd >= 1 else rounding.digits(usd, 3)


def _cheapest(answer: CostAnswer, *, use: float, piece: str) -> str:
    """Return the cheapest option with its cost and chance, and the runner-up."""
    subject = (
        f"{piece} costs least"
        if piece
        else f"a useful hour of one {answer.accelerator} costs least"
    )
    text = (
        f"At an allocated share of {number_format.margin(use)}, {subject} "
        f"{_phrase(answer.cheapest)}{_origin(answer.cheapest)}: {_usd(answer.cheapest)} USD"
    )
    second = answer.runner_up
    if second is None:
        what = "the only option" if piece else f"the only option of {answer.accelerator}"
        return f"{text}, {what} here that can be ranked"
    if _usd(second) == _usd(answer.cheapest):
        return f"{text}, as much as {_phrase(second)}"
    first_chance, chance = _chance(answer.cheapest), _chance(second)
    if (likeliest := answer.likeliest) is not answer.cheapest:
        return (
            f"{text} (the cheapest in {first_chance} of the draws), about as much as "
            f"{_phrase(likeliest)}, {_usd(likeliest)} ({_chance(likeliest)})"
        )
    return (
        f"{text} (the cheapest in {first_chance} of the draws); next is {_phrase(second)}, "
        f"{_usd(second)} ({chance})"
    )


def _chance(row: CostRow) -> str:
    return number_format.whole_share((row.work or row.cost).chance_cheapest)


def _origin(row: CostRow) -> str:
    """Return the region and the day of a price, and whether it is older than it stays valid."""
    price = row.price
    if price is None:
        return ""
    origin = price_origin(price.region, price.as_of, is_read_date=price.is_read_date)
    kind = max_age_of(price.pricing_model)
    age = f"; older than {kind} prices stay valid" if row.is_outdated else ""
    return f" ({origin}{age})"


def _usd(row: CostRow) -> str:
    return usd_text((row.work or row.cost).p50_usd)


def _phrase(row: CostRow) -> str:
    """Return an option in words: "owned", "on AWS p5.48xlarge on demand"."""
    if row.price is None:
        dated = f", server price {row.server_price.dated}" if row.server_price else ""
        return f"owned ({row.cost.name}{dated})"
    terms = (row.price.pricing_model, row.price.option_term)
    provider = PROVIDER_NAMES.get(row.price.provider, row.price.provider)
    words = " ".join(term.replace("_", " ") for term in terms if term)
    return f"on {provider} {row.price.sku} {words}"


def _rivals(answer: CostAnswer, *, use: float) -> Iterator[str]:
    """Yield the shares from which owning is cheaper than on demand and than a commitment."""
    on_demand, committed = answer.on_demand, answer.commitment
    if on_demand is not None and on_demand.break_even is not None:
        yield f"than on demand ({_usd(on_demand)}) {_from(on_demand.break_even)}"
    if committed is not None and committed.break_even is not None and committed.price is not None:
        rate = usd_text(committed.cost.mode_usd * use)
        interest = " with interest on what is paid upfront" if _is_upfront(committed.price) else ""
        is_cheapest = committed is answer.cheapest
        phrase = "that commitment" if is_cheapest else _phrase(committed).removeprefix("on ")
        yield (
            f"than {phrase} ({rate} for every hour of the term{interest}) "
            f"{_from(committed.break_even)} if that is sized to the hours used"
            f"{_equal_size(committed.equal_size_chance)}"
        )


def _is_upfront(price: Price) -> bool:
    return terms_of(price).upfront_share > 0


def _from(shares: BreakEven) -> str:
    """Return the share from which owning is cheaper, with the ends of its 90 % interval."""
    low, middle, high = (
        "no share" if share is None else number_format.whole_share(share)
        for share in (shares.p5, shares.p50, shares.p95)
    )
    if shares.p5 is None:
        return "at no share"
    if shares.p50 is None:
        return f"at no share (or from {low} on, at the low end of its 90 % interval)"
    return f"from {middle} on ({low} to {high})"


def _equal_size(chance: float | None) -> str:
    """Return whether owning or a commitment of as many devices is cheaper, or neither."""
    if chance is None:
        return ""
    if _TAIL < chance < 1 - _TAIL:
        share = number_format.whole_share(chance)
        return (
            "; sized to the devices owned, both cost about the same (owning is cheaper in "
            f"{share} of the draws)"
        )
    which = "owning" if chance > 1 / 2 else "that commitment"
    share = number_format.whole_share(max(chance, 1 - chance))
    return f"; sized to the devices owned, {which} is cheaper (in {share} of the draws)"


def _speeds(answer: CostAnswer) -> str:
    """Return the speeds above which other accelerators cost less for the same work."""
    parts = "; ".join(_required_speed(each, answer) for each in answer.speeds)
    return f"The same work costs less than that {parts} of the {answer.accelerator}'s speed."


def _required_speed(required: RequiredSpeed, answer: CostAnswer) -> str:
    """Return the speed that an accelerator must exceed; for a TPU port also against on demand."""
    is_port = required.accelerator.startswith("TPU")
    against = ""
    if (
        is_port
        and required.speed_to_on_demand is not None
        and answer.cheapest is not answer.on_demand
    ):
        against = (
            f" ({_ratio(required.speed_to_on_demand)} to cost less than the {answer.accelerator} "
            "on demand)"
        )
    subject = "the port reaches" if is_port else "it reaches"
    return (
        f"on {required.accelerator}, {_phrase(required.option).removeprefix('on ')} "
        f"({_usd(required.option)}), if {subject} more than {_ratio(required.speed)}{against}"
    )


def _ratio(speed: float) -> str:
    return number_format.whole_share(speed)


def _amount(value: float, unit: str) -> str:
    if unit == "share":
        return number_format.whole_share(value)
    return f"{rounding.digits(value)} {unit}"


def _becomes(switch: AnswerSwitch) -> str:
    side = "at most" if switch.value < switch.now else "at least"
    return f"{side} {_amount(switch.value, switch.unit)}"
