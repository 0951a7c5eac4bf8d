"""Turns what policies, and a queue, do to waits and devices into terminal text, CSV and JSON.

Nothing that others wrote reaches a page but as clean text.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields as dataclass_fields
from decimal import Decimal
from io import StringIO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.day_draws import Interval
from perfledger_cost_models.filling import Filling, allocation_interval
from perfledger_cost_models.policy_gain import PolicyComparison, PolicyRow
from perfledger_cost_models.policy_spread import Spread
from perfledger_cost_models.queue_plan import QueuePlan
from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean

# 1: first version. Keys are only ever added.
POLICIES_FORMAT = "perfledger-policies"
FILLING_FORMAT = "perfledger-filling"
QUEUE_FORMAT = "perfledger-queue"
VERSION = 1

_WHOLE_HOURS = 100.0  # from here on a part of an hour is not shown
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
_COLUMNS = ("wait", "P50", "P95", "slowdown", "in use", "idle")
_SPREAD = _COLUMNS[:4]


def duration(seconds: float) -> str:
    """Return a time in the largest unit that leaves a digit before the point: "1.5 h".

    To the millisecond, as times are inside.
    """
    seconds = round(seconds, 3)
    size, unit = next((each for each in _UNITS if abs(seconds) >= each[0]), _UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def policies_text(view: PolicyComparison) -> Group:
    """Return policies side by side for a terminal of 80 columns, and the sentence to take away."""
    grid = _grid("policy", *_COLUMNS)
    if view.recorded is not None:
        then = view.recorded
        waits = (then.wait_mean_s, then.wait_p50_s, then.wait_p95_s)
        grid.add_row("(as recorded)", *map(duration, waits), "", _share(then.allocated), "")
    for row in view.rows:
        each = row.figures
        waits = (each.wait_mean_s, each.wait_p50_s, each.wait_p95_s)
        grid.add_row(
            each.policy,
            *map(duration, waits),
            f"{each.slowdown_mean:.3g}",
            _share(each.useful),
            f"{each.wanted_idle_hours:,.0f} h",
        )
    parts: list[RenderableType] = [Text(_title(view), style="bold"), grid, Text()]
    parts += [*_spreads(view), _devices(view), Text()]
    parts += [Text(sentence) for sentence in gain_sentences(view)]
    parts += [Text(note, style="dim") for note in _notes(view)]
    return Group(*parts)


def gain_sentences(view: PolicyComparison) -> tuple[str, ...]:
    """Return for each other policy what it would change, in a sentence for who pays."""
    first = view.rows[0].figures
    return tuple(_gain(row, first.policy, first.wait_mean_s, view) for row in view.rows[1:])


def left_out_sentences(view: PolicyComparison) -> tuple[str, ...]:
    """Return what of the log was not replayed, and why."""
    unplaceable = view.rows[0].figures.unplaceable
    misfits = f"{unplaceable:,} {_jobs(unplaceable)} on no pool, even empty: left out."
    rows = (
        f"{count:,} {'row' if count == 1 else 'rows'} of the log left out: {reason}."
        for reason, count in view.left_out
    )
    return (*((misfits,) if unplaceable else ()), *rows)


def policies_csv(view: PolicyComparison) -> str:
    """Return a row a policy, with plain column names and base units."""
    written = StringIO()
    fields = list(asdict(view.rows[0].figures))
    names = ("wait_saved_s", "hours_gained_a_year")
    ends = ("", "_low", "_high")
    table = csv.writer(written, lineterminator="\n")
    spread = [field.name for field in dataclass_fields(Spread)]
    table.writerow(
        [
            *fields,
            *(name + end for name in (*names, "usd_gained_a_year") for end in ends),
            *(name + end for name in spread for end in ends[1:]),
        ]
    )
    for row in view.rows:
        cells = [cell for each in (row.wait_saved_s, row.hours_gained) for cell in _ends(each)]
        usd = _usd_ends(row.hours_gained, view) or (None, None, None)
        around = [end for name in spread for end in _ends(getattr(row.spread, name))[1:]]
        table.writerow([*asdict(row.figures).values(), *cells, *usd, *around])
    return written.getvalue()


def policies_json(view: PolicyComparison) -> str:
    """Return all figures as JSON; null where there is none."""
    document = {
        "format": POLICIES_FORMAT,
        "version": VERSION,
        "log": clean(view.log),
        "jobs": view.jobs,
        "devices": view.devices,
        "days": view.days,
        "left_out": dict(view.left_out),
        "notes": view.notes,
        "recorded": None if view.recorded is None else asdict(view.recorded),
        "policies": [
            asdict(row) | {"usd_gained_a_year": _usd_ends(row.hours_gained, view)}
            for row in view.rows
        ],
        "usd_per_device_hour": None if view.rate is None else str(view.rate.usd_per_device_hour),
        "rate": None if view.rate is None else view.rate.label,
        "rate_as_of": None if view.rate is None else view.rate.as_of.isoformat(),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def filling_text(found: Sequence[Filling]) -> Group:
    """Return how full each placement policy got the cluster, over its seeds."""
    grid = _grid("placement", "allocated", "least-most", "unusable", "turned away")
    for placement in dict.fromkeys(each.placement for each in found):
        runs = [each for each in found if each.placement is placement]
        low, mean, high = allocation_interval(runs)
        unusable = sum(each.fragmented for each in runs) / len(runs)
        away = sum(each.turned_away for each in runs) / sum(each.jobs for each in runs)
        grid.add_row(
            placement,
            figures.share(mean),
            f"{100 * low:.1f}-{100 * high:.1f}",
            figures.share(unusable),
            figures.share(away),
        )
    seeds = len({each.seed for each in found})
    note = (
        f"Of all devices; over {seeds} random orders. Unusable: by typical jobs, of what is free."
    )
    return Group(grid, Text(note, style="dim"))


def filling_csv(found: Sequence[Filling]) -> str:
    """Return a row for each placement and seed."""
    written = StringIO()
    rows = [{k: v for k, v in asdict(each).items() if k != "curve"} for each in found]
    table = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return written.getvalue()


def filling_json(found: Sequence[Filling]) -> str:
    """Return all fillings with their curves as JSON."""
    document = {
        "format": FILLING_FORMAT,
        "version": VERSION,
        "fillings": [asdict(each) for each in found],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def queue_text(plan: QueuePlan) -> Group:
    """Return a queue's waits for a terminal of 80 columns."""
    arrivals = plan.arrivals
    wanted = f"{figures.count(arrivals.arrivals_per_s * 3600)} devices wanted an hour"
    busy = f"{figures.count(plan.load)} busy of {plan.devices:,}"
    lines = [f"{wanted}, for {duration(arrivals.service_s)} each: {busy}"]
    if plan.exact is None:
        lines.append("The queue grows without end: more is wanted than there is.")
    else:
        lines += _waits(plan)
    if plan.target is not None and plan.devices_needed is not None:
        target = f"{figures.share(plan.target.share)} wait at most {duration(plan.target.wait_s)}"
        lines.append(f"{plan.devices_needed:,} devices are enough that {target}.")
    return Group(*(Text(line) for line in lines))


def queue_csv(plan: QueuePlan) -> str:
    """Return the plan as names and values."""
    written = StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow(["figure", "value"])
    table.writerows(asdict(plan.arrivals).items())
    table.writerows([("devices", plan.devices), ("load", plan.load)])
    for name, waits in (("mmc", plan.exact), ("ggc", plan.screening)):
        if waits is not None:
            table.writerows((f"{name}_{key}", value) for key, value in asdict(waits).items())
    table.writerows((f"mmc_wait_p{share * 100:g}_s", wait) for share, wait in plan.quantiles_s)
    table.writerows([("met_share", plan.met_share), ("devices_needed", plan.devices_needed)])
    return written.getvalue()


def queue_json(plan: QueuePlan) -> str:
    """Return the plan as JSON; null where there is no figure."""
    document = {"format": QUEUE_FORMAT, "version": VERSION, **asdict(plan)}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _waits(plan: QueuePlan) -> Iterator[str]:
    if plan.exact is not None:
        chance = figures.share(plan.exact.chance_of_waiting)
        yield (
            f"M/M/c: {chance} wait, {duration(plan.exact.wait_s)} on average over all; "
            f"{figures.count(round(plan.exact.queue_length, 4))} wait at any moment"
        )
        yield "  " + ", ".join(f"P{share * 100:g} {duration(s)}" for share, s in plan.quantiles_s)
    if plan.screening is not None and plan.arrivals.jobs:
        yield (
            f"G/G/c, a screening: {duration(plan.screening.wait_s)} on average, with this log's "
            f"variation ({plan.arrivals.arrival_cv2:.3g} of arrivals, "
            f"{plan.arrivals.service_cv2:.3g} of services; random is 1). Jobs of several devices "
            "wait for all of them at once, and longer: perfledger cost simulate decides."
        )
    if plan.met_share is not None and plan.target is not None:
        yield f"{figures.share(plan.met_share)} wait at most {duration(plan.target.wait_s)}."


def _title(view: PolicyComparison) -> str:
    name = clean(view.log, limit=60)
    return f"{name}: {view.jobs:,} jobs of {view.days:.1f} days on {view.devices:,} devices"


def _gain(row: PolicyRow, base: str, base_wait_s: float, view: PolicyComparison) -> str:
    figures_of = row.figures
    wait, before = duration(figures_of.wait_mean_s), duration(base_wait_s)
    than = f", not {before}" if wait != before else ", as it did"
    words = f"With {figures_of.policy} in place of {base}, a job waits {wait} on average{than}"
    gained = row.hours_gained
    if gained is None:
        return f"{words}."
    if gained.low is None or gained.high is None:
        return f"{words}; the log has too few days to say what a year gains."
    if gained.low <= 0 <= gained.high:
        return f"{words}; the log's days do not agree whether less stands idle while wanted."
    # The log's work is the same under all policies: nothing more of it is done, only sooner.
    kind = "fewer" if gained.middle > 0 else "more"
    hours = sorted((abs(gained.low), abs(gained.high)))
    words += (
        f"; {abs(gained.middle):,.0f} {kind} device-hours a year ({hours[0]:,.0f} to "
        f"{hours[1]:,.0f}) stand idle while somebody waits for as many"
    )
    if view.rate is None:
        return f"{words}."
    usd, low, high = (
        Decimal(hour) * view.rate.usd_per_device_hour for hour in (abs(gained.middle), *hours)
    )
    amount, ends = figures.yearly_usd(usd, low, high)
    return f"{words}; to add or keep as many costs {amount} ({ends}) at {view.rate.label}."


def _notes(view: PolicyComparison) -> Iterator[str]:
    yield (
        "Waits: mean over jobs. In use: of all devices, from first to last submission, less what "
        "was done again. Idle: device-hours free while somebody waited for that many. Unusable: by "
        "typical jobs, of what was free (fragmentation). Redone: by preemption, device-hours."
    )
    yield from left_out_sentences(view)
    yield from view.notes
    if view.rate is not None:
        for caveat in view.rate.caveats:
            yield f"{view.rate.label}: {caveat}."


def _grid(first: str, *others: str) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="left")
    for _ in others:
        grid.add_column(justify="right")
    grid.add_row(first, *others, style="dim")
    return grid


def _spreads(view: PolicyComparison) -> Iterator[RenderableType]:
    """Yield the ends of the waits' intervals, if the log has the days to say so."""
    if view.rows[0].spread.wait_mean_s.low is None:
        return
    grid = _grid("95 % interval", *_SPREAD)
    for row in view.rows:
        each = row.spread
        waits = (each.wait_mean_s, each.wait_p50_s, each.wait_p95_s)
        grid.add_row(
            row.figures.policy,
            *(_between(wait, duration) for wait in waits),
            _between(each.slowdown_mean, "{:.3g}".format),
        )
    yield grid
    yield Text()


def _devices(view: PolicyComparison) -> Table:
    """Return how far what is in use may be off, and what fragments and preemption take."""
    grid = _grid("policy", "unusable", "95 %", "redone", "95 %", "in use, 95 %")
    for row in view.rows:
        each = row.spread
        grid.add_row(
            row.figures.policy,
            _share(row.figures.fragmented),
            _between(each.fragmented, figures.share),
            _hours(row.figures.wasted_hours),
            _between(each.wasted_hours, _hours),
            _between(each.useful, figures.share),
        )
    return grid


def _hours(hours: float) -> str:
    return f"{hours:,.0f} h" if hours >= _WHOLE_HOURS else f"{hours:.3g} h"


def _between(interval: Interval | None, form: Callable[[float], str]) -> str:
    """Return both ends, the unit once where they share it: "1.2-3.4 h"."""
    if interval is None or interval.low is None or interval.high is None:
        return ""
    low, high = form(interval.low), form(interval.high)
    if low == high:
        return low
    number, *unit = low.split()
    return f"{number}-{high}" if unit == high.split()[1:] else f"{low}-{high}"


def _jobs(count: int) -> str:
    return "job fits" if count == 1 else "jobs fit"


def _share(value: float | None) -> str:
    return "" if value is None else figures.share(value)


def _ends(interval: Interval | None) -> tuple[float | None, ...]:
    if interval is None:
        return (None, None, None)
    return interval.middle, interval.low, interval.high


def _usd_ends(interval: Interval | None, view: PolicyComparison) -> list[str | None] | None:
    if interval is None or view.rate is None:
        return None
    usd = view.rate.usd_per_device_hour
    return [None if each is None else str(Decimal(each) * usd) for each in _ends(interval)]
