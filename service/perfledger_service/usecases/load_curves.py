"""Files of load tests in, load curves out: our own, and those of vLLM, GenAI-Perf and Triton.

The tools' files do not say which device they were made on, and some not at which load: the command
line does, "2xH100-80GB@rate:20=result.json".
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_cost_models.load_curve import LoadCurve, LoadCurveError, LoadMode, LoadPoint
from perfledger_cost_models.load_curve_file import MAX_LOAD_BYTES, read_load_curve
from perfledger_profiles.genai_load import EVEN_ARRIVALS
from perfledger_profiles.perf_analyzer import MAYBE_EVEN_ARRIVALS
from perfledger_profiles.redact import clean_name
from perfledger_runners.explain import ReaderError, read_trace
from perfledger_service.errors import NotFoundError, UsageError

# What the P99 is of where a tool measured several: the reading's name without its statistic.
REQUEST_LATENCY = "request_latency"
HOW_TO_ASK = (
    "write FILE, DEVICE=FILE, 2xDEVICE=FILE, 1/4xDEVICE=FILE for one of four time slices, "
    "DEVICE@concurrency:8=FILE and DEVICE@rate:20=FILE where the file does not say its load, "
    "DEVICE@batch:4=FILE where it does not say its batch, DEVICE@poisson=FILE where requests were "
    "sent at random times"
)
_ASKED = re.compile(
    r"(?:(?:(?P<devices>\d{1,4})|1/(?P<slices>\d{1,2}))x)?(?P<device>(?!\d+x[=@])[^=@]{1,100})?"
    r"(?:@(?P<load>concurrency|rate):(?P<amount>\d{1,9}(?:\.\d{1,6})?))?"
    r"(?:@batch:(?P<batch>[1-9]\d{0,6}))?(?P<poisson>@poisson)?=(?P<path>.+)"
)
# Of all requests: where more of them fail there is no time that 99 % keep.
MAX_FAILED_SHARE = 0.01
# Clients that wait for their answers get no more than these a second (Little 1961), and nobody more
# than was offered: so many times more are inferences, of which a request has several.
_MOST_TIMES_ASKED = 1.5
_EVEN = (EVEN_ARRIVALS, MAYBE_EVEN_ARRIVALS)
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
    load: str = ""
    amount: float = 0.0
    batch: int | None = None
    is_poisson: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """What a point was measured at."""

    kind: str  # "concurrency" or "rate"
    amount: float
    batch: int | None  # None: neither the file nor who gave it says so
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
                notes = (*(known.notes if known else ()), *curve.notes)
                is_even = curve.has_even_arrivals or bool(known and known.has_even_arrivals)
                found[key] = replace(curve, points=points, notes=notes, has_even_arrivals=is_even)
        except LoadCurveError as error:
            name = clean_name(text.rpartition("=")[2])
            msg = str(error) if name in str(error) else f"{name}: {error}"
            raise UsageError(msg) from error
    return tuple(found.values())


def _asked(text: str) -> _Asked:
    if Path(text).is_file():
        return _Asked(path=Path(text), device="", devices=None, slices=None)
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
        batch=int(found["batch"]) if found["batch"] else None,
        is_poisson=found["poisson"] is not None,
    )


def _curves(asked: _Asked, latency: str) -> tuple[LoadCurve, ...]:
    name = clean_name(str(asked.path))
    try:
        with asked.path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            if all(key in head for key in _OURS):
                data = head + file.read(MAX_LOAD_BYTES)
                return (_with_asked(read_load_curve(data, name), asked, latency),)
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


def _with_asked(curve: LoadCurve, asked: _Asked, latency: str) -> LoadCurve:
    """Return our own curve; names are clean, and what was said of the device goes first."""
    if latency != REQUEST_LATENCY:
        name = clean_name(str(asked.path))
        msg = f"{name} has times of whole requests only: leave --latency {clean_name(latency)} out"
        raise UsageError(msg)
    if asked.load or asked.batch or asked.is_poisson:
        name = clean_name(str(asked.path))
        msg = f"{name} says its loads and batches itself: leave out what follows the @"
        raise UsageError(msg)
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
    doubts = tuple(note for note in profile.notes if not (asked.is_poisson and note in _EVEN))
    by_name, left_out = _points(profile, asked, name, latency)
    if not by_name:
        lacks = f"{name} has no {latency}_p99 with its throughput: let the tool save percentiles"
        raise UsageError(left_out[0] if left_out else lacks)
    for label, points in by_name.items():
        yield LoadCurve(
            workload=label,
            device=asked.device,
            devices=1 if asked.devices is None else asked.devices,
            time_slices=1 if asked.slices is None else asked.slices,
            points=tuple(points),
            has_even_arrivals=any(note in _EVEN for note in doubts),
            notes=(*(f"{name}: {note}" for note in doubts), *left_out),
        )


def _points(
    profile: Profile, asked: _Asked, name: str, latency: str
) -> tuple[Mapping[str, Sequence[LoadPoint]], Sequence[str]]:
    """Return a file's points by what they are of, and in words which ones are left out."""
    found: dict[str, list[LoadPoint]] = {}
    left_out: list[str] = []
    told = {one.subject: None for one in profile.readings if one.name == f"{latency}_p99"}
    if asked.load and len(told) > 1:
        msg = f"{name} has {len(told)} loads, and says them itself: leave out @{asked.load}"
        raise UsageError(msg)
    for subject in told:
        failed = _failed(profile, subject)
        if failed > MAX_FAILED_SHARE:
            where = f" at {subject}" if subject else ""
            much = f"{100 * failed:.1f} % of its requests failed, and a P99 leaves room for 1 %"
            left_out.append(f"{name}{where}: left out, {much}")
            continue
        load = _load(profile, subject, asked, name)
        found.setdefault(load.name, []).append(_point(profile, subject, load, latency))
    return found, left_out


def _failed(profile: Profile, subject: str) -> float:
    """Return the share of requests that failed, 0 where nothing is said of any."""
    failed = profile.reading("requests_failed", subject=subject) or 0.0
    completed = profile.reading("requests_completed", subject=subject) or 0.0
    return failed / (failed + completed) if failed > 0 else 0.0


def _load(profile: Profile, subject: str, asked: _Asked, name: str) -> _Load:
    """Return a point's load: as was said, else as the file has it; a rate before a limit."""
    found = _SUBJECT.fullmatch(subject)
    label = clean_name(found["name"]) if found and found["name"] else profile.tool
    batch = int(found["batch"]) if found and found["batch"] else asked.batch
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
        msg = f"{name} does not say at which load it was measured, or it had no limit: {HOW_TO_ASK}"
        raise UsageError(msg)
    return _Load(kind="concurrency", amount=limit, batch=batch, name=label)


def _point(profile: Profile, subject: str, load: _Load, latency: str) -> LoadPoint:
    def figure(name: str) -> float | None:
        return profile.reading(name, subject=subject) or None  # no load takes no time

    throughput, p99_s = figure("throughput_requests"), figure(f"{latency}_p99")
    if throughput is None:
        throughput = _of_inferences(figure, load, f"{profile.tool} at {load.kind} {load.amount:g}")
    if throughput is None or p99_s is None:
        msg = f"a load of {profile.tool} has no throughput or a P99 of 0: measure it for longer"
        raise LoadCurveError(msg)
    completed, memory = figure("requests_completed"), _memory(profile, subject)
    is_closed, seconds = load.kind == "concurrency", figure("benchmark_time")
    lasting_s = _lasting_s(figure)
    if latency != REQUEST_LATENCY and seconds and lasting_s and lasting_s < seconds:
        throughput *= seconds / (seconds - lasting_s)
        seconds -= lasting_s
    return LoadPoint(
        mode=LoadMode.CLOSED if is_closed else LoadMode.OPEN,
        concurrency=round(load.amount) if is_closed else None,
        offered_per_second=None if is_closed else load.amount,
        batch=load.batch or 1,
        completed=None if completed is None else round(completed),
        seconds=seconds,
        throughput_per_second=throughput,
        latency_p50_s=figure(f"{latency}_p50"),
        latency_p95_s=figure(f"{latency}_p95"),
        latency_p99_s=p99_s,
        memory_bytes=None if memory is None else round(memory),
    )


def _memory(profile: Profile, subject: str) -> float | None:
    """Return the bytes in use of the load, else of the fullest device of the whole run."""
    of_load = profile.reading("memory_used", subject=subject)
    of_devices = [
        one.value
        for one in profile.readings
        if one.name == "memory_used" and one.subject.startswith("gpu ")
    ]
    return of_load or max(of_devices, default=None) or None


def _of_inferences(figure: Callable[[str], float | None], load: _Load, what: str) -> float | None:
    """Return the requests a second that so many inferences are; raises LoadCurveError.

    One who says no batch is believed to have asked for one at a time, unless that cannot be.
    """
    inferences = figure("throughput_inferences")
    taken_s = figure(f"{REQUEST_LATENCY}_mean") or figure(f"{REQUEST_LATENCY}_p50")
    if inferences is None or load.batch is not None:
        return inferences and inferences / (load.batch or 1)
    most = load.amount if load.kind == "rate" else taken_s and load.amount / taken_s
    if most and inferences > _MOST_TIMES_ASKED * most:
        msg = (
            f"{what}: {inferences:g} inferences a second are more than its {most:g} requests; say "
            f"how many each has: {HOW_TO_ASK}"
        )
        raise LoadCurveError(msg)
    return inferences


def _lasting_s(figure: Callable[[str], float | None]) -> float | None:
    """Return a request's time from its first to its last token, which no latency below has.

    A tool's seconds run until the last request is done; arrivals end so much earlier.
    """
    tokens, completed, token_s = map(figure, ("output_tokens", "requests_completed", "tpot_p50"))
    if tokens is None or completed is None or token_s is None:
        return None
    return token_s * tokens / completed
