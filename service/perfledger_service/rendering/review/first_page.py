"""Words a review's decision for its first page."""

from dataclasses import dataclass

from perfledger_cost_models.procurement.cost_model import YEARS
from perfledger_cost_models.procurement.decision import MIN_CHANCE
from perfledger_cost_models.review.document import Review, UnknownFigure
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.review.rows import chance, day, plain_number, whole_usd

_MAX_TEXT = 2000


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One figure of the first page with its caption."""

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
        why=_why(review),
        facts=_facts(review),
        no_switch="No single input within its range."
        if decision.is_clear or review.is_change
        else "At the most likely inputs another option is cheaper already: see the reason above.",
    )


def outlook_sentence(review: Review) -> str:
    """Return the budget of the next quarter as a sentence."""
    expected = review.expected_quarter
    if expected.usd is None:
        return f"Unknown: {expected.reason}."
    hour = review.choice.hour
    rate = "" if hour is None else f"{number_format.cents(hour)} USD an hour, the mean of "
    return (
        f"{whole_usd(expected.usd)} USD for {plain_number(expected.hours)} paid hours: "
        f"commitments at their cost, the rest at {rate}{clean(review.choice.option.name)}. The "
        "next review compares the bill with it (pass this review's JSON with --previous)."
    )


def unknown_line(part: UnknownFigure) -> str:
    """Return an unknown figure with its reason and remedy, in a line."""
    return clean(
        f"Unknown: {part.name}. Reason: {part.reason}. Remedy: {part.remedy}.", limit=_MAX_TEXT
    )


def _why(review: Review) -> str:
    decision, status_quo = review.decision, clean(review.status_quo.option.name)
    if review.is_change:
        low, middle, high = decision.saving
        saving, interval = number_format.yearly_usd(middle, low, high)
        clear = (
            "It is almost certainly the best of all options."
            if decision.is_clear
            else f"It is the best of {len(review.options)} options in "
            f"{chance(review.choice.chance_best)} of the simulated futures; if another option "
            "turns out best, little is lost (see regret below)."
        )
        return (
            f"Over {YEARS} years it costs {saving} less than {status_quo}, in "
            "today's "
            f"money ({interval} in 90 % of the futures). {clear}"
        )
    best = decision.of(decision.best_mean)
    if best.option.key == decision.recommendation:
        return "No option has a lower mean cost."
    return (
        f"{clean(best.option.name)} has the lowest mean cost, but is cheaper than today's option "
        "in only "
        f"{chance(best.chance_cheaper)} of futures: a change is recommended from "
        f"{number_format.whole_share(MIN_CHANCE)} on."
    )


def _facts(review: Review) -> tuple[KeyFigure, ...]:
    choice, decision = review.choice, review.decision
    low, middle, high = decision.saving
    saving, interval = number_format.yearly_usd(middle, low, high)
    mean, p95 = (
        number_format.yearly_usd(usd, usd, usd)[0]
        for usd in (decision.regret_mean, decision.regret_p95)
    )
    cheaper = (KeyFigure(chance(choice.chance_cheaper), "of futures: cheaper than today's option"),)
    saved = (KeyFigure(saving, f"saved over {YEARS} years, today's money ({interval}, 5 to 95 %)"),)
    return (
        KeyFigure(chance(choice.chance_best), f"of futures: best of {len(review.options)}"),
        *(cheaper if review.is_change else ()),
        *(saved if review.is_change else ()),
        KeyFigure(mean, f"regret on average, if another is best; {p95} or more in 5 % of futures"),
        KeyFigure(day(review.expires), _expiry(review)),
        KeyFigure(
            f"{whole_usd(choice.npv)}{number_format.NBSP}USD",
            f"cost over {YEARS} years at the most likely inputs, today's money",
        ),
    )


def _expiry(review: Review) -> str:
    if review.expires is None:
        return "last day on which these prices are valid"
    if review.expires < review.made_on:
        return "was the last day of these prices: get new quotes before signing"
    return "is the last day of the prices of this and of today's option"
