"""Presents the sizes that meet a demand, and what to measure if it is undecided."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfledger.load import MAX_POINTS, MAX_REQUESTS, MAX_SECONDS
from perfledger.rounding import digits, for_programs
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.serving.load_curve import LoadCurve, ReplicaSharing
from perfledger_cost_models.serving.replica_settings import ReplicaSettings
from perfledger_cost_models.serving.rightsizing import (
    RivalOption,
    SizedOption,
    SizingConstraint,
    SizingPlan,
    SizingResult,
    SizingVerdict,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    CellKind,
    Column,
    Document,
    TextStyle,
    display,
    fact,
    figure,
    notes,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.number_format import quantity

_MAX_ACCELERATOR = 24
_MAX_DEVICE = 40
_MAX_RATE = 80
_MAX_SHORT_NAME = 16
# The form that `perfledger bench load` accepts: "module:function[name=value]", in single quotes.
_WORKLOAD = re.compile(r"[\w.]+:\w+(?:\[[^']*\])?")
_MAX_WORKLOAD = 200
_MAX_ASSUMPTION = 200
_MAX_NOTE = 300
_MAX_ROWS = 6  # of the table, for people; programs get all

_REASONS = {
    SizingConstraint.LATENCY: "with one replica fewer the P99 is too long (latency)",
    SizingConstraint.THROUGHPUT: "one replica fewer cannot serve the request rate (throughput)",
    SizingConstraint.MEMORY: "cheaper configurations need more memory than the device has (memory)",
    SizingConstraint.HEADROOM: "one replica fewer is enough only without the headroom (headroom)",
    SizingConstraint.SMALLEST: "it is a single replica, the smallest measured size (smallest)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Option:
    """A size that is enough, or one that needs more measured requests for a decision."""

    option: SizedOption
    is_open: bool = False
    requests: int | None = None


def sizing_document(sizing: SizingResult) -> Document:
    """Return the answer as a sentence, the best options, and others that may be enough."""
    demand = sizing.demand
    options = [_Option(option=option) for option in sizing.best]
    options += [
        _Option(option=rival.option, is_open=True, requests=rival.requests)
        for rival in sizing.rivals
    ]
    return Document(
        name="perfledger-sizes",
        facts={
            "rate_per_second": demand.rate_per_second,
            "p99_limit_s": demand.p99_s,
            "headroom": demand.headroom,
            "planned_per_second": demand.planned_per_second,
            "verdict": sizing.verdict,
            "answer": sizing_sentence(sizing),
            "advice": tuple(_advice(sizing)),
            "notes": tuple(_notes(sizing)),
        },
        blocks=(
            title(sizing_title(sizing)),
            *sentences([sizing_sentence(sizing)], names=_names(sizing)),
            table(
                _columns(sizing),
                options,
                key="options",
                style=lambda row: TextStyle.NOTE if row.is_open else TextStyle.PLAIN,
                most=_MAX_ROWS,
            ),
            *sentences(_advice(sizing), names=_names(sizing)),
            *notes(_notes(sizing), names=_names(sizing)),
        ),
    )


def sizing_title(sizing: SizingResult) -> str:
    """Return the demand."""
    demand = sizing.demand
    return (
        f"{number_format.count(demand.rate_per_second)} requests a second, P99 at most "
        f"{number_format.seconds(demand.p99_s)}; planned for "
        f"{number_format.count(demand.planned_per_second)}"
    )


def sizing_sentence(sizing: SizingResult) -> str:
    """Return the answer as a sentence."""
    if sizing.verdict is SizingVerdict.NONE:
        return "No measured configuration meets this P99 at this rate."
    if not sizing.best:
        return (
            "Undecided: no configuration certainly meets this P99, but some may: "
            f"{_open_range(sizing)}."
        )
    best = sizing.best[0]
    words = f"{_devices(best)}{_workload(best.plan.setting, sizing)}{_price(best)}"
    if sizing.verdict is SizingVerdict.DECIDED:
        return f"Take {words.removesuffix(',')}. Not less, because {_REASONS[best.constraint]}."
    return (
        f"Undecided: {words} is enough, but cheaper options may be as well: {_open_range(sizing)}."
    )


def _open_range(sizing: SizingResult) -> str:
    """Return the undecided numbers of replicas of each setting, and the rate to measure next."""
    by_setting: dict[int, list[SizingPlan]] = {}
    for rival in sizing.rivals:
        by_setting.setdefault(id(rival.option.plan.setting), []).append(rival.option.plan)
    ranges: list[str] = []
    for plans in by_setting.values():
        counts = sorted({plan.replicas for plan in plans})
        numbers = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        many = "replica" if counts == [1] else "replicas"
        name = "" if len(by_setting) == 1 else f" of {setting_name(plans[0].setting, sizing)}"
        ranges.append(f"{numbers} {many}{name}")
    is_one = [each.option.plan.replicas for each in sizing.rivals] == [1]
    words = f"{', '.join(ranges)} {'is' if is_one else 'are'} open"
    if sizing.next_measurement is None:
        return words
    option = sizing.next_measurement.option
    rate = number_format.count(option.replica_rate)
    return f"{words}; measure one replica at {rate}/s, its share among {option.plan.replicas:,}"


def setting_name(setting: ReplicaSettings, sizing: SizingResult) -> str:
    """Return a replica's devices and settings, and its workload if there are several."""
    batch = f", batch {setting.batch}" if setting.batch > 1 else ""
    limit = f", {setting.concurrency} concurrent" if setting.concurrency else ""
    servers = f", {setting.curve.servers} servers" if setting.curve.servers > 1 else ""
    return f"{replica_name(setting.curve)}{_workload(setting, sizing)}{servers}{batch}{limit}"


def replica_name(curve: LoadCurve) -> str:
    """Return the devices of a replica: "2 x H100-80GB", "1/4 of L40S"."""
    device = clean(curve.accelerator or curve.device, limit=_MAX_ACCELERATOR)
    match curve.sharing:
        case ReplicaSharing.WHOLE:
            return device if curve.devices == 1 else f"{curve.devices} x {device}"
        case ReplicaSharing.MIG:
            return clean(curve.device, limit=_MAX_DEVICE)
        case ReplicaSharing.TIME_SLICED:
            return f"1/{curve.time_slices} of {device}"


def _devices(option: SizedOption) -> str:
    plan = option.plan
    curve = plan.setting.curve
    device = clean(curve.accelerator or curve.device, limit=_MAX_ACCELERATOR)
    of = "" if curve.sharing is ReplicaSharing.WHOLE else f" of {replica_name(curve)}"
    return f"{plan.devices} x {device} ({quantity(plan.replicas, 'replica')}{of})"


def _workload(setting: ReplicaSettings, sizing: SizingResult) -> str:
    """Return the workload, or the configuration of a model, if several were measured."""
    if len({each.curve.workload for each in sizing.settings}) == 1:
        return ""
    return f" of {clean(setting.curve.workload, limit=_MAX_WORKLOAD)}"


def _kind(option: SizedOption, sizing: SizingResult) -> str:
    """Return what distinguishes a row's replicas, "" if there is only one kind."""
    curve = option.plan.setting.curve
    is_plain = curve.sharing is ReplicaSharing.WHOLE and curve.devices == 1
    servers = f"{curve.servers} servers" if curve.servers > 1 else ""
    words = (
        _workload(option.plan.setting, sizing).removeprefix(" of "),
        "" if is_plain else replica_name(curve),
        servers,
    )
    return ", ".join(filter(None, words))


def _price(option: SizedOption) -> str:
    tariff, usd, per_million = option.plan.tariff, option.plan.usd_per_hour, option.usd_per_million
    if tariff is None or usd is None or per_million is None:
        return ", for which there is no price,"
    bought = tariff.paid_devices(option.plan.devices)
    paid = f", {bought} paid for" if bought > option.plan.devices else ""
    return (
        f" for {number_format.usd(usd)} an hour{paid}, {number_format.usd(per_million)} per "
        f"million requests, at {clean(tariff.rate.label, limit=_MAX_RATE)}"
    )


def _columns(sizing: SizingResult) -> tuple[Column[_Option], ...]:
    """Return the columns of an option; people see the kind of replica if there are several."""
    options = [*sizing.best, *(rival.option for rival in sizing.rivals)]
    has_kinds = any(_kind(option, sizing) for option in options)
    return (
        display("devices", _devices_cell),
        figure("replicas", "replicas", lambda row: row.option.plan.replicas),
        figure("batch", "batch", lambda row: row.option.plan.setting.batch),
        figure("concurrency", "clients", lambda row: row.option.plan.setting.concurrency),
        figure(
            "usd_per_hour", "USD/h", lambda row: row.option.plan.usd_per_hour, number_format.cents
        ),
        figure(
            "usd_per_million_requests",
            "USD/1M",
            lambda row: row.option.usd_per_million,
            digits,
        ),
        display("P99", lambda row: number_format.seconds(row.option.p99_s[1])),
        words("", "bound by", _bound),
        words("", "replica" if has_kinds else None, lambda row: _kind(row.option, sizing)),
        display("price", _price_origin, kind=CellKind.REMARK),
        *_option_facts(),
    )


def _price_origin(row: _Option) -> str:
    """Return the option that prices a row, with its region and day."""
    rate = _rate(row)
    return "" if rate is None else f"{rate.label}, {rate.origin}"


def _devices_cell(row: _Option) -> str:
    plan = row.option.plan
    curve = plan.setting.curve
    return f"{plan.devices} x {clean(curve.accelerator or curve.device, limit=_MAX_SHORT_NAME)}"


def _bound(row: _Option) -> str:
    return _open(row.option) if row.is_open else str(row.option.constraint)


def _names(sizing: SizingResult) -> tuple[str, ...]:
    """Return the untrusted names that sentences quote."""
    return tuple(setting.curve.workload for setting in sizing.settings)


def _open(option: SizedOption) -> str:
    """Return the chance that an option is enough, as a table cell."""
    even = " if even" if option.plan.setting.is_even else ""
    return f"{number_format.whole_share(option.plan.chance)}?{even}"


def _advice(sizing: SizingResult) -> Iterator[str]:
    rival = sizing.next_measurement or next(iter(sizing.rivals), None)
    if rival is not None:
        yield _measure(rival, sizing)


def _measure(rival: RivalOption, sizing: SizingResult) -> str:
    option = rival.option
    setting = option.plan.setting
    rate = option.replica_rate / setting.batch
    batch = f" of {setting.batch}" if setting.batch > 1 else ""
    words = (
        f"{_devices(option)}{_workload(setting, sizing)}{_price(option)} meets the P99 with a "
        f"chance of {number_format.share(option.plan.chance)}"
    )
    if setting.is_even:
        words += " if requests arrive evenly, as they were measured"
    if rival.requests is None:
        return f"{words}: too close to the limit to decide by measuring; take the certain option."
    length = number_format.seconds(rival.requests / rate)
    if rival.requests / rate > SECONDS_PER_HOUR:
        length = number_format.hours(rival.requests / rate)
    times = ", at random times," if setting.is_even else ""
    load = f"{number_format.count(rate)} requests{batch} a second"
    return (
        f"{words}. Measure one replica in open loop{times} at {load} for "
        f"{number_format.count(rival.requests)} requests ({length}) to "
        f"decide{_command(rival, rate)}."
    )


def _command(rival: RivalOption, rate: float) -> str:
    """Return the load test command that measures it, "" if the workload is not one of ours."""
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
        f": perfledger bench load '{workload}' --request-rate {for_programs(rate)}x{parts} "
        f"--seconds-per-point {seconds}{options} --save-curve FILE, then add FILE to the others"
    )


def _notes(sizing: SizingResult) -> Iterator[str]:
    for option, errors in zip(sizing.best, sizing.errors, strict=False):
        name = setting_name(option.plan.setting, sizing)
        if option.plan.setting.is_screening:
            yield (
                f"{name}: measured in closed loop only; its P99 at random arrivals is estimated "
                "by M/G/k (screening)."
            )
        elif errors:
            sizes = sorted(map(abs, errors))
            yield (
                f"{name}: predicted from the other points, the P99 of each of {len(errors)} points "
                f"is off by {number_format.share(sizes[len(sizes) // 2])} typically, "
                f"{number_format.share(sizes[-1])} at most."
            )
        else:
            yield f"{name}: too few points to check each against the others."
    if sizing.best:
        most = number_format.count(sizing.best[0].most_per_second)
        yield (
            f"At {most} requests a second the P99 of the first option is as likely above the limit "
            "as below it."
        )
    yield (
        "Assumes that requests arrive at random, are independent and go to a random replica; a "
        "batch waits until it is full."
    )
    yield from (f"{clean(each, limit=_MAX_ASSUMPTION)}." for each in sizing.left_out)
    doubts = (note for setting in sizing.settings for note in setting.curve.notes)
    yield from (f"{clean(note, limit=_MAX_NOTE)}." for note in dict.fromkeys(doubts))
    tariffs = [option.plan.tariff for option in sizing.best if option.plan.tariff is not None]
    for rate in dict.fromkeys(tariff.rate for tariff in tariffs):
        yield from (f"{clean(rate.label, limit=_MAX_RATE)}: {each}." for each in rate.warnings)
        yield from (
            f"Assumed, not measured: {clean(each, limit=_MAX_ASSUMPTION)}." for each in rate.assumed
        )


def _rate(row: _Option) -> HourlyRate | None:
    tariff = row.option.plan.tariff
    return None if tariff is None else tariff.rate


def _option_facts() -> tuple[Column[_Option], ...]:
    """Return the columns that people see only in sentences or not at all."""
    return (
        fact("workload", lambda row: row.option.plan.setting.curve.workload),
        fact("device", lambda row: row.option.plan.setting.curve.device),
        fact("sharing", lambda row: row.option.plan.setting.curve.sharing),
        fact("devices_per_replica", lambda row: row.option.plan.setting.curve.devices),
        fact("replicas_per_device", lambda row: row.option.plan.setting.curve.per_device),
        fact("servers_per_replica", lambda row: row.option.plan.setting.curve.servers),
        fact("devices", lambda row: row.option.plan.devices),
        fact("devices_paid_for", _devices_to_buy),
        fact("option", lambda row: getattr(_rate(row), "option", None)),
        fact("region", lambda row: getattr(_rate(row), "region", None)),
        fact("price_as_of", lambda row: getattr(_rate(row), "as_of", None)),
        fact("price_is_read_date", lambda row: getattr(_rate(row), "is_read_date", None)),
        fact("replica_requests_per_second", lambda row: row.option.replica_rate),
        fact("p99_low_s", lambda row: row.option.p99_s[0]),
        fact("p99_s", lambda row: row.option.p99_s[1]),
        fact("p99_high_s", lambda row: row.option.p99_s[2]),
        fact("chance", lambda row: row.option.plan.chance),
        fact("most_per_second", lambda row: row.option.most_per_second),
        fact("bound_by", lambda row: row.option.constraint),
        fact("is_screening", lambda row: row.option.plan.setting.is_screening),
        fact("requests_to_measure", lambda row: row.requests),
        fact("is_open", lambda row: row.is_open),
        fact("is_of_even_arrivals", lambda row: row.option.plan.setting.is_even),
    )


def _devices_to_buy(row: _Option) -> int | None:
    tariff = row.option.plan.tariff
    return None if tariff is None else tariff.paid_devices(row.option.plan.devices)
