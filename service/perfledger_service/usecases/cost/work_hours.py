"""Computes the hours of a piece of work from speeds, training logs or a bundle."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perfledger.records import Side
from perfledger.registration.workload_pattern import is_match
from perfledger_cost_models.prices.accelerator_names import accelerator_of
from perfledger_cost_models.prices.price_sheet import MAX_ACCELERATORS
from perfledger_cost_models.tco.work_cost import (
    PricedWork,
    inference_work,
    step_work,
    training_work,
    units_work,
)
from perfledger_runners.measuring.profile_runs import ReaderError, read_trace
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.settings.check import seconds
from perfledger_service.usecases.cost.work_rates import throughput
from perfledger_service.usecases.inputs import bundle_files
from perfledger_service.usecases.inputs.error_translation import translate_errors

TIME_TO_TRAIN = "time_to_train"
COMMAND_LINE_SOURCE = "as given on the command line"
HOW_TO_ASK = "write ACCELERATOR=VALUE or 8xACCELERATOR=VALUE, such as 8xH100-80GB=3100"
_SPEED_ARGUMENT = re.compile(r"(?:(?P<count>\d{1,5})x)?(?P<accelerator>[^=]{1,60})=(?P<value>.+)")
_RANGE_PARTS = (1, 3)  # one number, or low:middle:high


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorValue:
    """A value that applies to a number of accelerators together."""

    accelerator: str
    count: int
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSpeeds:
    """Speeds for one kind of work, as given on the command line."""

    units: Sequence[str] = ()  # units of work a second
    unit: str = "units"
    steps: Sequence[str] = ()  # seconds of a step
    queries: Sequence[str] = ()  # inferences a second
    trainings: Sequence[str] = ()  # logs of runs to a target, or the runs' durations
    overhead: str = "1"
    bundle: Path | None = None
    workload: str = "*"


def priced_works(speeds: WorkSpeeds) -> tuple[PricedWork, ...]:
    """Return one piece of work per named accelerator, or none if no speeds are given.

    Raises UsageError for invalid speeds and for several kinds at once, NotFoundError for files.
    """
    kinds = (speeds.units, speeds.steps, speeds.queries, speeds.trainings, speeds.bundle)
    if sum(map(bool, kinds)) > 1:
        msg = (
            "give only one of --throughput, --step-seconds, --queries-per-second, --time-to-train "
            "and --bundle"
        )
        raise UsageError(msg)
    _check_companions(speeds)
    with translate_errors():
        works = _works(speeds)
    names = [work.accelerator for work in works]
    if len(set(names)) < len(names):
        msg = f"speeds for {', '.join(names)}: give one for each accelerator"
        raise UsageError(msg)
    return works


def parse_accelerator_value(text: str) -> AcceleratorValue:
    """Read "8xH100-80GB=3100"; raises UsageError."""
    match = _SPEED_ARGUMENT.fullmatch(text)
    count = int(match["count"] or 1) if match else 0
    if match is None or not 1 <= count <= MAX_ACCELERATORS:
        msg = f"{text[:80]!r}: {HOW_TO_ASK}"
        raise UsageError(msg)
    return AcceleratorValue(accelerator=match["accelerator"], count=count, value=match["value"])


def _check_companions(speeds: WorkSpeeds) -> None:
    """Raise UsageError for an option without the option that it refines."""
    usual = WorkSpeeds()
    for name, is_alone, lacks in (
        ("--unit", speeds.unit != usual.unit and not speeds.units, "--throughput"),
        (
            "--training-overhead",
            speeds.overhead != usual.overhead and not speeds.trainings,
            "--time-to-train",
        ),
        ("--workload", speeds.workload != usual.workload and speeds.bundle is None, "--bundle"),
    ):
        if is_alone:
            msg = f"{name} needs {lacks}: add it, or leave {name} out"
            raise UsageError(msg)


def _works(speeds: WorkSpeeds) -> tuple[PricedWork, ...]:
    if speeds.bundle is not None:
        return _of_bundle(speeds.bundle, speeds.workload)
    if speeds.trainings:
        return _trainings(speeds.trainings, _range(speeds.overhead))
    return (
        *(_units(parse_accelerator_value(text), speeds.unit) for text in speeds.units),
        *(_step(parse_accelerator_value(text)) for text in speeds.steps),
        *(_queries(parse_accelerator_value(text)) for text in speeds.queries),
    )


def _units(speed_text: AcceleratorValue, unit: str) -> PricedWork:
    speeds = tuple(each / speed_text.count for each in _range(speed_text.value))
    return units_work(speed_text.accelerator, speeds, unit=unit, source=COMMAND_LINE_SOURCE)


def _queries(speed_text: AcceleratorValue) -> PricedWork:
    speeds = tuple(each / speed_text.count for each in _range(speed_text.value))
    return inference_work(speed_text.accelerator, speeds, source=COMMAND_LINE_SOURCE)


def _step(step_text: AcceleratorValue) -> PricedWork:
    times = _range(step_text.value)
    return step_work(
        step_text.accelerator, times, accelerators=step_text.count, source=COMMAND_LINE_SOURCE
    )


def _range(text: str) -> tuple[float, float, float]:
    parts = text.split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError as error:
        msg = f"{text[:80]!r} is neither a number nor low:middle:high"
        raise UsageError(msg) from error
    if len(numbers) not in _RANGE_PARTS or sorted(numbers) != numbers:
        msg = f"{text[:80]!r}: give one number, or low:middle:high in this order"
        raise UsageError(msg)
    return numbers[0], numbers[len(numbers) // 2], numbers[-1]


def _trainings(
    texts: Sequence[str], overhead: tuple[float, float, float]
) -> tuple[PricedWork, ...]:
    runs: dict[tuple[str, int], list[float]] = {}
    sources: dict[tuple[str, int], str] = {}
    for text in texts:
        training = parse_accelerator_value(text)
        key = training.accelerator, training.count
        path = Path(training.value)
        times = _times_to_train(path) if path.exists() else (_duration(training.value),)
        runs.setdefault(key, []).extend(times)
        sources[key] = "time to train in its logs" if path.exists() else COMMAND_LINE_SOURCE
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
    """Read a log in a child process with limits, since it is untrusted."""
    try:
        profile = read_trace(
            "auto", path.resolve(), workload=path.name, side=Side.HEAD, environment=os.environ
        )
    except ReaderError as error:
        msg = f"{path.name}: {str(error).removeprefix(f'{path.name} ')}"
        raise UsageError(msg) from error
    times = tuple(each.value for each in profile.readings if each.name == TIME_TO_TRAIN)
    if not times:
        reason = "; ".join(profile.notes) or "it is not the log of a training"
        msg = f"{path.name} has no time to train: {reason}"
        raise UsageError(msg)
    return times


def _of_bundle(path: Path, pattern: str) -> tuple[PricedWork, ...]:
    """Return a million units of the only matching workload, measured and declared."""
    bundle = bundle_files.read_bundle_file(path)
    specs = [spec for spec in bundle.workloads if is_match(pattern, spec.id)]
    if len(specs) != 1:
        names = ", ".join(spec.id for spec in bundle.workloads)
        msg = f"{len(specs)} workloads match {pattern!r}: choose one with --workload of {names}"
        raise UsageError(msg)
    (spec,) = specs
    machine = bundle.machines().get((spec.id, Side.HEAD), bundle.machine)
    accelerator = accelerator_of(machine.model, machine.memory_bytes)
    speed = throughput(bundle, spec, devices=machine.count)
    works = [
        units_work(each.device, [each.units_per_second] * 3, unit=spec.unit, source=each.source)
        for each in bundle.pricing.declared
        if is_match(each.workload, spec.id) and each.device != accelerator
    ]
    if accelerator is not None and speed is not None:
        source = f"measured on {machine.model}"
        works.append(units_work(accelerator, speed, unit=spec.unit, source=source))
    if not works:
        msg = f"{spec.id} was measured on {machine.model or 'no device'}, which has no price"
        raise UsageError(msg)
    return tuple(works)
