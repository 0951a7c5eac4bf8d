"""Reads the summary and the detail log of MLPerf inference's LoadGen."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger.profile import Profile, ProfileReading
from perfledger.records import Side
from perfledger.rounding import for_programs
from perfledger_profiles.benchmark_tools.mlperf_log import MARK, events_of
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.json_documents import figure_of
from perfledger_profiles.parsing.text_file import read_text
from perfledger_profiles.parsing.units import NANO, number_or_none
from perfledger_profiles.timeline.summarised_profile import summary_profile

TOOL = "mlperf-loadgen"
INVALID = "LoadGen rates this run INVALID: do not compare it with other runs"
NO_VERDICT = "this file lacks LoadGen's verdict (VALID or INVALID)"

_RATE, _TIME = "1/s", "s"
# Keys of the summary (in lower case) or the detail log, with reading and unit; from results.cc.
_KEYS = {
    "samples per second": ("throughput_samples", _RATE),
    "result_samples_per_second": ("throughput_samples", _RATE),
    "completed samples per second": ("throughput_samples", _RATE),
    "result_completed_samples_per_sec": ("throughput_samples", _RATE),
    "qps w/ loadgen overhead": ("throughput_samples", _RATE),
    "result_qps_with_loadgen_overhead": ("throughput_samples", _RATE),
    "scheduled samples per second": ("scheduled_samples", _RATE),
    "result_scheduled_samples_per_sec": ("scheduled_samples", _RATE),
    "tokens per second": ("throughput_tokens", _RATE),
    "result_tokens_per_second": ("throughput_tokens", _RATE),
    "completed tokens per second": ("throughput_tokens", _RATE),
    "result_completed_tokens_per_second": ("throughput_tokens", _RATE),
    "tps w/ loadgen overhead": ("throughput_tokens", _RATE),
    "tokens per second (inferred)": ("throughput_tokens_inferred", _RATE),
    "result_inferred_tokens_per_second": ("throughput_tokens_inferred", _RATE),
    "completed tokens per second (inferred)": ("throughput_tokens_inferred", _RATE),
    "result_inferred_completed_tokens_per_second": ("throughput_tokens_inferred", _RATE),
    "target_qps": ("target_qps", _RATE),
    "effective_target_qps": ("target_qps", _RATE),
    "target_latency (ns)": ("target_latency", _TIME),
    "effective_target_latency_ns": ("target_latency", _TIME),
    "ttft_latency (ns)": ("target_ttft", _TIME),
    "tpot_latency (ns)": ("target_tpot", _TIME),
}
# The completed rate exists since v4.0; earlier versions print only the scheduled one.
_SERVED_RATES = ("throughput_samples", "scheduled_samples")
# "Mean latency (ns)", "99.00 percentile first token latency (ns)", "90th percentile latency (ns)".
_LATENCY = re.compile(
    r"(min|max|mean|\d{1,3}(?:\.\d{1,3})?)(?:th)? (first token )?(?:percentile )?"
    r"(first token )?(time (?:per|to) output token|latency) \(ns\)"
)
# "result_first_token_99.00_percentile_latency_ns", "result_time_to_output_token_min".
_DETAIL = re.compile(
    r"result_(first_token_|time_(?:per|to)_output_token_)?"
    r"(min|max|mean|\d{1,3}(?:\.\d{1,3})?_percentile)(?:_per)?(?:_query)?(?:_latency)?(?:_ns)?"
)


@dataclass(frozen=True, slots=True)
class _Cells:
    """The keys and values of a file in order, and the number of torn lines."""

    pairs: Sequence[tuple[str, str]]
    dropped: int = 0


def read_loadgen(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return the rates and latencies of one run; `is_valid` is LoadGen's verdict, 1 or 0.

    Only a valid run of the server scenario has `max_qps_under_slo`. Raises ProfileError if the file
    is neither mlperf_log_summary.txt nor mlperf_log_detail.txt of a timed run.
    """
    read = read_text(data)
    is_detail = any(MARK in line for line in read.lines)
    cells = _detail(read.lines) if is_detail else _summary(read.lines)
    words = dict(cells.pairs)
    verdict = words.get("result is") or words.get("result_validity", "")
    readings = [reading for key, text in cells.pairs for reading in _readings(key, text)]
    if not any(reading.name.startswith(("throughput", "request_latency")) for reading in readings):
        msg = "this file has no timed result of LoadGen: give a complete log of a performance run"
        raise ProfileError(msg)
    scenario = words.get("scenario") or words.get("effective_scenario", "")
    readings += _validity(verdict)
    if scenario == "Server" and verdict == "VALID":
        readings += _served_rate(readings)
    notes = {"VALID": (), "INVALID": (INVALID,)}.get(verdict, (NO_VERDICT,))
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        readings=readings,
        dropped=cells.dropped,
        notes=(*read.notes, *notes),
    )


def _summary(lines: Sequence[str]) -> _Cells:
    pairs = (line.rpartition(":") for line in lines)
    return _Cells([(" ".join(k.casefold().split()), text.strip()) for k, _, text in pairs if k])


def _detail(lines: Sequence[str]) -> _Cells:
    events = list(events_of(lines))
    pairs = [(one.key, str(_text_or_number(one.value))[:80]) for one in events if one is not None]
    return _Cells(pairs, len(events) - len(pairs))


def _text_or_number(value: object) -> object:
    """Return a string or a number; drop lists, which may hold a million samples."""
    if isinstance(value, str):
        return value
    return figure_of(value)


def _validity(verdict: str) -> Iterator[ProfileReading]:
    if verdict in ("VALID", "INVALID"):
        yield ProfileReading(name="is_valid", value=float(verdict == "VALID"), source="Result is")


def _served_rate(readings: Sequence[ProfileReading]) -> Iterator[ProfileReading]:
    """Yield the rate that the server sustained within its latency limit, as MLPerf submits it."""
    by_name = {reading.name: reading for reading in reversed(readings)}
    for rate in (by_name[name] for name in _SERVED_RATES if name in by_name):
        yield ProfileReading(
            name="max_qps_under_slo", value=rate.value, unit="1/s", source=rate.source
        )
        return


def _readings(key: str, text: str) -> Iterator[ProfileReading]:
    value = number_or_none(text)
    if value is None or value < 0:
        return
    name, unit = _KEYS.get(key) or (_latency(key), _TIME)
    # A target of zero is not set.
    if name and not (value == 0 and name.startswith("target")):
        yield ProfileReading(
            name=name,
            value=value * NANO if unit == _TIME else value,
            unit=unit,
            source=key,
            is_estimate=name.endswith("inferred"),
        )


def _latency(key: str) -> str:
    """Return the reading of a latency key, such as "ttft_p99", or "" for other keys."""
    if match := _LATENCY.fullmatch(key):
        statistic, kind = match[1], "first" if match[2] or match[3] else match[4]
    elif match := _DETAIL.fullmatch(key):
        statistic, kind = match[2].removesuffix("_percentile"), match[1] or ""
    else:
        return ""
    if statistic[0].isdecimal():
        statistic = f"p{for_programs(float(statistic))}"
    if kind.startswith("first"):
        return f"ttft_{statistic}"
    return f"tpot_{statistic}" if kind.startswith("time") else f"request_latency_{statistic}"
