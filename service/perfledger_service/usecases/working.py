"""Typed speeds, logs of trainings and bundles in, pieces of work and their hours out."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perfledger.metrics import STEP_TIME
from perfledger.pattern import is_match
from perfledger.records import Side
from perfledger_baselines.typical import typical_range
from perfledger_cost_models.accelerator import accelerator_of
from perfledger_cost_models.sheet import MAX_ACCELERATORS
from perfledger_cost_models.work import (
    Work,
    inference_work,
    step_work,
    training_work,
    units_work,
)
from perfledger_runners.explain import ReaderError, read_trace
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.settings import seconds
from perfledger_service.usecases import bundles
from perfledger_service.usecases.translating import translated

TIME_TO_TRAIN = "time_to_train"
TYPED = "as given on the command line"
HOW_TO_ASK = "write ACCELERATOR=VALUE or 8xACCELERATOR=VALUE, such as 8xH100-80GB=3100"
_ASKED = re.compile(r"(?:(?P<count>\d{1,5})x)?(?P<accelerator>[^=]{1,60})=(?P<value>.+)")
_RANGE_PARTS = (1, 3)  # one number, or low:middle:high


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A value for so many accelerators together."""

    accelerator: str
    count: int
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """What was said of how fast work is done; of one kind, for one comparison has one piece."""

    units: Sequence[str] = ()  # units of work a second
    unit: str = "units"
    steps: Sequence[str] = ()  # seconds of a step
    queries: Sequence[str] = ()  # inferences a second
    trainings: Sequence[str] = ()  # logs of runs to a target, or how long they took
    overhead: str = "1"
    bundle: Path | None = None
    workload: str = "*"


def works_of(speeds: Speeds) -> tuple[Work, ...]:
    """Return one piece of work on each accelerator that is named; none where nothing was said.

    Raises UsageError for what cannot be read and for several kinds at once, NotFoundError for
    files.
    """
    kinds = (speeds.units, speeds.steps, speeds.queries, speeds.trainings, speeds.bundle)
    if sum(map(bool, kinds)) > 1:
        msg = "give one of --speed, --step, --queries, --train and --bundle: a piece is of one kind"
        raise UsageError(msg)
    _check_companions(speeds)
    with translated():
        works = _works(speeds)
    names = [work.accelerator for work in works]
    if len(set(names)) < len(names):
        msg = f"speeds for {', '.join(names)}: give one for each accelerator"
        raise UsageError(msg)
    return works


def asked(text: str) -> Asked:
    """Read "8xH100-80GB=3100"; raises UsageError."""
    found = _ASKED.fullmatch(text)
    count = int(found["count"] or 1) if found else 0
    if found is None or not 1 <= count <= MAX_ACCELERATORS:
        msg = f"{text[:80]!r}: {HOW_TO_ASK}"
        raise UsageError(msg)
    return Asked(accelerator=found["accelerator"], count=count, value=found["value"])


def _check_companions(speeds: Speeds) -> None:
    """Refuse what says more about something that was not given: it would count for nothing."""
    usual = Speeds()
    for name, is_alone, lacks in (
        ("--unit", speeds.unit != usual.unit and not speeds.units, "--speed"),
        ("--overhead", speeds.overhead != usual.overhead and not speeds.trainings, "--train"),
        ("--workload", speeds.workload != usual.workload and speeds.bundle is None, "--bundle"),
    ):
        if is_alone:
            msg = f"{name} says more about {lacks}, which was not given"
            raise UsageError(msg)


def _works(speeds: Speeds) -> tuple[Work, ...]:
    if speeds.bundle is not None:
        return _of_bundle(speeds.bundle, speeds.workload)
    if speeds.trainings:
        return _trainings(speeds.trainings, _range(speeds.overhead))
    return (
        *(_units(asked(text), speeds.unit) for text in speeds.units),
        *(_step(asked(text)) for text in speeds.steps),
        *(_queries(asked(text)) for text in speeds.queries),
    )


def _units(one: Asked, unit: str) -> Work:
    speed = tuple(each / one.count for each in _range(one.value))
    return units_work(one.accelerator, speed, unit=unit, source=TYPED)


def _queries(one: Asked) -> Work:
    speed = tuple(each / one.count for each in _range(one.value))
    return inference_work(one.accelerator, speed, source=TYPED)


def _step(one: Asked) -> Work:
    times = _range(one.value)
    return step_work(one.accelerator, times, accelerators=one.count, source=TYPED)


def _range(text: str) -> tuple[float, float, float]:
    parts = text.split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError as error:
        msg = f"{text[:80]!r} is no number, and no low:middle:high"
        raise UsageError(msg) from error
    if len(numbers) not in _RANGE_PARTS or sorted(numbers) != numbers:
        msg = f"{text[:80]!r}: give one number, or low:middle:high in this order"
        raise UsageError(msg)
    return numbers[0], numbers[len(numbers) // 2], numbers[-1]


def _trainings(texts: Sequence[str], overhead: tuple[float, float, float]) -> tuple[Work, ...]:
    runs: dict[tuple[str, int], list[float]] = {}
    sources: dict[tuple[str, int], str] = {}
    for text in texts:
        one = asked(text)
        key = one.accelerator, one.count
        path = Path(one.value)
        times = _times_to_train(path) if path.exists() else (_duration(one.value),)
        runs.setdefault(key, []).extend(times)
        sources[key] = "time to train in its logs" if path.exists() else TYPED
    return tuple(
        training_work(
            accelerator,
            times,
            accelerators=count,
            source=f"{sources[accelerator, count]}, runs: {len(times)}, each on {count}",
            overhead=overhead,
        )
        for (accelerator, count), times in runs.items()
    )


def _duration(text: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        msg = f"{text[:80]!r} is neither a log nor a time such as 5.3m"
        raise NotFoundError(msg) from error


def _times_to_train(path: Path) -> tuple[float, ...]:
    """Read a log in a child with limits: it may be anybody's."""
    try:
        profile = read_trace(
            "auto", path.resolve(), workload=path.name, side=Side.HEAD, environment=os.environ
        )
    except ReaderError as error:
        msg = f"{path.name}: {str(error).removeprefix(f'{path.name} ')}"
        raise UsageError(msg) from error
    times = tuple(each.value for each in profile.readings if each.name == TIME_TO_TRAIN)
    if not times:
        why = "; ".join(profile.notes) or "it is no log of a training"
        msg = f"{path.name} has no time to train: {why}"
        raise UsageError(msg)
    return times


def _of_bundle(path: Path, pattern: str) -> tuple[Work, ...]:
    """Return a million units of the one workload that matches, measured and as declared."""
    bundle = bundles.read(path)
    specs = [spec for spec in bundle.workloads if is_match(pattern, spec.id)]
    if len(specs) != 1:
        names = ", ".join(spec.id for spec in bundle.workloads)
        msg = f"{len(specs)} workloads match {pattern!r}: choose one with --workload of {names}"
        raise UsageError(msg)
    (spec,) = specs
    machine = bundle.machines().get((spec.id, Side.HEAD), bundle.machine)
    accelerator = accelerator_of(machine.model, machine.memory_bytes)
    runs = [run for run in bundle.runs if (run.workload, run.side) == (spec.id, Side.HEAD)]
    times = typical_range(runs, metric=STEP_TIME)
    works = [
        units_work(each.device, [each.units_per_second] * 3, unit=spec.unit, source=each.source)
        for each in bundle.pricing.declared
        if is_match(each.workload, spec.id) and each.device != accelerator
    ]
    if accelerator is not None and times is not None:
        low, typical, high = (spec.units_per_step / (time * machine.count) for time in times)
        source = f"measured on {machine.model}"
        works.append(units_work(accelerator, (high, typical, low), unit=spec.unit, source=source))
    if not works:
        msg = f"{spec.id} was measured on {machine.model or 'no device'}, which has no price"
        raise UsageError(msg)
    return tuple(works)
