"""Simulated devices in, how often right-sizing finds the cheapest that keeps a P99 out.

python benchmarks/cost_models/rightsizing.py [--each 16] [--requests 2000,20000]

Each case has three devices at made-up prices, a demand (less than one device can do, about as much,
several times as much) and a limit of the P99 (1.5, 2.5 or 4.5 times that of the fastest when it is
idle): nine kinds of cases, `--each` of every one. What is "measured" is simulated request by
request (simulated_servers.py) and written down as `perfledger bench load` does without a load of
its own: closed loops until they give no more, then so many requests at each of five rates.
Servers are 1, 4
or 16 slots with services that vary little, as an exponential's, and much (0.3, 1 and 2), or one
that takes up to 8 waiting requests at once. The truth is what the same servers do with other random
numbers and up to 30 million requests. "As asked" goes on from the largest `--requests`: it measures
what an undecided answer asks for, up to twelve times.

The target is the right answer in 95 % of the cases, and "undecided" in all others. A right answer
costs what the cheapest costs that truly keeps the P99. Printed with one standard error.

python benchmarks/cost_models/rightsizing.py --closed

How far the P99 that M/G/k makes of closed loops is from what the same slots do at random arrivals.
"""

import argparse
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum

import numpy as np
from simulated_servers import KINDS, FloatArray, Kind, Truth, latencies

from perfledger.load import MAX_REQUESTS
from perfledger.measuring.load_generator import SHARES
from perfledger.rounding import integer, percentage
from perfledger_baselines.estimation.latency_quantiles import latency_quantile
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.serving.closed_loop_latency import SCREENING_SPREAD, closed_loop_model
from perfledger_cost_models.serving.load_curve import LoadCurve, LoadMode, LoadPoint
from perfledger_cost_models.serving.rightsizing import (
    ServingDemand,
    SizingResult,
    SizingVerdict,
    Tariff,
    right_size,
)

DEVICES = ("H100-80GB", "A100-80GB", "L40S")
LOADS = (("less than one", 0.3), ("about one", 1.2), ("several", 4.0))
SLACKS = (("tight", 1.5), ("middle", 2.5), ("loose", 4.5))
ROUNDS = 12  # of measuring what an undecided answer asks for
UNTOLD = 2.5  # standard errors: nearer to the limit the truth itself is not known
TARGET = 0.95
CLOSED_SHARES = (0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.88)


class Outcome(StrEnum):
    """What became of a case."""

    RIGHT = "right"
    UNDECIDED = "undecided"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Device:
    """A kind of server with its mean service time and price."""

    kind: Kind
    service_s: float
    usd: Decimal

    @property
    def capacity(self) -> float:
        """Return the most requests a second."""
        return self.kind.capacity / self.service_s


@dataclass(frozen=True, slots=True)
class Case:
    """Devices, and what is asked of them."""

    devices: tuple[Device, ...]
    demand: ServingDemand
    load: str
    slack: str


def cases(each: int, seed: int, truths: dict[Kind, Truth]) -> Iterator[Case]:
    """Draw devices with prices about as their capacities, for every load and slack so many."""
    rng = np.random.default_rng(seed)
    for _ in range(each):
        for load, times in LOADS:
            for slack, over in SLACKS:
                devices = tuple(_device(rng) for _ in DEVICES)
                idle = min(truths[one.kind].p99(0.0) * one.service_s for one in devices)
                middle = sorted(one.capacity for one in devices)[1]
                demand = ServingDemand(
                    rate_per_second=float(f"{middle * times * rng.uniform(0.7, 1.4):.2g}"),
                    p99_s=float(f"{idle * over * rng.uniform(0.85, 1.2):.2g}"),
                )
                yield Case(devices, demand, load, slack)


def _device(rng: np.random.Generator) -> Device:
    kind, capacity = KINDS[int(rng.integers(len(KINDS)))], float(np.exp(rng.uniform(3.5, 6)))
    usd = round(0.05 * capacity**0.8 * float(np.exp(rng.normal(0, 0.25))), 2)
    return Device(kind, kind.capacity / capacity, Decimal(str(usd)))


def true_cost(case: Case, truths: dict[Kind, Truth]) -> tuple[Decimal | None, bool]:
    """Return what the cheapest costs that keeps the P99, and whether simulation tells that."""
    is_told = True
    for usd, device, count in _by_cost(case):
        use = case.demand.planned_per_second / count / device.capacity
        ratio, error = truths[device.kind].log_ratio(use, case.demand.p99_s / device.service_s)
        is_told = is_told and abs(ratio) >= UNTOLD * error
        if ratio <= 0:
            return usd, is_told
    return None, is_told


def _by_cost(case: Case) -> list[tuple[Decimal, Device, int]]:
    """Return what may be bought, cheapest first: of each device until it has nothing to do."""
    fleets: list[tuple[Decimal, Device, int]] = []
    for device in case.devices:
        least = case.demand.planned_per_second / device.capacity
        counts = range(max(1, math.floor(least)), math.ceil(least * 40) + 2)
        fleets += [(device.usd * count, device, count) for count in counts]
    return sorted(fleets, key=lambda one: one[0])


def measured(sampled_cases: Sequence[Case], requests: int, seed: int) -> list[list[LoadCurve]]:
    """Measure every device of every case as `perfledger bench load` does."""
    rng = np.random.default_rng(seed)
    point_lists: list[list[list[LoadPoint]]] = [
        [[] for _ in case.devices] for case in sampled_cases
    ]
    for number, kind in enumerate(KINDS):
        mine = [
            (row, index, device)
            for row, case in enumerate(sampled_cases)
            for index, device in enumerate(case.devices)
            if device.kind == kind
        ]
        if not mine:
            continue
        uses = np.tile(SHARES, len(mine)) * kind.capacity
        latencies_s = latencies(kind, uses, requests, seed + 1 + number)
        for run, (row, index, device) in enumerate(mine):
            points = point_lists[row][index]
            points += _closed_points(device, requests, rng)
            for column in range(run * len(SHARES), (run + 1) * len(SHARES)):
                rate = float(uses[column]) / device.service_s
                points.append(_open_point(rate, latencies_s[:, column] * device.service_s))
    return [
        [LoadCurve(workload="simulated", device=DEVICES[index], devices=1, points=tuple(points))
         for index, points in enumerate(each)]
        for each in point_lists
    ]  # fmt: skip


def _open_point(rate: float, latencies_s: FloatArray, served: float | None = None) -> LoadPoint:
    times_s: list[float] = latencies_s.tolist()
    p50, p95, p99 = (latency_quantile(times_s, share) for share in (0.5, 0.95, 0.99))
    return LoadPoint(
        mode=LoadMode.OPEN,
        offered_per_second=rate,
        completed=len(latencies_s),
        throughput_per_second=rate if served is None else served,
        latency_p50_s=p50.seconds,
        latency_p95_s=p95.seconds,
        latency_p99_s=p99.seconds,
        latency_p99_low_s=p99.low,
        latency_p99_high_s=p99.high,
    )


def _closed_points(device: Device, requests: int, rng: np.random.Generator) -> list[LoadPoint]:
    """Return two loops with so many under way that both get the most there is."""
    noise = max(device.kind.variation, 0.2) / math.sqrt(requests)
    points: list[LoadPoint] = []
    for clients in (64, 128):
        served = device.capacity * (1 + noise * rng.normal())
        point = LoadPoint(
            mode=LoadMode.CLOSED,
            concurrency=clients,
            completed=requests,
            throughput_per_second=served,
            latency_p99_s=2 * clients / served,
        )
        points.append(point)
    return points


def sizing_of(case: Case, curves: Sequence[LoadCurve]) -> SizingResult:
    """Ask what is measured."""
    tariffs = {
        name: [Tariff(rate=_rate(name, device.usd))]
        for name, device in zip(DEVICES, case.devices, strict=True)
    }
    return right_size(curves, tariffs, case.demand)


def _rate(name: str, usd: Decimal) -> HourlyRate:
    return HourlyRate(
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
    case: Case, curves: Sequence[LoadCurve], answer: SizingResult, seed: int
) -> list[LoadCurve]:
    """Measure what an undecided answer asks for, in parts of as many requests as a point has."""
    new_curves = list(curves)
    rival = answer.next_measurement
    if rival is None or rival.requests is None:
        return new_curves
    place = DEVICES.index(rival.option.plan.setting.curve.device)
    device, rate = case.devices[place], rival.option.replica_rate
    parts = math.ceil(rival.requests / MAX_REQUESTS)
    rates = np.full(parts, rate * device.service_s)
    each = math.ceil(rival.requests / parts)
    latencies_s = latencies(device.kind, rates, each, seed) * device.service_s
    point = _open_point(rate, latencies_s.T.ravel(), min(rate, device.capacity))
    new_curves[place] = replace(new_curves[place], points=(*new_curves[place].points, point))
    return new_curves


def outcome_of(answer: SizingResult, truth: Decimal | None) -> Outcome:
    """Hold an answer against the truth."""
    if answer.verdict is SizingVerdict.UNDECIDED:
        return Outcome.UNDECIDED
    cost = answer.best[0].plan.usd_per_hour if answer.best else None
    return Outcome.RIGHT if cost == truth else Outcome.WRONG


def print_shares(name: str, outcomes: Sequence[Outcome]) -> None:
    """Print how often each outcome was, with its standard error."""
    words: list[str] = []
    for outcome in Outcome:
        share = outcomes.count(outcome) / len(outcomes)
        error = math.sqrt(share * (1 - share) / len(outcomes))
        words.append(f"{outcome} {share:6.1%} ±{error:5.1%}")
    print(f"{name:34} {len(outcomes):4}  {'  '.join(words)}", flush=True)


@dataclass(slots=True)
class RequestLog:
    """What measuring as asked took, over all cases."""

    rounds: list[int]
    requests: list[int]


def as_asked(
    case: Case, curves: Sequence[LoadCurve], seed: int, request_log: RequestLog
) -> SizingResult:
    """Measure what an undecided answer asks for until it is none, or nothing is asked for."""
    answer, requests, number = sizing_of(case, curves), 0, 0
    while answer.verdict is SizingVerdict.UNDECIDED and number < ROUNDS:
        rival = answer.next_measurement
        request_count = 0 if rival is None else rival.requests
        if not request_count:
            break
        curves = measured_once_more(case, curves, answer, seed + 10 * number)
        answer, requests, number = sizing_of(case, curves), requests + request_count, number + 1
    if number:
        request_log.rounds.append(number)
        request_log.requests.append(requests)
    return answer


def print_cases(each: int, requests: Sequence[int]) -> None:
    """Print how often answers are right: measured once, and as asked."""
    began = time.perf_counter()
    truths = {kind: Truth(kind, 10_000 + number) for number, kind in enumerate(KINDS)}
    sampled_cases = list(cases(each, 1, truths))
    true_costs = [true_cost(case, truths) for case in sampled_cases]
    print(f"the truth after {integer(time.perf_counter() - began)} s", flush=True)
    costs = [cost for cost, _ in true_costs]
    curves: list[list[LoadCurve]] = []
    for count in requests:
        curves = measured(sampled_cases, count, seed=20_000)
        sizings = [
            outcome_of(sizing_of(case, case_curves), cost)
            for case, case_curves, cost in zip(sampled_cases, curves, costs, strict=True)
        ]
        print_shares(f"once, {count:,} requests a point", sizings)
    request_log = RequestLog([], [])
    sizings = [
        outcome_of(as_asked(case, case_curves, 30_000 + 100 * row, request_log), cost)
        for row, (case, case_curves, cost) in enumerate(
            zip(sampled_cases, curves, costs, strict=True)
        )
    ]
    print_shares("as asked", sizings)
    for name, _ in (*LOADS, *SLACKS):
        mine = [
            one
            for case, one in zip(sampled_cases, sizings, strict=True)
            if name in (case.load, case.slack)
        ]
        print_shares(f"  {name}", mine)
    print(
        f"target: right >= {percentage(TARGET)}; the truth is not told in "
        f"{sum(not is_told for _, is_told in true_costs)} cases\n"
        f"asked for in {len(request_log.rounds)} cases, "
        f"{integer(statistics.median(request_log.rounds or [0]))} times and "
        f"{integer(statistics.median(request_log.requests or [0]))} requests in the middle, "
        f"{max(request_log.requests, default=0):,} at "
        f"most\n{integer(time.perf_counter() - began)} s"
    )


def print_closed() -> None:
    """Hold M/G/k against the same slots with random arrivals; its service times are exact here."""
    errors: list[float] = []
    for number, kind in enumerate(KINDS):
        if kind.most > 1:
            continue
        truth = Truth(kind, 10_000 + number)
        sigma = math.sqrt(math.log1p(kind.variation**2))
        median_s = math.exp(-(sigma**2) / 2)
        point = LoadPoint(
            mode=LoadMode.CLOSED,
            concurrency=kind.slots,
            throughput_per_second=kind.capacity,
            latency_p50_s=median_s,
            latency_p99_s=median_s * math.exp(2.3263479 * sigma),
        )
        fit = closed_loop_model(point)
        error_pairs = [
            math.log(fit.at(use * kind.capacity).quantile_s(0.5) or math.inf)
            - math.log(truth.p99(use))
            for use in CLOSED_SHARES
        ]
        errors += error_pairs
        pairs = zip(CLOSED_SHARES, error_pairs, strict=True)
        shares = ", ".join(f"{percentage(share)} {error:+.1%}" for share, error in pairs)
        print(f"{kind.slots:2} slots, variation {kind.variation}: {shares}", flush=True)
    rms = math.sqrt(sum(error**2 for error in errors) / len(errors))
    print(
        f"root mean square {percentage(rms)}; taken for it: "
        f"{percentage(SCREENING_SPREAD)}, times cv2 / slots "
        "where that is above one"
    )


def main() -> None:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=16)
    parser.add_argument("--requests", default="2000,20000")
    parser.add_argument("--closed", action="store_true")
    options = parser.parse_args()
    if options.closed:
        print_closed()
        return
    print_cases(options.each, [int(count) for count in options.requests.split(",")])


if __name__ == "__main__":
    main()
