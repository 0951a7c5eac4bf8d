"""What an organisation plans, in TOML, into checked values: demand, options, supply, assumptions.

[demand]                      # useful accelerator-hours a year
accelerator = "H100-80GB"
keep = "p5.48xlarge/on_demand"  # how hours beyond the supply are got today
growth = { low = 0.0, mode = 0.2, high = 0.6, source = "roadmap 2027" }
hours = { low = 3e5, mode = 4e5, high = 5e5, source = "..." }   # else the bill's, else the fleet's
use = { low = 0.5, mode = 0.7, high = 0.8, source = "..." }     # else the packaged baseline

[[option]]
name = "3 years, no upfront"
where = "p5.48xlarge/savings_plan/3y_no_upfront"
devices = 64                  # else what carries the first year's need
lead_time = "none"

[[supply]]                    # what is there already: owned, or committed to until a last day
[[speed]]                     # hours elsewhere for one hour of the accelerator
[[input]]                     # instead of a packaged input of owning
[[team]]                      # who is entitled to how many hours a year, and to which workloads
[usage]                       # who really held the devices, and how long jobs waited for them
files = ["usage.csv"]         # beside the plan, as `perfledger cost allocate` reads them
jobs = "jobs.csv"             # a job log: queue waits
replay = { nodes = 4, devices = 8, policies = ["fifo", "easy"] }  # what others would change
[forecast]                    # the past, of which the next months' hours and money are foretold
files = ["history.csv"]       # beside the plan, as `perfledger cost forecast` reads them
[spot]                        # interruptions, saves and restarts
[carbon]                      # factors of the electricity that was contracted
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Annotated

import msgspec

from perfledger_cost_models.parameter import Parameter, ParameterSheet
from perfledger_cost_models.paths import MAX_HORIZON
from perfledger_cost_models.period import Step
from perfledger_cost_models.table import Confidence
from perfledger_cost_models.toml_file import read_toml

MAX_CHARACTERS = 1_000_000
MAX_OPTIONS = 20  # more than a table that people decide by can hold
MAX_ENTRIES = 1000
MAX_HOURS = Decimal(10) ** 12  # a year; a hundred million accelerators, so a slip of the pen
MAX_DEVICES = 1_000_000
MAX_AMOUNT = Decimal(10) ** 12
DAY_HOURS = Decimal(24)
MAX_KG_PER_KWH = Decimal(3)  # lignite emits 1.2
MAX_POLICIES = 8  # curves that can still be told apart in one picture
MAX_WAIT_MINUTES = 60 * 24 * 365
# Yearly growth below -100 % is none; above 10-fold a plan of three years says nothing.
MIN_GROWTH, MAX_GROWTH = Decimal("-0.9"), Decimal(10)

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
Entries = msgspec.Meta(max_length=MAX_ENTRIES)
Devices = Annotated[int, msgspec.Meta(ge=1, le=MAX_DEVICES)]

# Of a file beside the plan, or below it: a plan does not reach out of its folder.
BESIDE = r"^(?!.*\.\.)[^/\\\x00-\x1f~][^\\\x00-\x1f]*$"

File = Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=BESIDE)]

_NAME = re.compile(r"[A-Za-z0-9 _.,:%()+/*@\[\]=-]+")


class PlanError(ValueError):
    """A plan that cannot be trusted as it is written."""


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A figure with its ends, where it is from, and what it rests on."""

    low: Decimal
    mode: Decimal
    high: Decimal
    source: Text
    basis: str = "assumed"  # or "measured", "quoted"
    as_of: date | None = None

    def __post_init__(self) -> None:
        if not all(number.is_finite() for number in (self.low, self.mode, self.high)):
            msg = "low, mode and high are not all numbers"
            raise ValueError(msg)
        if not self.low <= self.mode <= self.high:
            msg = f"not low <= mode <= high: {self.low}, {self.mode}, {self.high}"
            raise ValueError(msg)
        if self.basis not in {"measured", "quoted", "assumed"}:
            msg = f"basis is {self.basis[:40]!r}: measured, quoted or assumed"
            raise ValueError(msg)

    def within(self, name: str, least: Decimal, most: Decimal) -> None:
        """Raise ValueError unless all of it lies from `least` to `most`."""
        if not least <= self.low <= self.high <= most:
            msg = f"{name} is {self.low} to {self.high}: give numbers from {least} to {most}"
            raise ValueError(msg)


class Demand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many useful hours of one accelerator are needed."""

    accelerator: Text
    keep: Text
    growth: Range
    hours: Range | None = None
    use: Range | None = None

    def __post_init__(self) -> None:
        self.growth.within("growth", MIN_GROWTH, MAX_GROWTH)
        if self.hours is not None:
            self.hours.within("hours", Decimal(1), MAX_HOURS)
        if self.use is not None:
            self.use.within("use", Decimal("0.01"), Decimal(1))


class PlannedOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One way to get the hours; `where` is a purchase option, or an owned server's name."""

    name: Text
    where: Text
    devices: Devices | None = None
    lead_time: str = ""
    note: str = ""


class Holding(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Accelerators that are there already: owned, or committed to until a day, it included."""

    name: Text
    accelerator: Text
    devices: Devices
    is_owned: bool
    since: date
    until: date  # the last day of the term, or of what it can still be used for
    usd_per_year: Decimal | None = None
    source: Text

    def __post_init__(self) -> None:
        if self.until < self.since:
            msg = f"{self.name} is until {self.until}, its last day, which is before {self.since}"
            raise ValueError(msg)
        if self.usd_per_year is not None and not _is_within(self.usd_per_year, MAX_AMOUNT):
            msg = f"usd_per_year is {self.usd_per_year}: give a number from 0 to {MAX_AMOUNT}"
            raise ValueError(msg)


class Speed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many hours of another accelerator do the work of one hour of the plan's."""

    accelerator: Text
    hours: Range

    def __post_init__(self) -> None:
        self.hours.within("hours", Decimal("0.001"), Decimal(1000))


class OwnInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An organisation's own figure instead of a packaged input of owning, or a newer one."""

    parameter: Text
    value: Range

    def __post_init__(self) -> None:
        self.value.within("value", Decimal(0), MAX_AMOUNT)


class Team(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A team: the workloads that are its own, and the hours a year that it may use."""

    name: Text
    workloads: Annotated[tuple[Text, ...], Entries] = ()
    entitled_hours: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        if not _is_within(self.entitled_hours, MAX_HOURS):
            msg = f"entitled_hours is {self.entitled_hours}: give a number from 0 to {MAX_HOURS}"
            raise ValueError(msg)


class Objective(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many jobs may wait how long at most."""

    wait_minutes: Decimal
    share: Decimal

    def __post_init__(self) -> None:
        is_known = self.wait_minutes.is_finite() and self.share.is_finite()
        if not (is_known and 0 <= self.wait_minutes <= MAX_WAIT_MINUTES and 0 < self.share <= 1):
            msg = f"wait_minutes is from 0 to {MAX_WAIT_MINUTES}, and share above 0 and at most 1"
            raise ValueError(msg)


class Replay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Nodes, all alike, and policies: the first, today's, is what others are held against."""

    nodes: Devices
    devices: Devices  # of a node
    policies: Annotated[tuple[Text, ...], msgspec.Meta(min_length=2, max_length=MAX_POLICIES)]


class Used(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Files that tell who held the devices in the quarter, and how long jobs waited for them."""

    files: Annotated[tuple[File, ...], Entries] = ()
    team: str = ""  # the labels that name them; else those that the files are known to have
    project: str = ""
    jobs: File | None = None
    objective: Objective | None = None
    replay: Replay | None = None


class PlannedForecast(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Files of the past that tell what the next periods need and cost; `at` prices the hours."""

    files: Annotated[tuple[File, ...], msgspec.Meta(min_length=1, max_length=MAX_ENTRIES)]
    step: Step | None = None
    periods: Annotated[int, msgspec.Meta(ge=1, le=MAX_HORIZON)] | None = None
    at: Text | None = None


class Spot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How spot machines are taken away, and how much is done on demand for want of them."""

    interruptions_per_hour: Range
    save_h: Decimal
    restart_h: Decimal
    fallback: Range

    def __post_init__(self) -> None:
        self.interruptions_per_hour.within("interruptions_per_hour", Decimal(0), Decimal(60))
        self.fallback.within("fallback", Decimal(0), Decimal(1))
        is_day = all(_is_within(each, DAY_HOURS) for each in (self.save_h, self.restart_h))
        if not (is_day and self.save_h > 0):
            msg = "save_h is above 0 and restart_h from 0, both up to 24 hours"
            raise ValueError(msg)


class CarbonFactors(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the electricity emits; the market's factor is that of the contracts."""

    location_kg_per_kwh: Decimal | None = None
    market_kg_per_kwh: Decimal | None = None
    source: Text

    def __post_init__(self) -> None:
        for factor in (self.location_kg_per_kwh, self.market_kg_per_kwh):
            if factor is not None and not _is_within(factor, MAX_KG_PER_KWH):
                msg = f"{factor} kg per kWh: give a number from 0 to 3"
                raise ValueError(msg)


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All that an organisation plans with."""

    demand: Demand
    option: Annotated[tuple[PlannedOption, ...], msgspec.Meta(max_length=MAX_OPTIONS)]
    title: str = ""
    is_example: bool = False
    supply: Annotated[tuple[Holding, ...], Entries] = ()
    speed: Annotated[tuple[Speed, ...], Entries] = ()
    input: Annotated[tuple[OwnInput, ...], Entries] = ()
    team: Annotated[tuple[Team, ...], Entries] = ()
    usage: Used | None = None
    forecast: PlannedForecast | None = None
    spot: Spot | None = None
    carbon: CarbonFactors | None = None

    def __post_init__(self) -> None:
        for kind, names in (
            ("option", [one.name for one in self.option]),
            ("option's where", [one.where for one in self.option]),
            ("team", [one.name for one in self.team]),
            ("speed", [one.accelerator for one in self.speed]),
            ("input", [one.parameter for one in self.input]),
        ):
            if len(set(names)) < len(names):
                msg = f"an {kind} stands there twice"
                raise ValueError(msg)
        bad = [one.name for one in self.option if not _NAME.fullmatch(one.name)]
        if bad:
            msg = f"the option's name {bad[0][:40]!r} has characters that no name needs"
            raise ValueError(msg)
        if self.demand.keep not in {one.where for one in self.option}:
            msg = f"keep is {self.demand.keep!r}, which is no [[option]]'s where: add it as one"
            raise ValueError(msg)


def read_plan(text: str, name: str) -> Plan:
    """Read a plan in TOML; raises PlanError that names the place."""
    return read_toml(text, Plan, name=f"plan {name!r}", most=MAX_CHARACTERS, error=PlanError)


def own_parameters(
    sheet: ParameterSheet, inputs: Sequence[OwnInput], today: date
) -> ParameterSheet:
    """Return the inputs of owning with an organisation's own in their places.

    Raises PlanError for one that the sheet does not have: nothing would depend on it.
    """
    own = {one.parameter: one.value for one in inputs}
    unknown = sorted(set(own) - {one.name for one in sheet.parameters})
    if unknown:
        msg = f"[[input]] {unknown[0][:80]!r} is no input of {sheet.name}: nothing depends on it"
        raise PlanError(msg)
    return ParameterSheet(
        name=f"{sheet.name} with {len(own)} of the plan's own" if own else sheet.name,
        parameters=tuple(
            _replaced(each, own[each.name], today) if each.name in own else each
            for each in sheet.parameters
        ),
    )


def _is_within(value: Decimal, most: Decimal) -> bool:
    """Whether a value is a number from 0 to `most`; nan cannot even be compared."""
    return value.is_finite() and 0 <= value <= most


def _replaced(parameter: Parameter, value: Range, today: date) -> Parameter:
    return replace(
        parameter,
        low=value.low,
        mode=value.mode,
        high=value.high,
        period="" if value.as_of is None else value.as_of.isoformat(),
        as_of=value.as_of or today,
        is_read_date=value.as_of is None,
        confidence=Confidence.LOW if value.basis == "assumed" else Confidence.HIGH,
        source=value.source,
        note="",
    )
