"""Reads load curves from our own files and those of vLLM, GenAI-Perf and Triton.

The tools' files do not name their device, and some do not name their load; the command line does,
as in "2xH100-80GB@rate:20=result.json".
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger.rounding import decimals, typed
from perfledger_cost_models.serving.load_curve import LoadCurve, LoadCurveError, LoadMode, LoadPoint
from perfledger_cost_models.serving.load_test_json import MAX_LOAD_BYTES, read_load_curve
from perfledger_profiles.benchmark_tools.genai_load import EVEN_ARRIVALS
from perfledger_profiles.benchmark_tools.perf_analyzer import MAYBE_EVEN_ARRIVALS
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_runners.measuring.profile_runs import ReaderError, read_trace
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.files import missing_file, shown_path, unreadable_file

# The default latency metric, if a tool measured several: a reading's name without its statistic.
REQUEST_LATENCY = "request_latency"
HOW_TO_ASK = (
    "write FILE, DEVICE=FILE, 2xDEVICE=FILE, 1/4xDEVICE=FILE for one of four time slices, "
    "DEVICE@concurrency:8=FILE and DEVICE@rate:20=FILE if the file does not contain its load, "
    "DEVICE@batch:4=FILE if it does not contain its batch, DEVICE@poisson=FILE if requests were "
    "sent at random times"
)
_LOAD_FILE = re.compile(
    r"(?:(?:(?P<devices>\d{1,4})|1/(?P<slices>\d{1,2}))x)?(?P<device>(?!(?:1/)?\d+x)[^=@]{1,100})?"
    r"(?:@(?P<load>concurrency|rate):(?P<amount>\d{1,9}(?:\.\d{1,6})?))?"
    r"(?:@batch:(?P<batch>[1-9]\d{0,6}))?(?P<poisson>@poisson)?=(?P<path>.+)"
)
# If more requests fail, a P99 over the successful ones does not hold for 99 % of all requests.
MAX_FAILED_SHARE = 0.01
# Most answers of a load test, relative to those asked for. Closed-loop clients cannot get more
# answers than this (Little 1961), nor open-loop ones more than the offered rate; beyond this factor
# the figure counts inferences, several per request.
_MAX_TIMES_ASKED = 1.5
# Latencies that vLLM and SGLang save by default: to the first token, and between tokens.
_OTHER_P99S = frozenset({"request_latency_p99", "ttft_p99", "tpot_p99", "itl_p99"})
_EVEN = (EVEN_ARRIVALS, MAYBE_EVEN_ARRIVALS)
_OURS = (b'"points"', b'"version"')
_HEAD_BYTES = 65_536
# Subject of a point's readings: "resnet_i0 batch 4 concurrency 8", "request_rate 20".
_SUBJECT = re.compile(
    r"(?:(?P<name>.+) batch (?P<batch>\d{1,7}) )?"
    r"(?:max_)?(?P<load>concurrency|request_rate) (?P<amount>\d{1,9}(?:\.\d{1,9})?)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LoadFile:
    """One file, with its device and load from the command line; "" and None if not given."""

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
    """Load of a point."""

    kind: str  # "concurrency" or "rate"
    amount: float
    batch: int | None  # None: neither the file nor the command line says so
    name: str


def read_load_curves(
    texts: Sequence[str], *, latency: str = REQUEST_LATENCY
) -> tuple[LoadCurve, ...]:
    """Return one curve per workload and kind of replica, merged from all files.

    Raises UsageError for an unreadable file, NotFoundError for a missing one.
    """
    curves: dict[tuple[str, str, int, int, int], LoadCurve] = {}
    for text in texts:
        try:
            for curve in _curves(_parse_load_file(text), latency):
                kind = (curve.devices, curve.time_slices, curve.servers)
                key = (curve.workload, curve.device, *kind)
                earlier = curves.get(key)
                points = (*(earlier.points if earlier else ()), *curve.points)
                notes = (*(earlier.notes if earlier else ()), *curve.notes)
                is_even = curve.has_even_arrivals or bool(earlier and earlier.has_even_arrivals)
                curves[key] = replace(curve, points=points, notes=notes, has_even_arrivals=is_even)
        except LoadCurveError as error:
            name = clean_name(text.rpartition("=")[2])
            msg = str(error) if name in str(error) else f"{name}: {error}"
            raise UsageError(msg) from error
    return tuple(curves.values())


def _parse_load_file(text: str) -> _LoadFile:
    if Path(text).is_file():
        return _LoadFile(path=Path(text), device="", devices=None, slices=None)
    match = _LOAD_FILE.fullmatch(text)
    if match is None:
        if "=" in text:
            msg = f"{text[:80]!r}: {HOW_TO_ASK}"
            raise UsageError(msg)
        if Path(text).is_dir():
            msg = f"{shown_path(Path(text))} is a folder: give a file of a load test"
            raise UsageError(msg)
        raise missing_file(Path(text))
    return _LoadFile(
        path=Path(match["path"]),
        device=match["device"] or "",
        devices=int(match["devices"]) if match["devices"] else None,
        slices=int(match["slices"]) if match["slices"] else None,
        load=match["load"] or "",
        amount=float(match["amount"] or 0),
        batch=int(match["batch"]) if match["batch"] else None,
        is_poisson=match["poisson"] is not None,
    )


def _curves(file_spec: _LoadFile, latency: str) -> tuple[LoadCurve, ...]:
    name = clean_name(str(file_spec.path))
    try:
        with file_spec.path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            if all(key in head for key in _OURS):
                data = head + file.read(MAX_LOAD_BYTES)
                return (_relabel_curve(read_load_curve(data, name), file_spec, latency),)
    except OSError as error:
        raise unreadable_file(Path(name), error) from error
    if not file_spec.device:
        msg = f"{name} does not name its device: write DEVICE={name}"
        raise UsageError(msg)
    return tuple(_foreign_curves(file_spec, name, latency))


def _relabel_curve(curve: LoadCurve, file_spec: _LoadFile, latency: str) -> LoadCurve:
    """Return our own curve with clean names and the device given on the command line."""
    if latency != REQUEST_LATENCY:
        name = clean_name(str(file_spec.path))
        msg = f"{name} has request latencies only: leave --latency-metric {clean_name(latency)} out"
        raise UsageError(msg)
    if file_spec.load or file_spec.batch or file_spec.is_poisson:
        name = clean_name(str(file_spec.path))
        msg = f"{name} contains its loads and batches: leave out the part after @"
        raise UsageError(msg)
    return replace(
        curve,
        workload=clean_name(curve.workload),
        device=file_spec.device or clean_name(curve.device),
        devices=curve.devices if file_spec.devices is None else file_spec.devices,
        time_slices=1 if file_spec.slices is None else file_spec.slices,
    )


def _foreign_curves(file_spec: _LoadFile, name: str, latency: str) -> Iterator[LoadCurve]:
    try:
        profile = read_trace(
            "auto", file_spec.path.resolve(), workload=name, side=Side.HEAD, environment=os.environ
        )
    except ReaderError as error:
        msg = str(error) if name in str(error) else f"{name}: {error}"
        raise UsageError(msg) from error
    doubts = tuple(note for note in profile.notes if not (file_spec.is_poisson and note in _EVEN))
    by_name, left_out = _points(profile, file_spec, name, latency)
    if not by_name:
        saved = sorted({one.name for one in profile.readings if one.name in _OTHER_P99S})
        lacks = f"{name} has no {latency}_p99 with its throughput: make the tool save percentiles"
        if saved:
            metrics = ", ".join(other.removesuffix("_p99") for other in saved)
            lacks += f", or choose --latency-metric {metrics}, which it has"
        raise UsageError(left_out[0] if left_out else lacks)
    for label, points in by_name.items():
        yield LoadCurve(
            workload=label,
            device=file_spec.device,
            devices=1 if file_spec.devices is None else file_spec.devices,
            time_slices=1 if file_spec.slices is None else file_spec.slices,
            points=tuple(points),
            has_even_arrivals=any(note in _EVEN for note in doubts),
            notes=(*(f"{name}: {note}" for note in doubts), *left_out),
        )


def _points(
    profile: Profile, file_spec: _LoadFile, name: str, latency: str
) -> tuple[Mapping[str, Sequence[LoadPoint]], Sequence[str]]:
    """Return a file's points by workload, and notes on the points left out."""
    points: dict[str, list[LoadPoint]] = {}
    left_out: list[str] = []
    subjects = {one.subject: None for one in profile.readings if one.name == f"{latency}_p99"}
    if file_spec.load and len(subjects) > 1:
        msg = (
            f"{name} has {len(subjects)} loads, which it names itself: leave out @{file_spec.load}"
        )
        raise UsageError(msg)
    for subject in subjects:
        failed = _failed_share(profile, subject)
        if failed > MAX_FAILED_SHARE:
            where = f" at {subject}" if subject else ""
            much = (
                f"{decimals(100 * failed, 1)} % of its requests failed, but a P99 allows only 1 %"
            )
            left_out.append(f"{name}{where}: left out, {much}")
            continue
        load = _load(profile, subject, file_spec, name)
        points.setdefault(load.name, []).append(_point(profile, subject, load, latency))
    return points, left_out


def _failed_share(profile: Profile, subject: str) -> float:
    """Return the share of requests that failed, 0 if unknown."""
    failed = profile.reading("requests_failed", subject=subject) or 0.0
    completed = profile.reading("requests_completed", subject=subject) or 0.0
    return failed / (failed + completed) if failed > 0 else 0.0


def _load(profile: Profile, subject: str, file_spec: _LoadFile, name: str) -> _Load:
    """Return a point's load: from the command line, else from the file; a rate before a limit."""
    match = _SUBJECT.fullmatch(subject)
    label = clean_name(match["name"]) if match and match["name"] else profile.tool
    batch = int(match["batch"]) if match and match["batch"] else file_spec.batch
    if file_spec.load:
        return _Load(kind=file_spec.load, amount=file_spec.amount, batch=batch, name=label)
    rate = profile.reading("offered_rate", subject=subject)
    if rate is not None:
        return _Load(kind="rate", amount=rate, batch=batch, name=label)
    if match is not None:
        kind = "rate" if match["load"] == "request_rate" else "concurrency"
        return _Load(kind=kind, amount=float(match["amount"]), batch=batch, name=label)
    limit = profile.reading("max_concurrency", subject=subject)
    if limit is None:
        msg = (
            f"{name} does not contain the load that it was measured at, or the load had no limit: "
            f"{HOW_TO_ASK}"
        )
        raise UsageError(msg)
    return _Load(kind="concurrency", amount=limit, batch=batch, name=label)


def _point(profile: Profile, subject: str, load: _Load, latency: str) -> LoadPoint:
    def figure(name: str) -> float | None:
        return profile.reading(name, subject=subject) or None  # a load without a duration

    throughput, p99_s = figure("throughput_requests"), figure(f"{latency}_p99")
    if throughput is None:
        throughput = _of_inferences(
            figure, load, f"{profile.tool} at {load.kind} {typed(load.amount)}"
        )
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
    """Return the memory used at this load, else the most used on any device in the run."""
    of_load = profile.reading("memory_used", subject=subject)
    of_devices = [
        one.value
        for one in profile.readings
        if one.name == "memory_used" and one.subject.startswith("gpu ")
    ]
    return of_load or max(of_devices, default=None) or None


def _of_inferences(figure: Callable[[str], float | None], load: _Load, what: str) -> float | None:
    """Return requests per second from inferences per second; raise LoadCurveError.

    Without a batch size, one inference per request is assumed unless that is impossible.
    """
    inferences = figure("throughput_inferences")
    taken_s = figure(f"{REQUEST_LATENCY}_mean") or figure(f"{REQUEST_LATENCY}_p50")
    if inferences is None or load.batch is not None:
        return inferences and inferences / (load.batch or 1)
    most = load.amount if load.kind == "rate" else taken_s and load.amount / taken_s
    if most and inferences > _MAX_TIMES_ASKED * most:
        msg = (
            f"{what}: {typed(inferences)} inferences a second are more than its {typed(most)} "
            "requests; "
            f"give the batch: {HOW_TO_ASK}"
        )
        raise LoadCurveError(msg)
    return inferences


def _lasting_s(figure: Callable[[str], float | None]) -> float | None:
    """Return a request's time from its first to its last token.

    A tool's duration ends when the last request is done; arrivals end earlier by this time.
    """
    tokens, completed, token_s = map(figure, ("output_tokens", "requests_completed", "tpot_p50"))
    if tokens is None or completed is None or token_s is None:
        return None
    return token_s * tokens / completed
