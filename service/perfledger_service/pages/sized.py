"""Turns sizes that meet a demand into terminal text, CSV and JSON.

Nothing that others wrote reaches a page but as clean text.
"""

import csv
import json
import math
import re
from collections.abc import Iterator
from io import StringIO
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfledger.load import MAX_POINTS, MAX_REQUESTS, MAX_SECONDS
from perfledger_cost_models.load_curve import LoadCurve, Sharing
from perfledger_cost_models.replica import Setting
from perfledger_cost_models.rightsizing import (
    Constraint,
    Rival,
    SizedOption,
    Sizing,
    Verdict,
)
from perfledger_service.pages import figures
from perfledger_service.pages.escape import cell, clean

# 1: first version. Keys are only ever added.
SIZES_FORMAT = "perfledger-sizes"
VERSION = 1

# What `perfledger load` takes: "module:function[name=value]", in single quotes.
_WORKLOAD = re.compile(r"[\w.]+:\w+(?:\[[^']*\])?")
_MAX_WORKLOAD = 200
_MAX_NOTE = 300

_COLUMNS = ("devices", "replicas", "batch", "at once", "USD/h", "USD/1M", "P99", "bound by")
_REASONS = {
    Constraint.LATENCY: "one replica less: its P99 is too long (latency)",
    Constraint.THROUGHPUT: "one replica less cannot serve so many requests (throughput)",
    Constraint.MEMORY: "what is cheaper needs more memory than the device has (memory)",
    Constraint.HEADROOM: "one replica less would do, but for the headroom (headroom)",
    Constraint.SMALLEST: "it is one replica, the smallest that was measured (smallest)",
}


def sizing_text(found: Sizing) -> Group:
    """Return the answer in a sentence and the best options, for a terminal of 80 columns."""
    rows = [(option, str(option.constraint)) for option in found.best]
    rows += [(rival.option, _open(rival.option)) for rival in found.rivals]
    kinds = [_kind(option, found) for option, _ in rows]
    columns = (*_COLUMNS, "replica") if any(kinds) else _COLUMNS
    grid = Table.grid(padding=(0, 1))
    for place in range(len(columns)):
        is_number = 0 < place < len(_COLUMNS) - 1
        justify: Literal["left", "right"] = "right" if is_number else "left"
        grid.add_column(justify=justify, no_wrap=place < len(_COLUMNS), overflow="fold")
    grid.add_row(*columns, style="dim")
    for place, ((option, bound), kind) in enumerate(zip(rows, kinds, strict=True)):
        cells = (*_cells(option), bound, kind)
        grid.add_row(*cells[: len(columns)], style="" if place < len(found.best) else "dim")
    parts: list[RenderableType] = [Text(title_of(found), style="bold")]
    parts += [Text(answer(found)), Text()]
    if found.best or found.rivals:
        parts += [grid, Text()]
    parts += [Text(sentence) for sentence in _advice(found)]
    parts += [Text(note, style="dim") for note in _notes(found)]
    return Group(*parts)


def sizing_csv(found: Sizing) -> str:
    """Return a row an option, the best first, then those that are open."""
    written = StringIO()
    rows = _rows(found)
    table = csv.writer(written, lineterminator="\n")
    table.writerow(_FIELDS)
    for row in rows:
        table.writerow([cell(each) if isinstance(each, str) else each for each in row.values()])
    return written.getvalue()


def sizing_json(found: Sizing) -> str:
    """Return the demand, the verdict, the options and the rivals as JSON; null: not known."""
    demand = found.demand
    document = {
        "format": SIZES_FORMAT,
        "version": VERSION,
        "rate_per_second": demand.rate_per_second,
        "p99_limit_s": demand.p99_s,
        "headroom": demand.headroom,
        "planned_per_second": demand.planned_per_second,
        "verdict": found.verdict,
        "answer": answer(found),
        "options": _rows(found),
        "advice": list(_advice(found)),
        "notes": list(_notes(found)),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def title_of(found: Sizing) -> str:
    """Return what was asked for."""
    demand = found.demand
    return (
        f"{figures.count(demand.rate_per_second)} requests a second, P99 at most "
        f"{figures.seconds(demand.p99_s)}; planned for {figures.count(demand.planned_per_second)}"
    )


def answer(found: Sizing) -> str:
    """Return the sentence for who pays."""
    if found.verdict is Verdict.NONE:
        return "Nothing that was measured keeps this P99 at this rate."
    if not found.best:
        return "Undecided: nothing keeps this P99 for sure, and something may."
    best = found.best[0]
    words = f"{_devices(best)}{_workload(best.plan.setting, found)}{_price(best)}"
    if found.verdict is Verdict.DECIDED:
        return f"Take {words.removesuffix(',')}. Why no less: {_REASONS[best.constraint]}."
    return f"Undecided: {words} is enough, and something cheaper may be."


def setting_name(setting: Setting, found: Sizing) -> str:
    """Return what a replica is and how it is run, and of which workload where there are several."""
    batch = f", batch {setting.batch}" if setting.batch > 1 else ""
    limit = f", {setting.concurrency} at once" if setting.concurrency else ""
    servers = f", {setting.curve.servers} servers" if setting.curve.servers > 1 else ""
    return f"{replica_name(setting.curve)}{_workload(setting, found)}{servers}{batch}{limit}"


def replica_name(curve: LoadCurve) -> str:
    """Return what a replica runs on: "2 x H100-80GB", "1/4 of L40S"."""
    device = clean(curve.accelerator or curve.device, limit=24)
    match curve.sharing:
        case Sharing.WHOLE:
            return device if curve.devices == 1 else f"{curve.devices} x {device}"
        case Sharing.MIG:
            return clean(curve.device, limit=40)
        case Sharing.TIME_SLICED:
            return f"1/{curve.time_slices} of {device}"


def _devices(option: SizedOption) -> str:
    plan = option.plan
    curve = plan.setting.curve
    device = clean(curve.accelerator or curve.device, limit=24)
    many = "" if plan.replicas == 1 else "s"
    of = "" if curve.sharing is Sharing.WHOLE else f" of {replica_name(curve)}"
    return f"{plan.devices} x {device} ({plan.replicas} replica{many}{of})"


def _workload(setting: Setting, found: Sizing) -> str:
    """Return which workload, or configuration of a model, where several were measured."""
    if len({each.curve.workload for each in found.settings}) == 1:
        return ""
    return f" of {clean(setting.curve.workload, limit=_MAX_WORKLOAD)}"


def _kind(option: SizedOption, found: Sizing) -> str:
    """Return what tells one row's replicas from another's, "" for the one kind there is."""
    curve = option.plan.setting.curve
    is_plain = curve.sharing is Sharing.WHOLE and curve.devices == 1
    servers = f"{curve.servers} servers" if curve.servers > 1 else ""
    words = (
        _workload(option.plan.setting, found).removeprefix(" of "),
        "" if is_plain else replica_name(curve),
        servers,
    )
    return ", ".join(filter(None, words))


def _price(option: SizedOption) -> str:
    tariff, usd, per_million = option.plan.tariff, option.plan.usd_per_hour, option.usd_per_million
    if tariff is None or usd is None or per_million is None:
        return ", for which there is no price,"
    bought = tariff.bought(option.plan.devices)
    paid = f", {bought} paid for" if bought > option.plan.devices else ""
    return (
        f" for {figures.usd(usd)} an hour{paid}, {figures.usd(per_million)} a million requests, "
        f"at {clean(tariff.rate.label, limit=80)}"
    )


def _cells(option: SizedOption) -> tuple[str, ...]:
    plan, curve = option.plan, option.plan.setting.curve
    usd, per_million = plan.usd_per_hour, option.usd_per_million
    return (
        f"{plan.devices} x {clean(curve.accelerator or curve.device, limit=16)}",
        str(plan.replicas),
        str(plan.setting.batch),
        str(plan.setting.concurrency or "-"),
        "" if usd is None else f"{usd:.2f}",
        "" if per_million is None else f"{per_million:.4g}",
        figures.seconds(option.p99_s[1]),
    )


def _open(option: SizedOption) -> str:
    """Return how likely an option is enough, as a cell of the table."""
    even = " if even" if option.plan.setting.is_even else ""
    return f"{option.plan.chance:.0%}?{even}"


def _advice(found: Sizing) -> Iterator[str]:
    for rival in found.rivals:
        yield _measure(rival, found)


def _measure(rival: Rival, found: Sizing) -> str:
    option = rival.option
    setting = option.plan.setting
    rate = option.replica_rate / setting.batch
    each = f" of {setting.batch}" if setting.batch > 1 else ""
    words = (
        f"{_devices(option)}{_workload(setting, found)}{_price(option)} keeps the P99 with a "
        f"chance of {figures.share(option.plan.chance)}"
    )
    if setting.is_even:
        words += " where requests come at even times, as they were measured"
    if rival.requests is None:
        return f"{words}: so near the limit that no measurement tells; take the sure one."
    length = figures.seconds(rival.requests / rate)
    if rival.requests / rate > 3600:  # noqa: PLR2004 - seconds of an hour
        length = figures.hours(rival.requests / rate)
    times = ", at random times," if setting.is_even else ""
    load = f"{figures.count(rate)} requests{each} a second"
    return (
        f"{words}. Measure one replica in open loop{times} at {load} for "
        f"{figures.count(rival.requests)} requests ({length}) to know{_command(rival, rate)}."
    )


def _command(rival: Rival, rate: float) -> str:
    """Return how our own load test measures that, of a workload that it can have measured."""
    setting, requests = rival.option.plan.setting, rival.requests or 0
    workload = clean(setting.curve.workload, limit=_MAX_WORKLOAD)
    if not _WORKLOAD.fullmatch(workload) or setting.curve.time_slices > 1:
        return ""
    parts = math.ceil(max(requests / MAX_REQUESTS, requests / rate / MAX_SECONDS))
    if parts >= MAX_POINTS:
        return ""
    options = f" --batch {setting.batch}" if setting.batch > 1 else ""
    options += f" --servers {setting.curve.servers}" if setting.curve.servers > 1 else ""
    seconds = math.ceil(requests / rate / parts)
    return (
        f": perfledger load '{workload}' --rate {rate:.6g}x{parts} --seconds {seconds}{options} "
        "--curve FILE, and FILE beside the others"
    )


def _notes(found: Sizing) -> Iterator[str]:
    for option, errors in zip(found.best, found.errors, strict=False):
        name = setting_name(option.plan.setting, found)
        if option.plan.setting.is_screening:
            yield (
                f"{name}: measured in closed loop only; its P99 at random arrivals is that of "
                "M/G/k, a screening."
            )
        elif errors:
            sizes = sorted(map(abs, errors))
            yield (
                f"{name}: each of {len(errors)} points left out, the others miss its P99 by "
                f"{figures.share(sizes[len(sizes) // 2])} typically, "
                f"{figures.share(sizes[-1])} at worst."
            )
        else:
            yield f"{name}: too few points to check one by the others."
    if found.best:
        most = figures.count(found.best[0].most_per_second)
        yield f"The first carries {most} requests a second until its P99 is as likely above."
    yield (
        "Requests come at random times, are spread at random and do not know each other; a batch "
        "waits until it is full."
    )
    yield from (f"{clean(each, limit=200)}." for each in found.left_out)
    doubts = (note for setting in found.settings for note in setting.curve.notes)
    yield from (f"{clean(note, limit=_MAX_NOTE)}." for note in dict.fromkeys(doubts))
    tariffs = [option.plan.tariff for option in found.best if option.plan.tariff is not None]
    for rate in dict.fromkeys(tariff.rate for tariff in tariffs):
        yield from (f"{clean(rate.label, limit=80)}: {each}." for each in rate.warnings)
        yield from (f"Assumed, not measured: {clean(each, limit=200)}." for each in rate.assumed)


_FIELDS = (
    *("workload", "device", "sharing", "devices_per_replica", "replicas_per_device", "batch"),
    *("concurrency", "replicas", "devices", "devices_paid_for", "option", "price_as_of"),
    *("usd_per_hour", "usd_per_million_requests", "replica_requests_per_second"),
    *("p99_low_s", "p99_s", "p99_high_s", "chance", "most_per_second", "bound_by"),
    *("is_screening", "requests_to_measure", "is_open", "servers_per_replica"),
    "is_of_even_arrivals",
)


def _rows(found: Sizing) -> list[dict[str, object]]:
    best = [_row(option, requests=None, is_open=False) for option in found.best]
    rivals = [_row(each.option, requests=each.requests, is_open=True) for each in found.rivals]
    return best + rivals


def _row(option: SizedOption, *, requests: int | None, is_open: bool) -> dict[str, object]:
    plan, tariff = option.plan, option.plan.tariff
    curve = plan.setting.curve
    usd, per_million = plan.usd_per_hour, option.usd_per_million
    low, middle, high = option.p99_s
    values = (
        clean(curve.workload),
        clean(curve.device),
        curve.sharing.value,
        curve.devices,
        curve.per_device,
        plan.setting.batch,
        plan.setting.concurrency,
        plan.replicas,
        plan.devices,
        None if tariff is None else tariff.bought(plan.devices),
        None if tariff is None else clean(tariff.rate.option),
        None if tariff is None else tariff.rate.as_of.isoformat(),
        None if usd is None else str(usd),
        None if per_million is None else str(per_million),
        option.replica_rate,
        low,
        middle if math.isfinite(middle) else None,
        high,
        plan.chance,
        option.most_per_second,
        option.constraint.value,
        plan.setting.is_screening,
        requests,
        is_open,
        curve.servers,
        plan.setting.is_even,
    )
    return dict(zip(_FIELDS, values, strict=True))
