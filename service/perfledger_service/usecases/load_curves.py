"""Files of load tests in, load curves out: our own, and those of vLLM, GenAI-Perf and Triton.

The tools' files do not say which device they were made on, and some not at which load: the command
line does, "2xH100-80GB@rate:20=result.json".
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_cost_models.load_curve import LoadCurve, LoadCurveError, LoadMode, LoadPoint
from perfledger_cost_models.load_curve_file import MAX_LOAD_BYTES, read_load_curve
from perfledger_profiles.redact import clean_name
from perfledger_runners.explain import ReaderError, read_trace
from perfledger_service.errors import NotFoundError, UsageError

# What the P99 is of where a tool measured several: the reading's name without its statistic.
REQUEST_LATENCY = "request_latency"
HOW_TO_ASK = (
    "write FILE, DEVICE=FILE, 2xDEVICE=FILE, 1/4xDEVICE=FILE for one of four time slices, or "
    "DEVICE@concurrency:8=FILE and DEVICE@rate:20=FILE where the file does not say its load"
)
_ASKED = re.compile(
    r"(?:(?:(?P<devices>\d{1,4})|1/(?P<slices>\d{1,2}))x)?(?P<device>(?!\d+x[=@])[^=@]{1,100})?"
    r"(?:@(?P<load>concurrency|rate):(?P<amount>\d{1,9}(?:\.\d{1,6})?))?=(?P<path>.+)"
)
_OURS = (b'"points"', b'"version"')
_HEAD_BYTES = 65_536
# What the readers call the load of a point: "resnet_i0 batch 4 concurrency 8", "request_rate 20".
_SUBJECT = re.compile(
    r"(?:(?P<name>.+) batch (?P<batch>\d{1,7}) )?"
    r"(?:max_)?(?P<load>concurrency|request_rate) (?P<amount>\d{1,9}(?:\.\d{1,9})?)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One file, and what was said of it; "" and None where nothing was."""

    path: Path
    device: str
    devices: int | None
    slices: int | None
    load: str
    amount: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """What a point was measured at."""

    kind: str  # "concurrency" or "rate"
    amount: float
    batch: int
    name: str


def read_load_curves(
    texts: Sequence[str], *, latency: str = REQUEST_LATENCY
) -> tuple[LoadCurve, ...]:
    """Return a curve for each workload and kind of replica; files of one kind are put together.

    Raises UsageError for what cannot be read, NotFoundError for a file that is not there.
    """
    found: dict[tuple[str, str, int, int, int], LoadCurve] = {}
    for text in texts:
        try:
            for curve in _curves(_asked(text), latency):
                kind = (curve.devices, curve.time_slices, curve.servers)
                key = (curve.workload, curve.device, *kind)
                known = found.get(key)
                points = (*(known.points if known else ()), *curve.points)
                found[key] = replace(curve, points=points)
        except LoadCurveError as error:
            raise UsageError(str(error)) from error
    return tuple(found.values())


def _asked(text: str) -> _Asked:
    if Path(text).is_file():
        return _Asked(path=Path(text), device="", devices=None, slices=None, load="", amount=0.0)
    found = _ASKED.fullmatch(text)
    if found is None:
        if "=" in text:
            msg = f"{text[:80]!r}: {HOW_TO_ASK}"
            raise UsageError(msg)
        msg = f"there is no file {clean_name(text)}"
        raise NotFoundError(msg)
    return _Asked(
        path=Path(found["path"]),
        device=found["device"] or "",
        devices=int(found["devices"]) if found["devices"] else None,
        slices=int(found["slices"]) if found["slices"] else None,
        load=found["load"] or "",
        amount=float(found["amount"] or 0),
    )


def _curves(asked: _Asked, latency: str) -> tuple[LoadCurve, ...]:
    name = clean_name(str(asked.path))
    try:
        with asked.path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            if all(key in head for key in _OURS):
                data = head + file.read(MAX_LOAD_BYTES)
                return (_with_asked(read_load_curve(data, name), asked),)
    except FileNotFoundError as error:
        msg = f"there is no file {name}"
        raise NotFoundError(msg) from error
    except OSError as error:
        msg = f"{name} cannot be read: {error.strerror}"
        raise UsageError(msg) from error
    if not asked.device:
        msg = f"{name} does not say on which device it was measured: write DEVICE={name}"
        raise UsageError(msg)
    return tuple(_foreign_curves(asked, name, latency))


def _with_asked(curve: LoadCurve, asked: _Asked) -> LoadCurve:
    """Return our own curve; names are clean, and what was said of the device goes first."""
    return replace(
        curve,
        workload=clean_name(curve.workload),
        device=asked.device or clean_name(curve.device),
        devices=curve.devices if asked.devices is None else asked.devices,
        time_slices=1 if asked.slices is None else asked.slices,
    )


def _foreign_curves(asked: _Asked, name: str, latency: str) -> Iterator[LoadCurve]:
    try:
        profile = read_trace(
            "auto", asked.path.resolve(), workload=name, side=Side.HEAD, environment=os.environ
        )
    except ReaderError as error:
        msg = str(error) if name in str(error) else f"{name}: {error}"
        raise UsageError(msg) from error
    by_name: dict[str, list[LoadPoint]] = {}
    for subject in dict.fromkeys(one.subject for one in profile.readings):
        if profile.reading(f"{latency}_p99", subject=subject) is not None:
            load = _load(profile, subject, asked, name)
            by_name.setdefault(load.name, []).append(_point(profile, subject, load, latency))
    if not by_name:
        msg = f"{name} has no {latency}_p99 with its throughput: let the tool save percentiles"
        raise UsageError(msg)
    for label, points in by_name.items():
        yield LoadCurve(
            workload=label,
            device=asked.device,
            devices=1 if asked.devices is None else asked.devices,
            time_slices=1 if asked.slices is None else asked.slices,
            points=tuple(points),
        )


def _load(profile: Profile, subject: str, asked: _Asked, name: str) -> _Load:
    """Return a point's load: as was said, else as the file has it; a rate before a limit."""
    found = _SUBJECT.fullmatch(subject)
    label = clean_name(found["name"]) if found and found["name"] else profile.tool
    batch = int(found["batch"]) if found and found["batch"] else 1
    if asked.load:
        return _Load(kind=asked.load, amount=asked.amount, batch=batch, name=label)
    rate = profile.reading("offered_rate", subject=subject)
    if rate is not None:
        return _Load(kind="rate", amount=rate, batch=batch, name=label)
    if found is not None:
        kind = "rate" if found["load"] == "request_rate" else "concurrency"
        return _Load(kind=kind, amount=float(found["amount"]), batch=batch, name=label)
    limit = profile.reading("max_concurrency", subject=subject)
    if limit is None:
        msg = f"{name} does not say at which load it was measured: {HOW_TO_ASK}"
        raise UsageError(msg)
    return _Load(kind="concurrency", amount=limit, batch=batch, name=label)


def _point(profile: Profile, subject: str, load: _Load, latency: str) -> LoadPoint:
    def figure(name: str) -> float | None:
        return profile.reading(name, subject=subject) or None  # no load takes no time

    throughput, p99_s = figure("throughput_requests"), figure(f"{latency}_p99")
    if throughput is None or p99_s is None:
        msg = f"a load of {profile.tool} has no throughput or a P99 of 0: measure it for longer"
        raise LoadCurveError(msg)
    completed, memory = figure("requests_completed"), figure("memory_used")
    is_closed, seconds = load.kind == "concurrency", figure("benchmark_time")
    lasting_s = _lasting_s(figure)
    if latency != REQUEST_LATENCY and seconds and lasting_s and lasting_s < seconds:
        throughput *= seconds / (seconds - lasting_s)
        seconds -= lasting_s
    return LoadPoint(
        mode=LoadMode.CLOSED if is_closed else LoadMode.OPEN,
        concurrency=round(load.amount) if is_closed else None,
        offered_per_second=None if is_closed else load.amount,
        batch=load.batch,
        completed=None if completed is None else round(completed),
        seconds=seconds,
        throughput_per_second=throughput,
        latency_p50_s=figure(f"{latency}_p50"),
        latency_p95_s=figure(f"{latency}_p95"),
        latency_p99_s=p99_s,
        memory_bytes=None if memory is None else round(memory),
    )


def _lasting_s(figure: Callable[[str], float | None]) -> float | None:
    """Return a request's time from its first to its last token, which no latency below has.

    A tool's seconds run until the last request is done; arrivals end so much earlier.
    """
    tokens, completed, token_s = map(figure, ("output_tokens", "requests_completed", "tpot_p50"))
    if tokens is None or completed is None or token_s is None:
        return None
    return token_s * tokens / completed
