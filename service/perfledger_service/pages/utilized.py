"""Turns how well devices are used into terminal text, CSV and JSON, with the evidence in words.

Names are whoever's: nothing that others wrote reaches a page but as clean text.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from io import StringIO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.activity import Holder, Level, Signal
from perfledger_cost_models.idle_stretch import IdleJob
from perfledger_cost_models.mig_fit import MigCandidate
from perfledger_cost_models.red_herring import RedHerring
from perfledger_cost_models.utilization import Use
from perfledger_cost_models.utilization_report import Gain, Utilization
from perfledger_service.pages import figures
from perfledger_service.pages.escape import cell, clean

# 1: first version. Keys are only ever added.
UTILIZATION_FORMAT = "perfledger-utilization"
VERSION = 1
MAX_ROWS = 20
MAX_EVIDENCE = 8
SIGNALS = {
    Signal.GPU_UTIL: "GPU-util",
    Signal.SM_ACTIVE: "SM-active",
    Signal.TENSOR_ACTIVE: "tensor-active",
    Signal.MEMORY: "memory",
    Signal.ENGINE_ACTIVE: "engine-active",
}
_COLUMNS = ("hours", "in use", "P50", "P95", "idle", "SM", "tensor", "memory")
_DAY_HOURS = 24.0
_NAME = 22


def utilization_text(view: Utilization) -> Group:
    """Return utilization by holder for a terminal of 80 columns, and what to do about it."""
    parts: list[RenderableType] = [
        Text(_title(view), style="bold"),
        *map(Text, use_sentences(view)),
        Text(),
        _grid(view),
    ]
    for heading, lines in (
        (f"To {figures.whole_share(view.gain.target)}", gain_sentences(view)),
        ("Held without work", [_idle_line(job) for job in view.idle]),
        ("Look busy and are not", [_herring_line(each) for each in view.herrings]),
        ("Would fit on a part (MIG)", [_candidate_line(each) for each in view.candidates]),
    ):
        if lines:
            parts += [Text(), Text(heading, style="bold")]
            parts += [Text(line) for line in lines[:MAX_EVIDENCE]]
        if len(lines) > MAX_EVIDENCE:
            parts.append(Text(f"and {len(lines) - MAX_EVIDENCE:,} more: --format json"))
    return Group(*parts, Text(), *(Text(note, style="dim") for note in _notes(view)))


def use_sentences(view: Utilization) -> tuple[str, ...]:
    """Return how much of the known hours was in use, and what the rest is of which nobody knows."""
    use = view.all
    hours = f"{amount(use.device_hours)} known device-hours"
    first = f"{_mean(use)} of {hours} were in use by {SIGNALS[view.signal]}."
    if not use.missing_hours or use.range is None:
        return (first,)
    ends = figures.TO.join(map(figures.share, use.range))
    missing = amount(use.missing_hours)
    rest = f"{missing} more are not known: {ends} were those all idle, or all busy."
    return first, rest


def gain_sentences(view: Utilization) -> tuple[str, ...]:
    """Return what the target would free, and how far the evidence leads there."""
    gain = view.gain
    target = figures.whole_share(gain.target)
    if not gain.freed_hours:
        return (f"Use is at the target of {target} or above: nothing is to be freed.",)
    least = "at least " if view.all.is_upper_bound else ""
    freed = amount(gain.freed_hours)
    words = f"The same work at {target} takes {least}{freed} fewer device-hours{_price(gain)}"
    if gain.yearly_hours is not None:
        words += f"; in a year like this {least}{amount(gain.yearly_hours)}"
    return f"{words}.", _evidence(gain)


def utilization_csv(view: Utilization) -> str:
    """Return a row for each holder, with plain column names and base units; unknown is empty."""
    written = StringIO()
    table = csv.writer(written, lineterminator="\n")
    plain = [name for name in asdict(view.all) if name not in ("holder", "signals")]
    table.writerow(
        [
            view.level,
            *plain,
            "idle_hours",
            "range_low",
            "range_high",
            *(f"mean_{s}" for s in Signal),
        ]
    )
    for use in view.uses:
        values = asdict(use)
        table.writerow(
            [
                cell(use.holder),
                *(values[name] for name in plain),
                _idle_hours(view, use.holder),
                *(use.range or (None, None)),
                *(use.signals.get(signal) for signal in Signal),
            ]
        )
    return written.getvalue()


def utilization_json(view: Utilization) -> str:
    """Return all figures with their evidence as JSON; null where there is none. Times are UTC."""
    document = {
        "format": UTILIZATION_FORMAT,
        "version": VERSION,
        "files": [clean(name) for name in view.files],
        "kinds": view.kinds,
        "start": _moment(view.start),
        "end": _moment(view.end),
        "devices": view.devices,
        "by": view.level,
        "signal": view.signal,
        "all": _use_document(view, view.all),
        "holders": [_use_document(view, use) for use in view.uses],
        "target": _gain_document(view.gain),
        "idle_jobs": [_idle_document(job) for job in view.idle],
        "red_herrings": [_herring_document(each) for each in view.herrings],
        "mig_candidates": [_candidate_document(each) for each in view.candidates],
        "hours_of_week": view.week,
        "samples_left_out": view.left_out,
        "notes": view.notes,
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def amount(value: float) -> str:
    """Return hours or devices with four digits and separators: "19,040", "0.5"."""
    return f"{float(f'{value:.4g}'):,.15g}"


def _title(view: Utilization) -> str:
    hours = (view.end - view.start) / 3600
    length = f"{amount(hours)} h" if hours < _DAY_HOURS else f"{hours / _DAY_HOURS:,.1f} days"
    names = clean(", ".join(view.files), limit=50)
    return f"{names}: {amount(view.devices)} {_devices(view.devices)}, {length}"


def _devices(count: float) -> str:
    return "device" if count == 1 else "devices"


def _grid(view: Utilization) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(max_width=_NAME, overflow="fold")
    for _ in _COLUMNS:
        grid.add_column(justify="right", no_wrap=True)
    grid.add_column()
    grid.add_row(view.level, *_COLUMNS, "", style="dim")
    for use in view.uses[:MAX_ROWS]:
        kind = {None: "", True: "bursty", False: "steady"}[use.is_bursty]
        grid.add_row(
            Text(clean(use.holder, limit=_NAME)),
            f"{amount(use.device_hours)}",
            Text(_mean(use), style="bold"),
            *(_share(each) for each in (use.p50, use.p95, use.idle_share)),
            *(
                _share(use.signals.get(signal))
                for signal in (Signal.SM_ACTIVE, Signal.TENSOR_ACTIVE, Signal.MEMORY)
            ),
            kind,
        )
    if len(view.uses) > MAX_ROWS:
        grid.add_row(f"and {len(view.uses) - MAX_ROWS:,} more")
    return grid


def _price(gain: Gain) -> str:
    if gain.rate is None or gain.freed_usd is None or gain.freed_usd_ends is None:
        return ""
    amount, ends = figures.yearly_usd(gain.freed_usd, *gain.freed_usd_ends)
    rate = gain.rate
    between = f" ({ends})" if rate.low != rate.high else ""
    dated = figures.day(rate.as_of)
    return f"; these cost {amount}{between} at {rate.label} ({clean(rate.source)}, {dated})"


def _evidence(gain: Gain) -> str:
    given = [
        f"{amount(hours)} that {who}"
        for hours, who in (
            (gain.idle_hours, "jobs held without work"),
            (gain.free_hours, "nobody held"),
        )
        if hours
    ]
    if not given:
        return (
            "No stretch without work is known: only denser packing or smaller devices lead there."
        )
    reached = (
        "nothing is left" if gain.reached is None else f"{figures.share(gain.reached)} is reached"
    )
    return f"Without {' and '.join(given)}, {reached}."


def _idle_line(job: IdleJob) -> str:
    seen = f"{SIGNALS[job.signal]} at most {figures.share(job.highest)} in {job.samples:,} samples"
    sure = f"surely {amount(job.least_hours)}"
    memory = "" if job.memory is None else f"; {figures.whole_share(job.memory)} of memory held"
    held = f"{amount(job.device_hours)} h on {amount(job.devices)} {_devices(job.devices)}"
    longest = f"{_minute(job.start)}{figures.TO}{_minute(job.end)}"
    return f"{_who(job.holder)}: {held} ({sure}), {seen}{memory}; longest {longest}"


def _herring_line(each: RedHerring) -> str:
    tensor = "" if each.tensor_active is None else f", tensor {figures.share(each.tensor_active)}"
    signal = Signal.ENGINE_ACTIVE if each.sm_active is None else Signal.SM_ACTIVE
    return (
        f"{_who(each.holder)}: GPU-util {figures.share(each.gpu_util)}, {SIGNALS[signal]} "
        f"{figures.share(each.active)}{tensor} over {amount(each.device_hours)} h"
    )


def _candidate_line(each: MigCandidate) -> str:
    return (
        f"{_who(each.holder)}: {each.part.name} of {clean(each.model, limit=40)}; "
        f"{SIGNALS[each.signal]} P99 {figures.share(each.activity)}, memory at most "
        f"{figures.share(each.memory)}; leaves {amount(each.freed_hours)} h of "
        f"{amount(each.device_hours)}"
    )


def _notes(view: Utilization) -> Iterator[str]:
    yield (
        "In use, P50, P95: of device-time, by the signal above. Idle: share of it at 2 % or less. "
        "GPU-util counts a device as used while any kernel runs, SM-active its multiprocessors."
    )
    if any(use.burstiness is not None for use in view.uses):
        yield (
            "Bursty: the hours' levels spread by more than half their mean (Goh and Barabasi's B "
            "is -1/3 or more). Share devices among the bursty; give the steady smaller ones."
        )
    if view.idle:
        yield (
            "Held without work: an hour or longer without a gap; surely: with 95 % confidence, by "
            "how often it was looked at."
        )
    if view.candidates:
        yield "On a part a kernel that fills the whole device for a moment takes longer."
    if view.all.is_upper_bound:
        yield "Slurm keeps the highest values that it saw: use is at most what is shown (<)."
    if view.gain.rate is not None:
        yield "Freed hours are cash only where they are paid by the hour; else room for other work."
        yield from (f"{view.gain.rate.label}: {caveat}." for caveat in view.gain.rate.caveats)
    if view.left_out:
        samples = "1 sample is" if view.left_out == 1 else f"{view.left_out:,} samples are"
        yield f"{samples} no share: not known."
    yield from (f"{note[:1].upper()}{note[1:]}." for note in view.notes)


def _use_document(view: Utilization, use: Use) -> dict[str, object]:
    hours = view.gain.idle_hours if use is view.all else _idle_hours(view, use.holder)
    known = {"range": use.range, "is_bursty": use.is_bursty, "idle_hours": hours}
    document: dict[str, object] = {**asdict(use), "holder": clean(use.holder), **known}
    return document


def _gain_document(gain: Gain) -> Mapping[str, object]:
    usd, ends, rate = gain.freed_usd, gain.freed_usd_ends, gain.rate
    known: dict[str, object] = {
        "freed_hours_a_year": gain.yearly_hours,
        "freed_usd": None if usd is None else str(usd),
        "freed_usd_ends": None if ends is None else [*map(str, ends)],
        "rate": None if rate is None else rate.label,
        "rate_as_of": None if rate is None else rate.as_of.isoformat(),
        "rate_source": None if rate is None else rate.source,
    }
    return {key: value for key, value in asdict(gain).items() if key != "rate"} | known


def _idle_document(job: IdleJob) -> Mapping[str, object]:
    times = {"start": _moment(job.start), "end": _moment(job.end)}
    return asdict(job) | {"holder": _holder(job.holder)} | times


def _herring_document(each: RedHerring) -> Mapping[str, object]:
    return asdict(each) | {"holder": _holder(each.holder), "hours_apart": each.hours_apart}


def _candidate_document(each: MigCandidate) -> Mapping[str, object]:
    known = {"model": clean(each.model), "freed_hours": each.freed_hours}
    return asdict(each) | {"holder": _holder(each.holder)} | known


def _idle_hours(view: Utilization, holder: str) -> float:
    return sum(job.device_hours for job in view.idle if job.holder.at(view.level) == holder)


def _holder(holder: Holder) -> dict[str, str]:
    return {
        "team": clean(holder.team) if holder.team else "",
        "namespace": clean(holder.namespace) if holder.namespace else "",
        "job": clean(holder.job) if holder.job else "",
    }


def _who(holder: Holder) -> str:
    return clean(holder.at(Level.JOB), limit=60)


def _mean(use: Use) -> str:
    if use.mean is None:
        return figures.NOT_KNOWN
    return f"{'<' if use.is_upper_bound else ''}{figures.share(use.mean)}"


def _share(value: float | None) -> str:
    return "" if value is None else figures.whole_share(value)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _minute(seconds: float) -> str:
    return figures.moment(datetime.fromtimestamp(seconds, UTC)).removesuffix(" UTC")
