"""Simulated devices in, how often right-sizing finds the cheapest that keeps a P99 out.

python benchmarks/rightsizing.py [--cases 100] [--requests 20000]

Each case has three devices at made-up prices, a demand and a limit of the P99. What is "measured"
is simulated request by request, in order of arrival: eight rates in open loop, so many requests
each, and the most that a closed loop got through. Servers are slots that take requests as they
come, 1 to 16 with services of three variations, or one that takes up to 8 waiting requests at once;
no formula of what decides is among them. The truth is what the same servers do with 30 times as
many requests, near the limit with ten million, and other random numbers. "Told" measures what an
undecided answer asks for, up to four times.

The target is the right answer in 95 % of the cases, and "undecided" in all others.

python benchmarks/rightsizing.py --closed

How far the P99 that M/G/k makes of closed loops is from what the same slots do at random arrivals.
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from perfledger_cost_models.load_curve import LoadCurve, LoadMode, LoadPoint
from perfledger_cost_models.quote import Rate
from perfledger_cost_models.response_time import SCREENING_SPREAD, closed_fit
from perfledger_cost_models.rightsizing import Demand, Sizing, Tariff, Verdict, right_size

FloatArray = NDArray[np.float64]

SHARES = (0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.88, 0.94)  # of the capacity, measured in each case
TRUE_SHARES = 1 - np.geomspace(0.95, 0.03, 20)
WARM_UP = 2000
DEVICES = ("H100-80GB", "A100-80GB", "L40S")
WINDOWS = 512  # of what is measured once more, side by side
ROUNDS = 4  # of measuring what an undecided answer asks for
BLOCK = 256
NEAR = 0.03  # of the limit: there the truth is simulated once more, with ten million requests
TARGET = 0.95
WORDS = ("right", "undecided", "wrong")


@dataclass(frozen=True, slots=True)
class Kind:
    """A server in units of its mean service: slots, or batches of up to `most`."""

    slots: int
    variation: float  # of service times, relative
    most: int = 1
    fixed: float = 0.0  # of a batch's time, in requests' own times

    @property
    def capacity(self) -> float:
        if self.most == 1:
            return float(self.slots)
        return self.most / (self.fixed + self.most)


KINDS = (
    *(Kind(slots, variation) for slots in (1, 4, 16) for variation in (0.3, 0.7, 1.2)),
    *(Kind(1, 0.2, most=8, fixed=fixed) for fixed in (4.0, 12.0)),
)


def latencies(kind: Kind, rates: FloatArray, count: int, seed: int) -> FloatArray:
    """Return what so many requests take at each rate, warmed up: (count, rates)."""
    serve = _slots if kind.most == 1 else _batches
    return serve(kind, rates, count + WARM_UP, np.random.default_rng(seed))[WARM_UP:]


def _slots(kind: Kind, rates: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    many = len(rates)
    sigma = math.sqrt(math.log1p(kind.variation**2))
    now, free, column = np.zeros(many), np.zeros((kind.slots, many)), np.arange(many)
    found = np.empty((count, many))
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        gaps = rng.standard_exponential((size, many)) / rates
        services = np.exp(sigma * rng.standard_normal((size, many)) - sigma**2 / 2)
        for place in range(size):
            now += gaps[place]
            slot = free.argmin(axis=0)
            end = np.maximum(now, free[slot, column]) + services[place]
            free[slot, column] = end
            found[first + place] = end - now
    return found


def _batches(kind: Kind, rates: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Serve up to `most` of those that wait when the server gets free, all at once."""
    many = len(rates)
    sigma = math.sqrt(math.log1p(kind.variation**2))
    column = np.arange(many)
    arrived = np.cumsum(rng.standard_exponential((count, many)) / rates, axis=0)
    batch = np.empty((count, many), np.int32)
    ends = np.zeros((count + 1, many))
    start, inside, number = np.full(many, -1.0), np.zeros(many), np.zeros(many, np.int64)
    for place in range(count):
        now = arrived[place]
        is_new = (now > start) | (inside >= kind.most)
        noise = np.exp(sigma * rng.standard_normal(many) - sigma**2 / 2)
        end = start + (kind.fixed + inside) * noise * (inside > 0)
        ends[number, column] = np.where(is_new, end, ends[number, column])
        number += is_new
        start = np.where(is_new, np.maximum(now, end), start)
        inside = np.where(is_new, 1, inside + 1)
        batch[place] = number
    ends[number, column] = start + kind.fixed + inside
    found: FloatArray = np.take_along_axis(ends, batch, axis=0) - arrived
    return found


def truths(seed: int, requests: int) -> dict[Kind, Callable[[float], float]]:
    """Return each kind's P99 by its use, of 30 windows of so many requests at every use."""
    found: dict[Kind, Callable[[float], float]] = {}
    for kind in KINDS:
        rates = np.repeat(TRUE_SHARES * kind.capacity, 30)
        p99 = np.quantile(latencies(kind, rates, requests, seed), 0.99, axis=0)
        curve = PchipInterpolator(
            np.log1p(-TRUE_SHARES)[::-1], np.log(p99.reshape(-1, 30).mean(axis=1))[::-1]
        )
        found[kind] = _true_p99(curve)
    return found


def _true_p99(curve: PchipInterpolator) -> Callable[[float], float]:
    def p99(use: float) -> float:
        if use >= TRUE_SHARES[-1]:
            return math.inf
        return float(np.exp(curve(math.log1p(-max(use, TRUE_SHARES[0])))))

    return p99


@dataclass(frozen=True, slots=True)
class Device:
    """A kind of server with its mean service time and price."""

    kind: Kind
    service_s: float
    usd: Decimal

    @property
    def capacity(self) -> float:
        return self.kind.capacity / self.service_s


@dataclass(frozen=True, slots=True)
class Case:
    """Devices, and what is asked of them."""

    devices: tuple[Device, ...]
    demand: Demand


def cases(count: int, seed: int, true_p99: dict[Kind, Callable[[float], float]]) -> list[Case]:
    """Draw devices, prices about as their capacities, a demand of up to a few, and a limit."""
    rng = np.random.default_rng(seed)
    found: list[Case] = []
    while len(found) < count:
        devices: list[Device] = []
        for place in rng.choice(len(KINDS), len(DEVICES)).tolist():
            kind, capacity = KINDS[int(place)], float(np.exp(rng.uniform(3.5, 6)))
            usd = round(0.05 * capacity**0.8 * float(np.exp(rng.normal(0, 0.25))), 2)
            devices.append(Device(kind, kind.capacity / capacity, Decimal(str(usd))))
        idle = min(true_p99[each.kind](0.0) * each.service_s for each in devices)
        middle = sorted(each.capacity for each in devices)[1]
        demand = Demand(
            rate_per_second=float(f"{middle * rng.uniform(0.25, 2.5):.2g}"),
            p99_s=float(f"{idle * rng.uniform(1.5, 5):.2g}"),
        )
        found.append(Case(tuple(devices), demand))
    return found


def true_cost(case: Case, true_p99: dict[Kind, Callable[[float], float]]) -> Decimal | None:
    costs = [
        device.usd * count
        for device in case.devices
        if (count := _true_count(device, case.demand, true_p99[device.kind])) is not None
    ]
    return min(costs, default=None)


def _true_count(device: Device, demand: Demand, p99: Callable[[float], float]) -> int | None:
    for count in range(1, 1000):
        use = demand.planned_per_second / count / device.capacity
        seconds = p99(use) * device.service_s
        if abs(seconds / demand.p99_s - 1) < NEAR:
            rates = np.full(WINDOWS, use * device.kind.capacity)
            seconds = float(np.quantile(latencies(device.kind, rates, 20_000, 40_000), 0.99))
            seconds *= device.service_s
        if seconds <= demand.p99_s:
            return count
        if use < TRUE_SHARES[0]:
            return None
    return None


def measured(drawn: Sequence[Case], requests: int, seed: int) -> list[list[LoadCurve]]:
    """Measure every device of every case at SHARES of its capacity."""
    rng = np.random.default_rng(seed)
    found: list[list[list[LoadPoint]]] = [[[] for _ in case.devices] for case in drawn]
    for number, kind in enumerate(KINDS):
        mine = [
            (row, place, device)
            for row, case in enumerate(drawn)
            for place, device in enumerate(case.devices)
            if device.kind == kind
        ]
        uses = np.tile(SHARES, len(mine)) * kind.capacity
        if not mine:
            continue
        taken = np.quantile(
            latencies(kind, uses, requests, seed + 1 + number), [0.5, 0.95, 0.99], axis=0
        )
        for run, (row, place, device) in enumerate(mine):
            for step in range(len(SHARES)):
                column = run * len(SHARES) + step
                rate = float(uses[column]) / device.service_s
                found[row][place].append(
                    _open_point(rate, taken[:, column] * device.service_s, requests)
                )
            most = device.capacity * (1 + rng.normal() / math.sqrt(requests))
            found[row][place].append(_closed_point(most))
    return [
        [LoadCurve(workload="simulated", device=DEVICES[place], devices=1, points=tuple(points))
         for place, points in enumerate(each)]
        for each in found
    ]  # fmt: skip


def _open_point(rate: float, quantiles_s: FloatArray, completed: int) -> LoadPoint:
    p50_s, p95_s, p99_s = (float(each) for each in quantiles_s)
    return LoadPoint(
        mode=LoadMode.OPEN,
        offered_per_second=rate,
        completed=completed,
        throughput_per_second=rate,
        latency_p50_s=p50_s,
        latency_p95_s=p95_s,
        latency_p99_s=p99_s,
    )


def _closed_point(most: float) -> LoadPoint:
    """Return a loop with very many under way: it waits for all of them."""
    return LoadPoint(
        mode=LoadMode.OPEN,
        offered_per_second=2 * most,
        throughput_per_second=most,
        latency_p99_s=1e3,
    )


def sized(case: Case, curves: Sequence[LoadCurve]) -> Sizing:
    tariffs = {
        name: [Tariff(rate=_rate(name, device.usd))]
        for name, device in zip(DEVICES, case.devices, strict=True)
    }
    return right_size(curves, tariffs, case.demand)


def _rate(name: str, usd: Decimal) -> Rate:
    return Rate(
        option=f"{name}/on_demand",
        label=name,
        accelerator=name,
        usd_per_device_hour=usd,
        low=usd,
        high=usd,
        as_of=date(2026, 11, 20),
        is_read_date=False,
        source="made up",
    )


def measured_once_more(
    case: Case, curves: Sequence[LoadCurve], answer: Sizing, seed: int
) -> list[LoadCurve]:
    """Measure what an undecided answer asks for."""
    found = list(curves)
    for number, rival in enumerate(answer.rivals):
        place = DEVICES.index(rival.option.plan.setting.curve.device)
        device = case.devices[place]
        if rival.requests is None:
            continue
        each = max(math.ceil(rival.requests / WINDOWS), 100)
        rates = np.full(WINDOWS, rival.option.replica_rate * device.service_s)
        taken = latencies(device.kind, rates, each, seed + number) * device.service_s
        quantiles = np.quantile(taken, [0.5, 0.95, 0.99])
        served = min(rival.option.replica_rate, device.capacity)
        point = _open_point(rival.option.replica_rate, quantiles, each * WINDOWS)
        point = replace(point, throughput_per_second=served)
        found[place] = replace(found[place], points=(*found[place].points, point))
    return found


def verdict_of(answer: Sizing, truth: Decimal | None) -> str:
    if answer.verdict is Verdict.UNDECIDED:
        return "undecided"
    cost = answer.best[0].plan.usd_per_hour if answer.best else None
    return "right" if cost == truth else "wrong"


def print_shares(name: str, verdicts: Sequence[str]) -> None:
    found = [(word, verdicts.count(word) / len(verdicts)) for word in WORDS]
    words = ", ".join(f"{word} {share:6.1%}" for word, share in found)
    print(f"{name:22} {words}; target: right >= {TARGET:.0%}", flush=True)


def print_cases(count: int, requests: int) -> None:
    began = time.perf_counter()
    true_p99 = truths(seed=10_000, requests=requests)
    print(f"the truth took {time.perf_counter() - began:.0f} s", flush=True)
    drawn = cases(count, 1, true_p99)
    curves = measured(drawn, requests, seed=20_000)
    print(f"measured after {time.perf_counter() - began:.0f} s", flush=True)
    once: list[str] = []
    told: list[str] = []
    asked: list[int] = []
    for number, (case, known) in enumerate(zip(drawn, curves, strict=True)):
        truth = true_cost(case, true_p99)
        answer, mine = sized(case, known), known
        once.append(verdict_of(answer, truth))
        for round_ in range(ROUNDS):
            if answer.verdict is not Verdict.UNDECIDED:
                break
            asked.append(sum(rival.requests or 0 for rival in answer.rivals))
            seed = 30_000 + 100 * (ROUNDS * number + round_)
            mine = measured_once_more(case, mine, answer, seed)
            answer = sized(case, mine)
        told.append(verdict_of(answer, truth))
    print(f"{count} cases of {len(DEVICES)} devices, {requests:,} requests a rate")
    print_shares("measured once", once)
    print_shares("told", told)
    print(f"what was asked for, a round: {np.median(asked or [0]):,.0f} requests in the middle")
    print(f"{time.perf_counter() - began:.0f} s")


def print_closed(requests: int) -> None:
    """Hold M/G/k against the same slots with random arrivals; its service times are exact here."""
    true_p99 = truths(seed=10_000, requests=requests)
    errors: list[float] = []
    for kind in KINDS:
        if kind.most > 1:
            continue
        sigma = math.sqrt(math.log1p(kind.variation**2))
        median_s = math.exp(-(sigma**2) / 2)
        point = LoadPoint(
            mode=LoadMode.CLOSED,
            concurrency=kind.slots,
            throughput_per_second=kind.capacity,
            latency_p50_s=median_s,
            latency_p99_s=median_s * math.exp(2.3263479 * sigma),
        )
        fit = closed_fit(point)
        found = [
            math.log(fit.at(use * kind.capacity).quantile_s(0.5) or math.inf)
            - math.log(true_p99[kind](use))
            for use in SHARES[:-1]
        ]
        errors += found
        pairs = zip(SHARES, found, strict=False)
        shown = ", ".join(f"{share:.0%} {error:+.1%}" for share, error in pairs)
        print(f"{kind.slots:2} slots, variation {kind.variation}: {shown}")
    rms = math.sqrt(sum(error**2 for error in errors) / len(errors))
    print(f"root mean square {rms:.1%}; taken for it: {SCREENING_SPREAD:.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--closed", action="store_true")
    options = parser.parse_args()
    if options.closed:
        print_closed(options.requests)
        return
    print_cases(options.cases, options.requests)


if __name__ == "__main__":
    main()
