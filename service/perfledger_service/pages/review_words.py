"""Turns a review's decision into the sentences and figures of its first page."""

from dataclasses import dataclass

from perfledger_cost_models.decision import MIN_CHANCE
from perfledger_cost_models.procurement import YEARS
from perfledger_cost_models.review import Review, Unknown
from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean
from perfledger_service.pages.review_rows import cents, chance, day, plain

_MAX_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure of the first page, and what it is."""

    value: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionWords:
    """The first page in words."""

    take: str
    why: str
    facts: tuple[Fact, ...]
    no_switch: str


def decision_words(review: Review) -> DecisionWords:
    """Return the recommendation, its reason and its figures."""
    taken, decision = review.taken, review.decision
    name = clean(taken.way.name)
    devices = "" if taken.way.devices is None else f", {taken.way.devices:,} accelerators"
    return DecisionWords(
        take=f"Recommended: {name}{devices}" if review.is_change else f"Go on as today: {name}",
        why=_why(review),
        facts=_facts(review),
        no_switch="Nothing within the ranges of the inputs, one at a time."
        if decision.is_clear or review.is_change
        else "At the most likely inputs another option is cheaper already: see the reason above.",
    )


def outlook_words(review: Review) -> str:
    """Return the next quarter's budget in a sentence."""
    found = review.outlook
    if found.usd is None:
        return f"Not known: {found.why}."
    return (
        f"{cents(found.usd)} USD for {plain(found.hours)} useful hours: what is committed to at "
        f"what it costs, the rest at {clean(review.taken.way.name)}. The next review holds the "
        "bill against it (give it this review's JSON with --last)."
    )


def unknown_words(part: Unknown) -> str:
    """Return what is not known, why, and how to supply it, in a line."""
    return clean(
        f"Not known: {part.what}. Why: {part.why}. How to supply it: {part.how}.", limit=_MAX_TEXT
    )


def _why(review: Review) -> str:
    decision, kept = review.decision, clean(review.kept.way.name)
    if review.is_change:
        low, middle, high = decision.saving
        saving, interval = figures.yearly_usd(middle, low, high)
        clear = (
            "It is the best of all options nearly surely."
            if decision.is_clear
            else f"It is the best of {len(review.options)} options in "
            f"{chance(review.taken.chance_best)} of futures; where another turns out "
            "best, little is lost (regret, below)."
        )
        return (
            f"Over {YEARS} years it costs {saving} less than going on with {kept}, in today's "
            f"money ({interval} in nine futures of ten). {clear}"
        )
    best = decision.of(decision.best_mean)
    if best.way.key == decision.take:
        return "No option has a lower mean cost."
    return (
        f"{clean(best.way.name)} has the lowest mean cost, but is cheaper than today's way in only "
        f"{chance(best.chance_cheaper)} of futures: a change is recommended from "
        f"{figures.whole_share(MIN_CHANCE)} on."
    )


def _facts(review: Review) -> tuple[Fact, ...]:
    taken, decision = review.taken, review.decision
    low, middle, high = decision.saving
    saving, interval = figures.yearly_usd(middle, low, high)
    mean, p95 = (
        figures.yearly_usd(usd, usd, usd)[0] for usd in (decision.regret_mean, decision.regret_p95)
    )
    cheaper = (Fact(chance(taken.chance_cheaper), "of futures: cheaper than today's way"),)
    saved = (Fact(saving, f"saved over {YEARS} years, today's money ({interval}, 5 to 95 %)"),)
    return (
        Fact(chance(taken.chance_best), f"of futures: best of {len(review.options)}"),
        *(cheaper if review.is_change else ()),
        *(saved if review.is_change else ()),
        Fact(mean, f"regret on average, if another is best; {p95} or more in 5 % of futures"),
        Fact(day(review.expires), _expiry(review)),
        Fact(
            f"{cents(taken.npv)}{figures.NBSP}USD",
            f"cost over {YEARS} years at the most likely inputs, today's money",
        ),
    )


def _expiry(review: Review) -> str:
    if review.expires is None:
        return "the day until which these prices are good"
    if review.expires < review.made_on:
        return "was the last day of these prices: ask for new ones before anything is signed"
    return "is the last day of the prices of this option and of today's way"
