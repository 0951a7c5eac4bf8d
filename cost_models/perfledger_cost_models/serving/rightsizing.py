"""Finds the cheapest devices that meet a P99 at a demanded rate.

Requests are distributed over replicas at random. The plan includes headroom: the growth of the
demand during the time that it takes to start more replicas.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from perfledger.load import MAX_POINTS, MAX_REQUESTS
from perfledger.rounding import digits, for_programs
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.serving.load_curve import LoadCurve, LoadPoint
from perfledger_cost_models.serving.replica_settings import ReplicaSettings, settings_of
from perfledger_cost_models.units import MILLION

# Probability from which an option is accepted, or rejected. An option is accepted if its P99 is
# within the limit with this probability, and rejected if the probability is below the complement:
# two decisions at 99 % are wrong in at most one case of fifty.
SURE_CHANCE = 0.99
LIKELY_CHANCE = 0.5  # the lowest at which it is a likely answer
MAX_BEST_OPTIONS = 3
MAX_REPLICAS = 100_000  # more is a typing error in the rate
# Replicas relative to those that the capacity requires: with more, latency falls no further.
MAX_SPARE = 64
# Most undecided numbers of replicas of one setting, from the fewest that may suffice to the most
# that may not: far more than a measured curve leaves open.
MAX_RIVALS = 1000
# Step of the first search by number of replicas; the range between two steps is then bisected.
LADDER = 1.25
SPARE_STEPS = math.ceil(math.log(MAX_SPARE, LADDER))
# Standard deviations from the limit until which a rival's P99 is measured, so that it stays decided
# if the next measurement moves it slightly.
RESOLVED_SDS = 4.0
# Least distance to the limit that a measurement can decide, relative to it. Relative distance to
# the limit below which no measurement can decide: a P99 varies by half of it from run to run
# (latency_model.MIN_SPREAD).
MIN_RATE_DISTANCE = 0.002
UNKNOWN_RATE_DISTANCE = 0.2  # if a queue may be unbounded
SAME_RATE = 0.01  # an undecided measurement at this relative distance is repeated twice as long
MIN_REQUESTS = 1000  # with fewer a P99 is close to the maximum
MAX_RUN_REQUESTS = (MAX_POINTS - 1) * MAX_REQUESTS  # of one run of `perfledger bench load`
# Relative scale of an exponential tail, for latencies without a P95.
HALVINGS = 20  # of the rates that a replica may keep up with: a millionth of them is left
_TAIL = 1 / math.log(100)


class SizingError(ValueError):
    """An invalid demand."""


class SizingConstraint(StrEnum):
    """What prevents one replica less, or a cheaper option."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    MEMORY = "memory"
    HEADROOM = "headroom"
    SMALLEST = "smallest"  # one replica is enough


class SizingVerdict(StrEnum):
    """Whether the cheapest option is known."""

    DECIDED = "decided"
    UNDECIDED = "undecided"
    NONE = "none"  # no measured setting meets the demand


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingDemand:
    """A rate of single requests at random times, and their P99 limit."""

    rate_per_second: float
    p99_s: float
    headroom: float = 0.2

    def __post_init__(self) -> None:
        for name, value in (("rate", self.rate_per_second), ("P99", self.p99_s)):
            if not 0 < value < math.inf:
                msg = f"the {name} is {value}: use one above zero"
                raise SizingError(msg)
        if not 0 <= self.headroom < math.inf:
            msg = (
                f"the headroom is {for_programs(self.headroom * 100)} %: give a percentage of 0 "
                "or more"
            )
            raise SizingError(msg)

    @property
    def planned_per_second(self) -> float:
        """Return the rate with its headroom."""
        return self.rate_per_second * (1 + self.headroom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """The price of a device-hour, and the number of devices sold together."""

    rate: HourlyRate
    sold_together: int = 1

    def paid_devices(self, devices: int) -> int:
        """Return how many devices are paid for if `devices` are needed."""
        return math.ceil(devices / self.sold_together) * self.sold_together

    def usd_per_hour(self, devices: int) -> Decimal:
        """Return the hourly cost of a number of devices, including those sold with them."""
        return self.rate.usd_per_device_hour * self.paid_devices(devices)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizingPlan:
    """A number of replicas of a setting; costs are None without a price."""

    setting: ReplicaSettings
    replicas: int
    devices: int
    tariff: Tariff | None
    usd_per_hour: Decimal | None
    chance: float  # probability that the P99 is within its limit

    @property
    def cost(self) -> tuple[bool, Decimal]:
        """Return the sort key of plans: cost, then devices; plans without a cost come last."""
        usd = self.usd_per_hour
        return usd is None, Decimal(self.devices) if usd is None else usd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizedOption:
    """A plan with its cost, latency and constraint."""

    plan: SizingPlan
    usd_per_million: Decimal | None  # per million requests at the demanded rate
    replica_rate: float  # requests per second and replica, with headroom
    p99_s: tuple[float, float, float | None]  # low, middle, high; None: possibly unbounded
    most_per_second: float  # of all replicas, with the P99 within the limit at 50 %
    constraint: SizingConstraint


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RivalOption:
    """A cheaper option that may meet the demand, and the measurement that would decide."""

    option: SizedOption
    requests: int | None  # to measure at its rate; None: too near the limit to decide


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizingResult:
    """The best options, cheapest first, and whether the first is known to be the cheapest."""

    demand: ServingDemand
    verdict: SizingVerdict
    best: tuple[SizedOption, ...]
    rivals: tuple[RivalOption, ...]  # all undecided ones cheaper than the best, likeliest first
    settings: tuple[ReplicaSettings, ...]
    left_out: tuple[str, ...]  # reasons
    errors: tuple[tuple[float, ...], ...] = ()  # of each of the best, see `with_errors`

    @property
    def next_measurement(self) -> RivalOption | None:
        """Return the rival whose measurement is most informative: its chance is nearest to even.

        Returns None if all are too near the limit to decide.
        """
        measurable = [rival for rival in self.rivals if rival.requests is not None]
        return min(
            measurable,
            key=lambda rival: abs(rival.option.plan.chance - LIKELY_CHANCE),
            default=None,
        )


def right_size(
    curves: Sequence[LoadCurve], tariffs: Mapping[str, Sequence[Tariff]], demand: ServingDemand
) -> SizingResult:
    """Return the cheapest options that meet a demand; without prices the fewest devices.

    `tariffs` are by accelerator. Options without a price rank last. Raises LoadCurveError.
    """
    options = [(curve, settings_of(curve)) for curve in curves]
    settings = tuple(setting for _, option_settings in options for setting in option_settings)
    sure: list[SizingPlan] = []
    open_: list[SizingPlan] = []
    too_large: list[SizingPlan] = []
    left_out = [
        f"{curve.workload} on {curve.device}: overloaded at every rate; measure lower rates"
        for curve, option_settings in options
        if not option_settings
    ]
    for setting in settings:
        offers = tariffs.get(setting.curve.accelerator or "", ())
        enough, possible = _plans(setting, offers, demand)
        if not setting.fits_memory:
            left_out.append(f"{setting.label}: needs more memory than the device has")
            too_large += enough
            continue
        if not (enough or possible):
            left_out.append(_too_slow(setting))
        elif not offers:
            left_out.append(f"{setting.label}: no price for this device; compared by device count")
        sure += () if setting.is_even else enough
        open_ += (*possible, *enough) if setting.is_even else possible
    sure.sort(key=lambda plan: _rank(plan, demand))
    best = [_option(plan, demand) for plan in sure[:MAX_BEST_OPTIONS]]
    if any(plan.cost < sure[0].cost for plan in too_large if sure):
        best[0] = replace(best[0], constraint=SizingConstraint.MEMORY)
    rivals = [plan for plan in open_ if not sure or plan.cost < sure[0].cost]
    rivals.sort(key=lambda plan: -plan.chance)
    verdict = (
        SizingVerdict.UNDECIDED if rivals else SizingVerdict.DECIDED if best else SizingVerdict.NONE
    )
    return SizingResult(
        demand=demand,
        verdict=verdict,
        best=tuple(best),
        rivals=tuple(_rival(plan, demand) for plan in rivals),
        settings=settings,
        left_out=tuple(left_out),
    )


def with_errors(sizing: SizingResult) -> SizingResult:
    """Return the result with the prediction errors of the best options' points."""
    return replace(sizing, errors=tuple(each.plan.setting.errors() for each in sizing.best))


def _too_slow(setting: ReplicaSettings) -> str:
    least_s = min(point.latency_p99_s for point in setting.points)
    full = " of full batches" if setting.batch > 1 else ""
    return (
        f"{setting.label}: no number of replicas meets the P99; the lowest measured{full} is "
        f"{digits(least_s, 4)} s"
    )


def _plans(
    setting: ReplicaSettings, offers: Sequence[Tariff], demand: ServingDemand
) -> tuple[list[SizingPlan], list[SizingPlan]]:
    """Return the smallest sure plan, if any, and the smaller plans that are possible.

    If none is sure, the smallest plan with an even chance, or else that with the best chance, is
    the most informative to measure.
    """
    planned = demand.planned_per_second

    def chance(replicas: int) -> float:
        return setting.chance(planned / replicas, demand.p99_s)

    def plan(replicas: int) -> SizingPlan:
        devices = setting.devices(replicas)
        tariff = min(offers, key=lambda each: each.usd_per_hour(devices), default=None)
        return SizingPlan(
            setting=setting,
            replicas=replicas,
            devices=devices,
            tariff=tariff,
            usd_per_hour=None if tariff is None else tariff.usd_per_hour(devices),
            chance=chance(replicas),
        )

    least = max(1, math.floor(planned / setting.batch / setting.fit.capacity / 2))
    first = _fewest(chance, least, 1 - SURE_CHANCE)
    if first is None:
        return [], []
    last = _fewest(chance, first, SURE_CHANCE)
    if last is not None:
        rivals = range(first, min(last, first + MAX_RIVALS))
        return [plan(last)], [plan(count) for count in rivals]
    most = max(chance(math.ceil(first * LADDER**step)) for step in range(SPARE_STEPS))
    likely = _fewest(chance, first, min(LIKELY_CHANCE, most))
    return [], [plan(count) for count in sorted({first, likely or first})]


def _fewest(chance: Callable[[int], float], least: int, level: float) -> int | None:
    """Return the fewest replicas that reach a chance, which at first grows with their number."""
    while least > 1 and chance(least) >= level:
        least //= 2
    below, count = least - 1, least
    while chance(count) < level:
        below, count = count, max(count + 1, math.floor(count * LADDER))
        if count > min(MAX_REPLICAS, least * MAX_SPARE):
            return None
    while count - below > 1:
        middle = (below + count) // 2
        below, count = (middle, count) if chance(middle) < level else (below, middle)
    return count


def _rank(
    plan: SizingPlan, demand: ServingDemand
) -> tuple[tuple[bool, Decimal], int, float, float]:
    """Return the sort key of sure plans: cost, devices, and then distance to the limit."""
    return plan.cost, plan.devices, -round(plan.chance, 3), _p99_s(plan, demand)[1]


def _p99_s(plan: SizingPlan, demand: ServingDemand) -> tuple[float, float, float | None]:
    """Return the low, middle and high P99 of a plan's requests; None: possibly unbounded."""
    setting, rate = plan.setting, demand.planned_per_second / plan.replicas
    estimate, fill_s = setting.at(rate), setting.fill_s(rate)
    low, middle, high = (estimate.quantile_s(share) for share in (0.025, 0.5, 0.975))
    return (
        (low or 0.0) + fill_s,
        math.inf if middle is None else middle + fill_s,
        None if high is None else high + fill_s,
    )


def _option(plan: SizingPlan, demand: ServingDemand) -> SizedOption:
    setting, rate = plan.setting, demand.planned_per_second / plan.replicas
    usd, millions = (
        plan.usd_per_hour,
        to_decimal(demand.rate_per_second) * SECONDS_PER_HOUR / MILLION,
    )
    return SizedOption(
        plan=plan,
        usd_per_million=None if usd is None else usd / millions,
        replica_rate=rate,
        p99_s=_p99_s(plan, demand),
        most_per_second=plan.replicas * _most(setting, rate, demand.p99_s),
        constraint=_constraint(setting, plan.replicas, demand),
    )


def _rival(plan: SizingPlan, demand: ServingDemand) -> RivalOption:
    option = _option(plan, demand)
    return RivalOption(option=option, requests=_requests(option, demand))


def _most(setting: ReplicaSettings, rate: float, p99_s: float) -> float:
    """Return the highest rate at which a replica meets its P99 with an even chance."""
    low, high = 0.0, setting.fit.capacity * setting.batch * 2
    if setting.chance(rate, p99_s) >= LIKELY_CHANCE:
        low = rate
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_kept = setting.chance(middle, p99_s) >= LIKELY_CHANCE
        low, high = (middle, high) if is_kept else (low, middle)
    return low


def _constraint(setting: ReplicaSettings, replicas: int, demand: ServingDemand) -> SizingConstraint:
    """Return the constraint that one replica fewer would violate."""
    if replicas == 1:
        return SizingConstraint.SMALLEST
    if setting.chance(demand.rate_per_second / (replicas - 1), demand.p99_s) >= SURE_CHANCE:
        return SizingConstraint.HEADROOM
    planned = demand.planned_per_second / (replicas - 1) / setting.batch
    is_full = planned >= setting.fit.capacity
    return SizingConstraint.THROUGHPUT if is_full else SizingConstraint.LATENCY


def _requests(option: SizedOption, demand: ServingDemand) -> int | None:
    """Return how many requests at an option's rate decide on which side of the limit it is."""
    setting = option.plan.setting
    rate = option.replica_rate / setting.batch
    limit_s = demand.p99_s - setting.fill_s(option.replica_rate)
    estimate = setting.at(option.replica_rate)
    low, middle, high = (estimate.quantile_s(share) for share in (0.16, 0.5, 0.84))
    if low is None or middle is None or high is None:
        distance = UNKNOWN_RATE_DISTANCE
    else:  # at least one standard deviation, by which the estimate may be off
        distance = max(abs(math.log(limit_s / middle)), math.log(high / low) / 2)
    if distance < MIN_RATE_DISTANCE:
        return None
    points = [point for point in setting.points if point.latency_p95_s is not None]
    near = min(points, key=lambda point: abs(point.throughput_per_second - rate), default=None)
    tail = _TAIL
    if near is not None and near.latency_p95_s is not None:
        tail = math.log(near.latency_p99_s / near.latency_p95_s) / math.log(5)
    needed = 99 * setting.fit.thinning(rate) * (RESOLVED_SDS * tail / distance) ** 2
    before = [point.completed or 0 for point in points if _is_at(point, rate)]
    return min(max(math.ceil(needed), 2 * sum(before), MIN_REQUESTS), MAX_RUN_REQUESTS)


def _is_at(point: LoadPoint, rate: float) -> bool:
    offered = point.offered_per_second
    return offered is not None and abs(offered / rate - 1) < SAME_RATE
