"""Words a review's decision for its first page."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from perfledger_cost_models.procurement.cost_model import YEARS
from perfledger_cost_models.procurement.decision import MIN_CHANCE
from perfledger_cost_models.review.document import Review, UnknownFigure
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.review.commitment_rows import other_size_sentence
from perfledger_service.rendering.review.rows import chance, day, plain_number, whole_usd
from perfledger_service.rendering.review.whole_dollars import whole_difference, whole_parts

_MAX_TEXT = 2000
# A bill may lack a few last days.
MIN_COVERED_SHARE = Decimal("0.9")
# From the first to the last day of a week without usage.
MIN_GAP = timedelta(days=6)
_LEAST_ROUNDED_USD = 1000  # amounts below it would have cents if they had three digits


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One figure on the first page with its caption."""

    value: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPage:
    """The first page in words."""

    take: str
    why: str
    facts: tuple[KeyFigure, ...]
    no_switch: str


def first_page(review: Review) -> FirstPage:
    """Return the recommendation, its reason and its figures."""
    choice, decision = review.choice, review.decision
    name = clean(choice.option.name)
    devices = "" if choice.option.devices is None else f", {choice.option.devices:,} accelerators"
    return FirstPage(
        take=f"Recommended: {name}{devices}"
        if review.is_change
        else f"Keep today's option: {name}",
        why=" ".join(
            filter(
                None,
                (
                    _why(review),
                    other_size_sentence(review),
                    _short_bill(review),
                    _not_compared(review),
                ),
            )
        ),
        facts=_facts(review),
        no_switch="No single input within its range."
        if decision.is_clear or review.is_change
        else "At the most likely inputs another option is already cheaper: see the reason above.",
    )


def outlook_sentence(review: Review) -> str:
    """Return the budget of the next quarter as a sentence."""
    expected = review.expected_quarter
    if expected.usd is None:
        return f"Unknown: {expected.reason}."
    return (
        f"{whole_usd(expected.usd)} USD for {plain_number(expected.hours)} paid hours: "
        f"{'; '.join(_budget_parts(review))}. {''.join(_budget_remarks(review))}The next review "
        "compares the bill with it (pass this review's JSON with --previous)."
    )


def _budget_parts(review: Review) -> Iterator[str]:
    """Yield the parts that add up to the budget."""
    budget = review.budget
    commitments, before, after = whole_parts(
        (budget.held_usd or Decimal(0), budget.usd_before, budget.usd_after)
    )
    if budget.held_usd:
        yield f"{whole_usd(commitments)} USD for existing commitments"
    if budget.hours_before:
        rate = number_format.cents(budget.rate_before)
        yield (
            f"{whole_usd(before)} USD for {plain_number(budget.hours_before)} hours "
            f"before {number_format.day(budget.signed_on)} beyond the existing supply, at "
            f"today's {rate} USD an hour"
        )
    if budget.usd_after:
        name, hours = clean(review.choice.option.name), plain_number(budget.hours_after)
        yield (
            f"{whole_usd(after)} USD for {name} from the first day on which it can be "
            f"signed, {number_format.day(budget.signed_on)}: everything it commits to, and the "
            f"part of {hours} hours that it does not cover"
        )


def _budget_remarks(review: Review) -> Iterator[str]:
    """Yield what is due at once, and why the budget differs from the forecast from past usage."""
    budget = review.budget
    if budget.due_once_usd and review.choice.option.server is not None:
        price = whole_usd(budget.due_once_usd)
        yield f"The servers' price, {price} USD, is due at delivery and not in the budget. "
    elif budget.due_once_usd:
        yield (
            f"Signing makes {whole_usd(budget.due_once_usd)} USD due at once, which the budget "
            "spreads over the term, as the effective cost of a bill does. "
        )
    yield from _beside_the_budget(review)
    if budget.as_today_usd is None:
        return
    saved = whole_difference(budget.as_today_usd, review.expected_quarter.usd or Decimal(0))
    if saved:
        yield (
            f"Bought as today it would be {whole_usd(budget.as_today_usd)} USD: the option "
            f"{'saves' if saved > 0 else 'adds'} {whole_usd(abs(saved))} USD in this quarter. "
        )
    if budget.forecast_usd is not None:
        apart = whole_difference(budget.forecast_usd, budget.as_today_usd)
        yield (
            f"Past usage alone forecasts {whole_usd(budget.forecast_usd)} USD, "
            f"{whole_usd(abs(apart))} USD {'more' if apart > 0 else 'less'} than as today: it "
            "continues past spend, while the budget has the plan's hours at today's prices. "
        )


def _beside_the_budget(review: Review) -> Iterator[str]:
    """Yield what else the bill has, which the budget does not contain."""
    bill_part = review.demand.bill_part
    if bill_part is None or not bill_part.beside_usd:
        return
    parts = [(clean(name), usd) for name, usd in bill_part.accelerators_usd.items() if usd]
    parts += [("everything else", bill_part.rest_usd)] if bill_part.rest_usd else []
    amounts_usd = whole_parts([usd for _, usd in parts])
    amounts = "; ".join(
        f"{name}: {whole_usd(usd)}" for (name, _), usd in zip(parts, amounts_usd, strict=True)
    )
    yield (
        f"The budget has {clean(review.model.accelerator)} only: the bill has "
        f"{whole_usd(bill_part.beside_usd)} USD besides in {plain_number(bill_part.days)} days "
        f"({amounts}). "
    )


def unknown_line(part: UnknownFigure) -> str:
    """Return an unknown figure with its reason and remedy, in one line."""
    return clean(
        f"Unknown: {part.name}. Reason: {part.reason}. Remedy: {part.remedy}.", limit=_MAX_TEXT
    )


def _why(review: Review) -> str:
    decision, status_quo = review.decision, clean(review.status_quo.option.name)
    if review.is_change:
        low, middle, high = decision.saving
        saving, interval = number_format.yearly_usd(middle, low, high)
        loss = _forecast_usd(decision.regret_if_not_best)
        regret = (
            ""
            if decision.is_clear
            else f"; where another option is best, that one costs {loss} less on average"
        )
        return (
            f"Over {YEARS} years it costs {saving} less than {status_quo}, in "
            "today's "
            f"money ({interval} in 90 % of the futures). It is the best of "
            f"{len(review.options)} options in {chance(review.choice.chance_best)} of the "
            f"simulated futures{regret}."
        )
    best = decision.of(decision.best_mean)
    if best.option.key == decision.recommendation:
        return "No option has a lower mean cost."
    return (
        f"{clean(best.option.name)} has the lowest mean cost, but is cheaper than today's option "
        f"in only {chance(best.chance_cheaper)} of futures: a change is recommended only from "
        f"{number_format.whole_share(MIN_CHANCE)} on."
    )


def _short_bill(review: Review) -> str:
    """Return how much of the quarter the demand rests on, if that is not nearly all of it."""
    bill_part = review.demand.bill_part
    if bill_part is None or not bill_part.are_hours_billed:
        return ""
    sentences: list[str] = []
    if bill_part.days < MIN_COVERED_SHARE * bill_part.quarter_days:
        sentences.append(
            f"The hours needed are those of {plain_number(bill_part.days)} of the "
            f"{bill_part.quarter_days} days of {review.quarter.name}, which the bill covers."
        )
    if bill_part.gap is not None and bill_part.gap[1] - bill_part.gap[0] >= MIN_GAP:
        first, last = map(number_format.day, bill_part.gap)
        sentences.append(
            f"The bill has no usage from {first} to {last}: if a part of the export is missing, "
            "more hours are needed."
        )
    return " ".join(sentences)


def _not_compared(review: Review) -> str:
    names = "; ".join(clean(each.name) for each in review.model.unpriced)
    if not names:
        return ""
    return f"Not compared, as their cost is unknown (section 4 says why): {names}."


def _facts(review: Review) -> tuple[KeyFigure, ...]:
    choice, decision = review.choice, review.decision
    low, middle, high = decision.saving
    saving, interval = number_format.yearly_usd(middle, low, high)
    cheaper = (KeyFigure(chance(choice.chance_cheaper), "of futures: cheaper than today's option"),)
    saved = (KeyFigure(saving, f"saved over {YEARS} years, today's money ({interval}, 5 to 95 %)"),)
    return (
        KeyFigure(chance(choice.chance_best), f"of futures: best of {len(review.options)}"),
        *(cheaper if review.is_change else ()),
        *(saved if review.is_change else ()),
        _regret_fact(review),
        KeyFigure(day(review.expires), _expiry(review)),
        KeyFigure(
            f"{whole_usd(choice.npv)}{number_format.NBSP}USD",
            f"cost over {YEARS} years at the most likely inputs, today's money",
        ),
    )


def _regret_fact(review: Review) -> KeyFigure:
    if not review.decision.regret_mean:
        return KeyFigure(
            _forecast_usd(Decimal(0)), "regret: no other option is best in any simulated future"
        )
    words = "regret on average of the futures in which another option is best"
    if whole_usd(review.decision.regret_p95) != "0":
        words += f"; {_forecast_usd(review.decision.regret_p95)} or more in 5 % of all futures"
    return KeyFigure(_forecast_usd(review.decision.regret_if_not_best), words)


def _forecast_usd(usd: Decimal) -> str:
    """Return an amount of a forecast, to three digits and without cents."""
    if usd < _LEAST_ROUNDED_USD:
        return f"{whole_usd(usd)}{number_format.NBSP}USD"
    return number_format.yearly_usd(usd, usd, usd)[0]


def _expiry(review: Review) -> str:
    if review.expires is None:
        return "last day on which these prices are valid"
    if review.expires < review.made_on:
        return "was the last day of these prices: get new quotes before signing"
    return "is the last day of the prices of this and of today's option"
