"""A request becomes messages: what is registered, measured, profiled, counted or loaded."""

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from inspect import iscoroutinefunction, isgeneratorfunction, signature
from pathlib import Path
from typing import NoReturn, assert_never

from perfledger import memory
from perfledger.channel import Channel
from perfledger.checkout import wrong_code
from perfledger.device import choose_meter
from perfledger.discovery import Broken, Found, discover, import_roots
from perfledger.driving import Crew, Server, Timer, drive
from perfledger.facts import facts
from perfledger.failure import UnmeasurableError, detail_of, why_of
from perfledger.framework import framework_of
from perfledger.load import BATCH_PARAMETER, Served
from perfledger.measure import Bench, Sampled, measure, warm_up
from perfledger.meter import Meter
from perfledger.metrics import CPU_ACTIVE, PEAK_MEMORY, STEP_TIME
from perfledger.protocol import Command, Event, Request
from perfledger.records import Device, Why, WorkloadSpec
from perfledger.state import kept_state
from perfledger.workload import DEVICE_PARAMETER, Step, Workload

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Registered:
    """A workload at one point of its grid."""

    workload: Workload
    spec: WorkloadSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """A request, where its files are, and where the answers go."""

    request: Request
    channel: Channel
    root: Path
    roots: tuple[Path, ...]


def run_errand(request: Request, channel: Channel) -> None:
    """Do what the request asks for and say so on the channel; the last message is DONE."""
    root = Path(request.root).resolve()
    roots = import_roots(root, request.import_paths)
    os.chdir(root)
    sys.path[:0] = [str(folder) for folder in roots]
    errand = Errand(request=request, channel=channel, root=root, roots=roots)
    match request.command:
        case Command.LIST:
            _list(errand)
        case Command.MEASURE | Command.PROFILE | Command.COUNT | Command.LOAD:
            _run(errand)
        case _ as unreachable:
            assert_never(unreachable)
    channel.send(Event.DONE)


def _list(errand: Errand) -> None:
    registered, broken = _look(errand, frozenset())
    errand.channel.send(Event.FACTS, asdict(facts(each.spec.framework for each in registered)))
    for each in broken:
        errand.channel.send(
            Event.BROKEN, {"path": each.path, "detail": each.detail, "why": each.why}
        )
    for one in registered:
        errand.channel.send(Event.WORKLOAD, asdict(one.spec))


def _run(errand: Errand) -> None:
    """Answer for every workload asked for, whatever happens to the others."""
    wanted = errand.request.workloads
    registered, broken = _look(errand, frozenset(name.partition(":")[0] for name in wanted))
    if not set(wanted) <= {each.spec.id for each in registered}:
        registered, broken = _look(errand, frozenset())  # some are registered by another's file
    by_id = {each.spec.id: each for each in registered}
    used = {each.spec.framework for each in registered if each.spec.id in wanted or not wanted}
    errand.channel.send(Event.FACTS, asdict(facts(used)))
    for number, name in enumerate(wanted or by_id):
        _wait_until_ready(errand, name)
        errand.channel.send(Event.STARTED, {"workload": name, "log_bytes": _log_bytes()})
        event, fields = _answer(errand, by_id, name=name, number=number, broken=broken)
        _flush()
        errand.channel.send(event, {"workload": name, **fields})
        memory.give_back()
    _wait_until_ready(errand, "")


def _wait_until_ready(errand: Errand, name: str) -> None:
    """Wait for the other side before what would disturb it: a set-up, or with "" the end."""
    if errand.request.takes_turns:
        errand.channel.send(Event.READY, {"workload": name})
        errand.channel.wait()


def _look(errand: Errand, modules: frozenset[str]) -> tuple[list[Registered], list[Broken]]:
    """Import the user's files; what they set in the environment at import is meant to stay."""
    found = discover(errand.root, paths=errand.request.paths, roots=errand.roots, modules=modules)
    errand.channel.leave_if_forked()
    return _expand(found, errand)


def _expand(found: Found, errand: Errand) -> tuple[list[Registered], list[Broken]]:
    registered: list[Registered] = []
    broken = list(found.broken)
    for workload in found.workloads:
        try:
            framework = framework_of(workload, root=errand.root)
            values = errand.request.params.get(workload.key)
            specs = workload.specs(framework=framework, values=values)
        except BaseException as error:  # a door: units_per_step may be the user's code
            path = os.path.relpath(workload.place.rpartition(":")[0], errand.root)
            detail = detail_of(error, root=errand.root)
            broken.append(Broken(path=path, detail=detail, module=workload.function.__module__))
        else:
            registered += [Registered(workload, spec) for spec in specs]
    return registered, broken


def _answer(
    errand: Errand,
    registered: Mapping[str, Registered],
    *,
    name: str,
    number: int,
    broken: Sequence[Broken],
) -> tuple[Event, Fields]:
    try:
        with kept_state():
            one = registered.get(name) or _absent(name, broken)
            match errand.request.command:
                case Command.PROFILE:
                    return Event.PROFILED, _profile(errand, one, number)
                case Command.COUNT:
                    return Event.COUNTED, _count(errand, one)
                case Command.LOAD:
                    return Event.LOADED, _load(errand, one)
                case Command.MEASURE | Command.LIST:
                    return Event.RUN, _measure(errand, one)
    except BaseException as error:  # a door: no workload may end the others' run
        errand.channel.leave_if_forked()
        if not isinstance(error, UnmeasurableError):
            with suppress(Exception):  # the workload may have closed standard error
                traceback.print_exception(error)
        return Event.FAILED, {"why": why_of(error), "detail": detail_of(error, root=errand.root)}


def _absent(name: str, broken: Sequence[Broken]) -> NoReturn:
    module = name.partition(":")[0]
    for each in broken:
        if each.module in {"", module}:
            raise UnmeasurableError(each.why, f"{each.path}: {each.detail}")
    raise UnmeasurableError(Why.MISSING, f"no workload {name!r} is registered in this revision")


def _measure(errand: Errand, one: Registered) -> Fields:
    channel, name = errand.channel, one.spec.id
    device, meter = choose_meter(one.spec, requested=errand.request.device)
    started_at = datetime.now(UTC).isoformat()
    with meter.placed():
        peaks = _Peaks(lambda: _set_up(errand, one, device, meter), meter)
        sampled = measure(
            peaks.set_up,
            meter.clock,
            effort=errand.request.effort,
            set_ups=one.workload.set_ups,
            on_sampling=lambda: channel.send(Event.SAMPLING, {"workload": name}),
            after_step=channel.leave_if_forked,
            turn=_turn(channel, name) if errand.request.takes_turns else None,
        )
        samples = _samples(sampled, peaks.first(), device)
    return {
        "started_at": started_at,
        "samples": samples,
        "warmups_s": sampled.warmups_s,
        "settling_s": sampled.settling_s,
        "left_out": {},
        "turns": sampled.turns,
        "device": device,
        "devices": meter.devices(),
    }


class _Peaks:
    """What the first set-up and its steps held: a later one may find what an earlier one left."""

    def __init__(self, set_up: Callable[[], Step], meter: Meter) -> None:
        self._set_up, self._meter = set_up, meter
        self._peaks: list[float | None] = []
        self._is_set_up = False

    def set_up(self) -> Step:
        """Read the peak of the set-up before, if there was one; set up and return the step."""
        if self._is_set_up:
            self._peaks.append(self._meter.peak_bytes())
        self._is_set_up = True
        return self._set_up()

    def first(self) -> float | None:
        """Return the first peak, in bytes; None when nothing tells."""
        return self._peaks[0] if self._peaks else self._meter.peak_bytes()


def _turn(channel: Channel, name: str) -> Callable[[], None]:
    def turn() -> None:
        channel.send(Event.TURN, {"workload": name})
        channel.wait()

    return turn


def _samples(
    sampled: Sampled, peak_bytes: float | None, device: Device
) -> Mapping[str, tuple[float, ...]]:
    readings = {
        CPU_ACTIVE.name: sampled.cpu_active if device is Device.CPU else None,
        PEAK_MEMORY.name: peak_bytes,
    }
    known = {name: (value,) for name, value in readings.items() if value}
    return {STEP_TIME.name: sampled.steps_s, **known}


def _profile(errand: Errand, one: Registered, number: int) -> Fields:
    device, meter = choose_meter(one.spec, requested=errand.request.device)
    folder = Path(errand.request.trace_folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(
        lambda: _set_up(errand, one, device, meter),
        meter.clock,
        effort=errand.request.effort,
        after_step=errand.channel.leave_if_forked,
    )
    with meter.placed():
        bench.renew()
        traced = meter.trace(_windows(errand, one, bench), folder, str(number))
    if traced is None:  # nothing profiles plain Python steps yet: an answer all the same
        return {"tool": "", "trace": "", "steps": 0, "step_seconds": 0.0}
    paths = {"trace": str(traced.trace), "again": str(traced.again or "")}
    return {**asdict(traced), **paths}


def _windows(errand: Errand, one: Registered, bench: Bench) -> Callable[[], Step]:
    """Return what waits for a window's turn and returns its step: of a set-up of its own, if asked.

    So both sides have their quiet windows at the same time, and each side lucky set-ups.
    """
    takes_turns = errand.request.takes_turns
    turn = _turn(errand.channel, one.spec.id) if takes_turns else lambda: None
    is_first = True

    def step_of_window() -> Step:
        nonlocal is_first
        turn()
        if not is_first and one.workload.set_ups > 1:
            bench.renew()
        is_first = False
        return bench.step

    return step_of_window


def _count(errand: Errand, one: Registered) -> Fields:
    device, meter = choose_meter(one.spec, requested=errand.request.device)
    with meter.placed():
        return asdict(meter.work(lambda: _set_up(errand, one, device, meter)))


def _load(errand: Errand, one: Registered) -> Fields:
    """Drive the workload point after point, each of which is sent when it is done."""
    channel, name, load = errand.channel, one.spec.id, errand.request.load
    device, _ = choose_meter(one.spec, requested=errand.request.device)
    batch = _batch(one)
    meters: list[Meter] = []

    def set_up() -> Server:
        """Set one server up on its own thread, with a clock of its own."""
        _, meter = choose_meter(one.spec, requested=str(device))
        meters.append(meter)
        with meter.placed():
            step = _set_up(errand, one, device, meter)
            effort, after_step = errand.request.effort, channel.leave_if_forked
            warm_up(step, meter.clock, effort=effort, after_step=after_step)

        def run() -> None:
            meter.clock.time(step)
            after_step()

        return Server(run, meter.placed)

    def tell(served: Served) -> None:
        peak_bytes = meters[0].peak_bytes()
        channel.send(Event.SERVED, {"workload": name, "peak_bytes": peak_bytes, **_sent(served)})

    with Crew(set_up, load.servers) as crew:
        channel.send(Event.SAMPLING, {"workload": name})
        drive(load, crew, Timer(), tell=tell)
    return {"batch": batch, "device": device, "devices": meters[0].devices()}


def _batch(one: Registered) -> int:
    """Return how many items a request holds: 1 where the function has no such parameter."""
    parameter = signature(one.workload.function).parameters.get(BATCH_PARAMETER)
    default: object = 1 if parameter is None else parameter.default
    batch = one.spec.params.get(BATCH_PARAMETER, default)
    if type(batch) is not int or batch < 1:
        msg = f"its parameter {BATCH_PARAMETER!r} is {batch!r:.100}, not a number of at least 1"
        raise TypeError(msg)
    return batch


def _sent(served: Served) -> Fields:
    """Return the fields of a point, its times to the nanosecond: more digits are none."""
    times = {
        "latencies_s": [round(each, 9) for each in served.latencies_s],
        "services_s": [round(each, 9) for each in served.services_s],
    }
    return {**asdict(served), **times}


def _set_up(errand: Errand, one: Registered, device: Device, meter: Meter) -> Step:
    """Call the workload's function and return its step, sure of whose code it is."""
    meter.reset_peak()
    given = {DEVICE_PARAMETER: str(device)} if one.workload.takes_device() else {}
    step: object = one.workload.function(**one.spec.params, **given)
    errand.channel.leave_if_forked()
    if not callable(step) or iscoroutinefunction(step) or isgeneratorfunction(step):
        msg = (
            f"{one.workload.key} returned {step!r:.100}: return the step, a plain function without "
            "arguments that does its work when it is called"
        )
        raise TypeError(msg)
    wrong = wrong_code(sys.modules, root=errand.root, repository=Path(errand.request.repository))
    if wrong:
        raise UnmeasurableError(Why.WRONG_CODE, wrong)
    return step


def _log_bytes() -> int:
    """Return how long the log is: what a workload prints comes after it."""
    _flush()
    size = 0
    with suppress(OSError):  # a workload has closed standard error
        size = os.fstat(2).st_size
    return size


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # the workload may have closed or replaced it
            stream.flush()
