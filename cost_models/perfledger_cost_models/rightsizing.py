"""Load curves, prices and a demand into the cheapest devices that meet a P99, or what is undecided.

Requests are spread over replicas at random. The demand is planned with its headroom: what it may
grow by before more can be started, growth times the time that a start takes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from perfledger.load import MAX_POINTS, MAX_REQUESTS
from perfledger_cost_models.load_curve import LoadCurve, LoadPoint
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.quote import Rate
from perfledger_cost_models.replica import Setting, settings_of

# An option is taken whose P99 is within the limit with this chance, and one is left out that has
# less than the rest: two looks at 99 % each are wrong together in at most one case of fifty.
SURE = 0.99
LIKELY = 0.5
BEST = 3
MAX_REPLICAS = 100_000
# So many times more replicas than the capacity asks for: latency falls no further.
MOST_SPARE = 64
# Of one setting, between the fewest replicas that may do and the fewest that surely do: more of
# them are as undecided.
MOST_RIVALS = 20
# Of replicas, for the first look; what lies between two steps is searched one by one.
LADDER = 1.25
SPARE_STEPS = math.ceil(math.log(MOST_SPARE, LADDER))
# A rival is measured until its P99 is so many deviations from the limit: then it is sure, also
# where the next measurement moves it a little.
RESOLVED_SDS = 4.0
# Nearer to the limit than this, relative, nobody can tell: a P99 differs by half of it from one run
# to the next (latency_fit.LEAST_SPREAD).
NEAREST = 0.002
FARTHEST = 0.2  # where a queue may have no end: a first look
SAME_RATE = 0.01  # what was measured there, and leaves it open, is measured twice as long
MIN_REQUESTS = 1000  # of fewer a P99 is their maximum
MOST_REQUESTS = (MAX_POINTS - 1) * MAX_REQUESTS  # that `perfledger load` drives in one go
# Of latencies whose P95 is not known: an exponential tail's.
_TAIL = 1 / math.log(100)
_HOUR_S = 3600
_MILLION = 1_000_000


class SizingError(ValueError):
    """A demand that nothing can be sized for."""


class Constraint(StrEnum):
    """What keeps an option from being one replica smaller, or from being a cheaper one."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    MEMORY = "memory"
    HEADROOM = "headroom"
    SMALLEST = "smallest"  # nothing smaller was measured


class Verdict(StrEnum):
    """Whether the cheapest option is known."""

    DECIDED = "decided"
    UNDECIDED = "undecided"
    NONE = "none"  # nothing that was measured meets the demand


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Single requests a second at random times, and the P99 that they are promised."""

    rate_per_second: float
    p99_s: float
    headroom: float = 0.2

    def __post_init__(self) -> None:
        for name, value in (("rate", self.rate_per_second), ("P99", self.p99_s)):
            if not 0 < value < math.inf:
                msg = f"a {name} of {value}: give one above zero"
                raise SizingError(msg)
        if not 0 <= self.headroom < math.inf:
            msg = f"a headroom of {self.headroom}: give the share that the rate may grow by"
            raise SizingError(msg)

    @property
    def planned_per_second(self) -> float:
        """Return the rate with its headroom."""
        return self.rate_per_second * (1 + self.headroom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """What a device's hour costs, and how many devices are sold together."""

    rate: Rate
    sold_together: int = 1

    def bought(self, devices: int) -> int:
        """Return how many devices are paid for where so many are needed."""
        return math.ceil(devices / self.sold_together) * self.sold_together

    def usd_per_hour(self, devices: int) -> Decimal:
        """Return what so many devices cost an hour, with those that are sold along with them."""
        return self.rate.usd_per_device_hour * self.bought(devices)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """So many replicas of a setting; money is None where there is no price."""

    setting: Setting
    replicas: int
    devices: int
    tariff: Tariff | None
    usd_per_hour: Decimal | None
    chance: float  # that the P99 is within its limit

    @property
    def cost(self) -> tuple[bool, Decimal]:
        """Return what plans are compared by: money, and after all that have it, devices."""
        usd = self.usd_per_hour
        return usd is None, Decimal(self.devices) if usd is None else usd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizedOption:
    """A plan with what it comes to."""

    plan: Plan
    usd_per_million: Decimal | None  # requests, at the demanded rate
    replica_rate: float  # requests a second of each, with headroom
    p99_s: tuple[float, float, float | None]  # low, middle, high; None: it may grow without end
    most_per_second: float  # of all replicas together, within the limit as likely as not
    constraint: Constraint


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rival:
    """A cheaper option that may meet the demand or not, and what would tell."""

    option: SizedOption
    requests: int | None  # to measure at its rate; None: so near the limit that nothing tells


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sizing:
    """The best options, cheapest first, and whether the first is known to be the best there is."""

    demand: Demand
    verdict: Verdict
    best: tuple[SizedOption, ...]
    rivals: tuple[Rival, ...]  # the likeliest of those that are cheaper than the best, and open
    settings: tuple[Setting, ...]
    left_out: tuple[str, ...]  # in words
    errors: tuple[tuple[float, ...], ...] = ()  # of each of the best, see `with_errors`


def right_size(
    curves: Sequence[LoadCurve], tariffs: Mapping[str, Sequence[Tariff]], demand: Demand
) -> Sizing:
    """Return the cheapest ways to meet a demand; without prices the fewest devices.

    `tariffs` are by accelerator. An option without a price goes after all that have one. Raises
    LoadCurveError.
    """
    ways = [(curve, settings_of(curve)) for curve in curves]
    settings = tuple(setting for _, found in ways for setting in found)
    sure: list[Plan] = []
    open_: list[Plan] = []
    too_large: list[Plan] = []
    left_out = [
        f"{curve.workload} on {curve.device}: more came than was served at every rate; measure less"
        for curve, found in ways
        if not found
    ]
    for setting in settings:
        offers = tariffs.get(setting.curve.accelerator or "", ())
        enough, possible = _plans(setting, offers, demand)
        if not setting.fits_memory:
            left_out.append(f"{setting.words}: more memory than the device has")
            too_large += enough
            continue
        if not (enough or possible):
            left_out.append(_too_slow(setting))
        elif not offers:
            left_out.append(f"{setting.words}: no price for this device, compared by number only")
        sure += () if setting.is_even else enough
        open_ += (*possible, *enough) if setting.is_even else possible
    sure.sort(key=lambda plan: _rank(plan, demand))
    best = [_option(plan, demand) for plan in sure[:BEST]]
    if any(plan.cost < sure[0].cost for plan in too_large if sure):
        best[0] = replace(best[0], constraint=Constraint.MEMORY)
    rivals = [plan for plan in open_ if not sure or plan.cost < sure[0].cost]
    rivals.sort(key=lambda plan: -plan.chance)
    verdict = Verdict.UNDECIDED if rivals else Verdict.DECIDED if best else Verdict.NONE
    return Sizing(
        demand=demand,
        verdict=verdict,
        best=tuple(best),
        rivals=tuple(_rival(plan, demand) for plan in rivals[:BEST]),
        settings=settings,
        left_out=tuple(left_out),
    )


def with_errors(sizing: Sizing) -> Sizing:
    """Return it with how far each of the best options' points is from what the others say of it."""
    return replace(sizing, errors=tuple(each.plan.setting.errors() for each in sizing.best))


def _too_slow(setting: Setting) -> str:
    least_s = min(point.latency_p99_s for point in setting.points)
    full = " of full batches" if setting.batch > 1 else ""
    return (
        f"{setting.words}: no number of them keeps the P99; the shortest measured{full} is "
        f"{least_s:.4g} s"
    )


def _plans(
    setting: Setting, offers: Sequence[Tariff], demand: Demand
) -> tuple[list[Plan], list[Plan]]:
    """Return the smallest plan that is sure, if any, and those below it that are possible.

    Where none is sure, the smallest that is as likely as not says most when it is measured, or as
    likely as any.
    """
    planned = demand.planned_per_second

    def chance(replicas: int) -> float:
        return setting.chance(planned / replicas, demand.p99_s)

    def plan(replicas: int) -> Plan:
        devices = setting.devices(replicas)
        tariff = min(offers, key=lambda each: each.usd_per_hour(devices), default=None)
        return Plan(
            setting=setting,
            replicas=replicas,
            devices=devices,
            tariff=tariff,
            usd_per_hour=None if tariff is None else tariff.usd_per_hour(devices),
            chance=chance(replicas),
        )

    least = max(1, math.floor(planned / setting.batch / setting.fit.capacity / 2))
    first = _fewest(chance, least, 1 - SURE)
    if first is None:
        return [], []
    last = _fewest(chance, first, SURE)
    if last is not None:
        rivals = range(first, min(last, first + MOST_RIVALS))
        return [plan(last)], [plan(count) for count in rivals]
    most = max(chance(math.ceil(first * LADDER**step)) for step in range(SPARE_STEPS))
    likely = _fewest(chance, first, min(LIKELY, most))
    return [], [plan(count) for count in sorted({first, likely or first})]


def _fewest(chance: Callable[[int], float], least: int, level: float) -> int | None:
    """Return the fewest replicas with such a chance; it grows with them, until batches are slow."""
    while least > 1 and chance(least) >= level:
        least //= 2
    below, count = least - 1, least
    while chance(count) < level:
        below, count = count, max(count + 1, math.floor(count * LADDER))
        if count > min(MAX_REPLICAS, least * MOST_SPARE):
            return None
    while count - below > 1:
        middle = (below + count) // 2
        below, count = (middle, count) if chance(middle) < level else (below, middle)
    return count


def _rank(plan: Plan, demand: Demand) -> tuple[tuple[bool, Decimal], int, float, float]:
    """Return what sure plans are ordered by: cost, devices, and then how far within the limit."""
    return plan.cost, plan.devices, -round(plan.chance, 3), _p99_s(plan, demand)[1]


def _p99_s(plan: Plan, demand: Demand) -> tuple[float, float, float | None]:
    """Return the P99 of a plan's requests: low, middle and high; None: it may grow without end."""
    setting, rate = plan.setting, demand.planned_per_second / plan.replicas
    found, fill_s = setting.at(rate), setting.fill_s(rate)
    low, middle, high = (found.quantile_s(share) for share in (0.025, 0.5, 0.975))
    return (
        (low or 0.0) + fill_s,
        math.inf if middle is None else middle + fill_s,
        None if high is None else high + fill_s,
    )


def _option(plan: Plan, demand: Demand) -> SizedOption:
    setting, rate = plan.setting, demand.planned_per_second / plan.replicas
    usd, millions = plan.usd_per_hour, to_decimal(demand.rate_per_second) * _HOUR_S / _MILLION
    return SizedOption(
        plan=plan,
        usd_per_million=None if usd is None else usd / millions,
        replica_rate=rate,
        p99_s=_p99_s(plan, demand),
        most_per_second=plan.replicas * _most(setting, rate, demand.p99_s),
        constraint=_constraint(setting, plan.replicas, demand),
    )


def _rival(plan: Plan, demand: Demand) -> Rival:
    option = _option(plan, demand)
    return Rival(option=option, requests=_requests(option, demand))


def _most(setting: Setting, rate: float, p99_s: float) -> float:
    """Return the most requests a second at which a replica as likely as not keeps its P99."""
    low, high = 0.0, setting.fit.capacity * setting.batch * 2
    if setting.chance(rate, p99_s) >= LIKELY:
        low = rate
    for _ in range(20):
        middle = (low + high) / 2
        is_kept = setting.chance(middle, p99_s) >= LIKELY
        low, high = (middle, high) if is_kept else (low, middle)
    return low


def _constraint(setting: Setting, replicas: int, demand: Demand) -> Constraint:
    """Return what one replica less would fail by."""
    if replicas == 1:
        return Constraint.SMALLEST
    if setting.chance(demand.rate_per_second / (replicas - 1), demand.p99_s) >= SURE:
        return Constraint.HEADROOM
    planned = demand.planned_per_second / (replicas - 1) / setting.batch
    is_full = planned >= setting.fit.capacity
    return Constraint.THROUGHPUT if is_full else Constraint.LATENCY


def _requests(option: SizedOption, demand: Demand) -> int | None:
    """Return how many requests at an option's rate would tell on which side of the limit it is."""
    setting = option.plan.setting
    rate = option.replica_rate / setting.batch
    limit_s = demand.p99_s - setting.fill_s(option.replica_rate)
    found = setting.at(option.replica_rate)
    low, middle, high = (found.quantile_s(share) for share in (0.16, 0.5, 0.84))
    if low is None or middle is None or high is None:
        distance = FARTHEST
    else:  # one deviation off it is as likely as not, if it seems nearer to the limit than that
        distance = max(abs(math.log(limit_s / middle)), math.log(high / low) / 2)
    if distance < NEAREST:
        return None
    known = [point for point in setting.points if point.latency_p95_s is not None]
    near = min(known, key=lambda point: abs(point.throughput_per_second - rate), default=None)
    tail = _TAIL
    if near is not None and near.latency_p95_s is not None:
        tail = math.log(near.latency_p99_s / near.latency_p95_s) / math.log(5)
    needed = 99 * setting.fit.thinning(rate) * (RESOLVED_SDS * tail / distance) ** 2
    before = [point.completed or 0 for point in known if _is_at(point, rate)]
    return min(max(math.ceil(needed), 2 * sum(before), MIN_REQUESTS), MOST_REQUESTS)


def _is_at(point: LoadPoint, rate: float) -> bool:
    offered = point.offered_per_second
    return offered is not None and abs(offered / rate - 1) < SAME_RATE
