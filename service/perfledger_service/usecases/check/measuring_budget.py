"""Computes how long a check may measure under its caps on time and money, and what needs more."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation

from perfledger.bundle import Bundle
from perfledger.protocol import ChildRequest
from perfledger.records import Device, Machine, Run, Side
from perfledger.rounding import decimals, exact, integer
from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_baselines.judging.explanation import DecidedBy, explain_verdict, is_practical
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.planning.measuring_budget import MeasuringBudget, MeasuringBudgetError
from perfledger_cost_models.money import CENT
from perfledger_cost_models.prices.accelerator_names import accelerator_of
from perfledger_cost_models.prices.device_hour import (
    MAX_USD_PER_HOUR,
    MIN_USD_PER_HOUR,
    is_device_price,
)
from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.tco.hourly_rates import rate_of, standard_rates
from perfledger_runners.checkouts.source_tree import first_few
from perfledger_runners.measuring.paired_runs import PairedRuns
from perfledger_runners.measuring.rounds.admission import least_pair_s
from perfledger_runners.measuring.rounds.unmeasured import FutileWorkload
from perfledger_service.errors import UsageError
from perfledger_service.rendering.layout.number_format import duration, quantity
from perfledger_service.rendering.layout.vocabulary import metric_title
from perfledger_service.settings.check import CheckSettings
from perfledger_service.usecases.check.workloads.measuring_order import order_notes
from perfledger_service.usecases.inputs.price_books import current_sheet

MINUTES_FROM_S = 90.0  # shorter durations are shown in seconds
# Factor on the estimated seconds of the missing pairs: later pairs may take longer than those so
# far, and a round begins only if it fits.
SPARE = 1.3
TOO_NOISY = (
    "no practical number of pairs would: `perfledger bench doctor` finds what disturbs this "
    "machine; stop it, pin the check to cores of its own, or raise `margin`"
)
FEWER_AT_ONCE = "; -k measures fewer workloads in one check"


@dataclass(frozen=True, slots=True)
class MeasuringAllowance:
    """How long a check may measure, and notes on how that was computed."""

    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _MissingPairs:
    metric: str  # the one that lacks most
    measured: int  # with readings of the metric
    needed: int
    total: int  # with readings of any metric

    @property
    def rounds(self) -> int:
        """Return how many more pairs are needed if as many as so far have readings."""
        return math.ceil((self.needed - self.measured) * self.total / max(self.measured, 1))


@dataclass(frozen=True, slots=True)
class _DevicePrice:
    usd_per_hour: Decimal  # of one device
    source: str

    def __str__(self) -> str:
        """Return the price rounded to the cent, or with all its digits if below a cent."""
        usd = self.usd_per_hour
        return decimals(usd, 2) if usd >= CENT else exact(usd)


def measuring_allowance(
    settings: CheckSettings, machine: Machine, *, today: date
) -> MeasuringAllowance:
    """Return the smaller of what `budget` and `budget_usd` allow on this machine.

    Money is spent on all devices of the machine, whichever of them a workload uses. Raises
    UsageError if the price of an hour is unknown: a device without a price is not free.
    """
    if settings.budget_usd is None:
        return MeasuringAllowance(settings.budget)
    price = _device_price(settings, settings.budget_usd, machine, today=today)
    try:
        budget = MeasuringBudget(
            max_seconds=settings.budget,
            max_usd=settings.budget_usd,
            usd_per_hour=price.usd_per_hour * machine.count,
        )
    except MeasuringBudgetError as error:
        msg = f"device_price {settings.device_price!r}: {error}"
        raise UsageError(msg) from error
    note = (
        f"the cost of measuring was limited to {exact(settings.budget_usd)} USD: "
        f"{integer(budget.seconds)} s "
        f"of {machine.count} x {_name(machine)} at {price} USD an hour each "
        f"({price.source})"
    )
    return MeasuringAllowance(budget.seconds, (note,))


def budget_shortage(
    workloads: Sized, request: ChildRequest, *, fewest_pairs: int, seconds_left: float
) -> str:
    """Return how many workloads can have a test in the time left, "" if all may.

    It ends the name of the stage that measures, before the first pair.
    """
    most = max(0, int(seconds_left / (fewest_pairs * least_pair_s(request))))
    if most >= len(workloads):
        return ""
    return (
        f", for at most {integer(most)} of {quantity(len(workloads), 'workload')}: the budget is "
        "too short for more; choose with -k or paths"
    )


def budget_notes(bundle: Bundle, paired_runs: PairedRuns) -> tuple[str, ...]:
    """Return in which order workloads began, and what would settle those left undecided."""
    verdicts = judge_bundle(bundle)
    fewest = _fewest_pairs(bundle, verdicts)
    futile = {
        workload: facts for workload, facts in paired_runs.futile.items() if workload not in fewest
    }
    return (
        *order_notes(paired_runs.calls),
        *_too_few_pairs_notes(fewest, verdicts, paired_runs),
        *_futility_notes(bundle, verdicts, futile),
    )


def _fewest_pairs(bundle: Bundle, verdicts: Sequence[Verdict]) -> dict[str, _MissingPairs]:
    """Return the workloads that have too few pairs for a test of one of their metrics.

    Of a workload that had all planned pairs, readings are missing, whatever the budget was.
    """
    most = max(bundle.plan.looks, default=math.inf)
    fewest: dict[str, _MissingPairs] = {}
    for verdict in verdicts:
        explanation = explain_verdict(verdict, bundle.plan)
        needed = explanation.pairs_needed
        if explanation.decided_by is DecidedBy.TOO_FEW_PAIRS and needed is not None:
            runs = [run for run in bundle.runs if run.workload == verdict.workload]
            missing = _MissingPairs(
                metric=verdict.metric.name,
                measured=_pairs_with(run for run in runs if run.samples.get(verdict.metric.name)),
                needed=needed,
                total=_pairs_with(run for run in runs if any(run.samples.values())),
            )
            if missing.total >= most:
                continue
            before = fewest.get(verdict.workload, missing)
            fewest[verdict.workload] = max(before, missing, key=lambda pairs: pairs.rounds)
    return fewest


def _pairs_with(runs: Iterable[Run]) -> int:
    """Return how many pairs have a run of both sides among these."""
    return sum(sides == len(Side) for sides in Counter(run.pair for run in runs).values())


def _too_few_pairs_notes(
    fewest: Mapping[str, _MissingPairs], verdicts: Sequence[Verdict], paired_runs: PairedRuns
) -> tuple[str, ...]:
    """Return the note with a budget that gives each workload enough pairs for a test.

    Until then, each round has one pair of every workload that is still undecided.
    """
    seconds = paired_runs.seconds
    if not fewest or not all(seconds.get(each) for each in fewest):
        return ()
    open_workloads = {each.workload for each in verdicts if each.outcome is Outcome.UNDECIDED}
    round_s = sum(seconds.get(each, 0.0) for each in open_workloads)
    rounds = max(1, *(pairs.rounds for pairs in fewest.values()))
    budget_s = paired_runs.spent_s + SPARE * rounds * round_s
    missing = first_few([f"{each} ({_pairs_words(pairs)})" for each, pairs in fewest.items()])
    pair_s = max(seconds[each] for each in fewest)
    note = (
        f"the budget ended with too few pairs of {missing}: a pair took {duration(pair_s)}, and "
        f"`--budget {_budget_text(budget_s)}` would be enough for a test if the machine stays the "
        "same"
    )
    return (note + FEWER_AT_ONCE * (len(fewest) > 1),)


def _pairs_words(pairs: _MissingPairs) -> str:
    count = f"{pairs.measured} of {pairs.needed}"
    if pairs.measured == pairs.total:
        return count
    return f"{count} with readings of the {metric_title(pairs.metric)}, {pairs.total} in all"


def _futility_notes(
    bundle: Bundle, verdicts: Sequence[Verdict], futile: Mapping[str, FutileWorkload]
) -> tuple[str, ...]:
    """Return what would settle each workload that was stopped for futility and stays undecided."""
    notes: list[str] = []
    for workload, facts in futile.items():
        undecided = [
            each
            for each in verdicts
            if each.workload == workload and each.outcome is Outcome.UNDECIDED
        ]
        if not undecided:
            continue
        needed = [explain_verdict(each, bundle.plan).pairs_needed for each in undecided]
        most = None if None in needed else max(filter(None, needed))
        pair_s = facts.seconds_per_pair
        if most and is_practical(most, more=most - facts.pairs, seconds_per_pair=pair_s):
            advice = (
                f"about {quantity(most, 'pair')} would, in {duration(most * pair_s)}: raise "
                "`budget` and `max_pairs`, or `margin`"
            )
        else:
            advice = TOO_NOISY
        notes.append(
            f"measuring {workload} ended as futile after {quantity(facts.pairs, 'pair')}: the "
            f"remaining {integer(facts.seconds_left)} s of the budget were unlikely to "
            f"settle it; {advice}"
        )
    return tuple(notes)


def _budget_text(seconds: float) -> str:
    """Return a budget rounded up to a value that the option accepts."""
    if seconds <= MINUTES_FROM_S:
        return f"{10 * math.ceil(seconds / 10)}s"
    return f"{math.ceil(seconds / SECONDS_PER_MINUTE)}m"


def _device_price(
    settings: CheckSettings, limit_usd: Decimal, machine: Machine, *, today: date
) -> _DevicePrice:
    """Return the price of one device-hour: as declared, or from the price sheet."""
    declared_price = settings.device_price
    if not declared_price:
        raise UsageError(_no_price(limit_usd, machine, today=today))
    with suppress(InvalidOperation):
        return _declared_price(Decimal(declared_price))
    try:
        rate = rate_of(current_sheet(today=today), declared_price, today=today)
    except PriceMissingError as error:
        msg = f"device_price is neither USD an hour nor a purchase option: {error}"
        raise UsageError(msg) from error
    if rate.accelerator != _accelerator(machine):
        msg = (
            f"device_price {declared_price!r} is the price of {rate.accelerator}, but this check "
            f"measures on {_name(machine)}: set device_price to its price in USD per hour"
        )
        raise UsageError(msg)
    return _DevicePrice(rate.usd_per_device_hour, f"{rate.label}, {rate.dated}")


def _declared_price(usd_per_hour: Decimal) -> _DevicePrice:
    if not is_device_price(usd_per_hour):
        msg = (
            f"device_price is {usd_per_hour}: give the USD an hour of one device, from "
            f"{MIN_USD_PER_HOUR} to {MAX_USD_PER_HOUR}"
        )
        raise UsageError(msg)
    return _DevicePrice(usd_per_hour, "declared as device_price")


def _no_price(limit_usd: Decimal, machine: Machine, *, today: date) -> str:
    """Return what to set, with the purchase options of the machine's accelerator."""
    accelerator = _accelerator(machine)
    rates = standard_rates(current_sheet(today=today))
    options = [repr(rate.option) for rate in rates if rate.accelerator == accelerator]
    choices = " or to ".join(["its price in USD per hour", *options])
    return (
        f"budget_usd is {exact(limit_usd)}, but the price of an hour of {_name(machine)} is "
        f"unknown: set device_price to {choices}"
    )


def _accelerator(machine: Machine) -> str | None:
    if machine.device is Device.CPU:
        return None
    return accelerator_of(machine.model, machine.memory_bytes)


def _name(machine: Machine) -> str:
    return machine.model or str(machine.device)
