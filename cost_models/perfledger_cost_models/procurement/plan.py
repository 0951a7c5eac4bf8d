"""Reads an organisation's plan from TOML: demand, options, supply, assumptions.

[demand]                      # accelerator-hours a year
accelerator = "H100-80GB"
keep = "p5.48xlarge/on_demand"  # how hours beyond the supply are bought today
growth = { low = 0.0, mode = 0.2, high = 0.6, source = "roadmap 2027" }
hours = { low = 3e5, mode = 4e5, high = 5e5, source = "..." }   # else the bill's, else the fleet's
hours_kind = "paid"             # or "allocated", "busy": what `hours` counts; a bill's are paid
commitment_utilization = { low = 0.8, mode = 0.9, high = 1, source = "..." }  # else the bill's
allocated_share = { ... }       # of paid hours, else usage files over the bill's hours
busy_share = { ... }            # of allocated hours, else the activity files'

[[option]]
name = "3 years, no upfront"
where = "p5.48xlarge/savings_plan/3y_no_upfront"
devices = 64                  # else the number that costs least over three years
lead_time = "none"

[[supply]]                    # existing devices: owned, or committed to until a last day
[[speed]]                     # hours on another accelerator that replace one hour
[[input]]                     # replaces a packaged hardware input
[[team]]                      # a team's workloads, and the hours a year that it may use
[usage]                       # allocated hours by team, their activity, and queue waits
files = ["usage.csv"]         # beside the plan, as `perfledger fleet allocate` reads them
activity = ["activity.csv"]   # as `perfledger fleet utilization` reads them
jobs = "jobs.csv"             # a job log, for queue waits
replay = { nodes = 4, devices = 8, policies = ["fifo", "easy"] }  # policies to compare
[forecast]                    # past usage, to forecast the next months' hours and spend
files = ["history.csv"]       # beside the plan, as `perfledger fleet forecast` reads them
[spot]                        # interruptions, saves and restarts
[carbon]                      # emission factors of the contracted electricity
[[attachment]]                # quotes, discounts (EDP, private pricing) and invoices, as files
name = "quote of the integrator"
file = "quote.pdf"            # beside the plan; copied to the review, with its hash
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

import msgspec

from perfledger.time_units import DAYS_PER_YEAR, HOURS_PER_DAY, HOURS_PER_YEAR, MINUTES_PER_HOUR
from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.forecasting.calendar_periods import PeriodLength
from perfledger_cost_models.forecasting.sample_paths import MAX_HORIZON
from perfledger_cost_models.prices.device_hour import is_device_price
from perfledger_cost_models.tco.hardware_inputs import HardwareInput, HardwareInputSheet
from perfledger_cost_models.toml_file import MAX_TEXT, Text, read_toml

MAX_CHARACTERS = 1_000_000
MAX_OPTIONS = 20  # more would not fit in a table that people decide by
MAX_ENTRIES = 1000
MAX_HOURS = Decimal(10) ** 12  # a year: a hundred million accelerators, so a typing error
MAX_DEVICES = 1_000_000
MAX_AMOUNT = Decimal(10) ** 12
MAX_KG_PER_KWH = Decimal(3)  # lignite emits 1.2
MAX_POLICIES = 8  # curves that one chart can show legibly
MAX_WAIT_MINUTES = MINUTES_PER_HOUR * HOURS_PER_DAY * DAYS_PER_YEAR
# Growth cannot be below -100 % a year; above 10-fold a plan of three years is meaningless.
MIN_GROWTH, MAX_GROWTH = Decimal("-0.9"), Decimal(10)

Entries = msgspec.Meta(max_length=MAX_ENTRIES)
Devices = Annotated[int, msgspec.Meta(ge=1, le=MAX_DEVICES)]

# A file in the plan's folder or below it: a plan must not read outside its folder.
RELATIVE_PATH = r"^(?!.*\.\.)[^/\\\x00-\x1f~][^\\\x00-\x1f]*$"

File = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT, pattern=RELATIVE_PATH)]

_NAME = re.compile(r"[A-Za-z0-9 _.,:%()+/*@\[\]=-]+")


class ProcurementPlanError(ValueError):
    """An invalid plan."""


class InputRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A figure with its range, source and basis."""

    low: Decimal
    mode: Decimal
    high: Decimal
    source: Text
    basis: str = "assumed"  # or "measured", "quoted"
    as_of: date | None = None

    def __post_init__(self) -> None:
        if not all(number.is_finite() for number in (self.low, self.mode, self.high)):
            msg = "low, mode and high must be finite numbers"
            raise ValueError(msg)
        if not self.low <= self.mode <= self.high:
            msg = f"low <= mode <= high does not hold: {self.low}, {self.mode}, {self.high}"
            raise ValueError(msg)
        if self.basis not in {"measured", "quoted", "assumed"}:
            msg = f"basis is {self.basis[:40]!r}: use measured, quoted or assumed"
            raise ValueError(msg)

    def within(self, name: str, least: Decimal, most: Decimal) -> None:
        """Raise ValueError unless the range lies within `least` to `most`."""
        if not least <= self.low <= self.high <= most:
            msg = f"{name} is {self.low} to {self.high}: give numbers from {least} to {most}"
            raise ValueError(msg)


class HoursKind(StrEnum):
    """What hours count: those paid for, those allocated to owners, or those with work."""

    PAID = "paid"
    ALLOCATED = "allocated"
    BUSY = "busy"


class PlannedDemand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The hours of one accelerator that are needed, and shares of hours."""

    accelerator: Text
    keep: Text
    growth: InputRange
    hours: InputRange | None = None
    hours_kind: HoursKind = HoursKind.PAID
    commitment_utilization: InputRange | None = None
    allocated_share: InputRange | None = None
    busy_share: InputRange | None = None

    def __post_init__(self) -> None:
        self.growth.within("growth", MIN_GROWTH, MAX_GROWTH)
        if self.hours is not None:
            self.hours.within("hours", Decimal(1), MAX_HOURS)
        shares = {
            "commitment_utilization": self.commitment_utilization,
            "allocated_share": self.allocated_share,
            "busy_share": self.busy_share,
        }
        for name, share in shares.items():
            if share is not None:
                share.within(name, Decimal("0.01"), Decimal(1))


class PlannedOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A planned purchase; `where` is an option of the price sheet or an owned server's name."""

    name: Text
    where: Text
    devices: Devices | None = None
    lead_time: str = ""
    note: str = ""


class SupplyEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Existing accelerators: owned, or committed to up to and including a day."""

    name: Text
    accelerator: Text
    devices: Devices
    is_owned: bool
    since: date
    until: date  # the last day of the term, or of its remaining useful life
    usd_per_year: Decimal | None = None
    source: Text

    def __post_init__(self) -> None:
        if self.until < self.since:
            msg = f"{self.name} ends on {self.until}, before its start on {self.since}: correct it"
            raise ValueError(msg)
        if self.usd_per_year is not None and not _is_within(self.usd_per_year, MAX_AMOUNT):
            msg = f"usd_per_year is {self.usd_per_year}: give a number from 0 to {MAX_AMOUNT}"
            raise ValueError(msg)
        if self.usd_per_year is None or self.is_owned:
            return
        if not is_device_price(self.usd_per_year / self.devices / HOURS_PER_YEAR):
            msg = (
                f"usd_per_year is {self.usd_per_year} for {self.devices} committed devices, which "
                "is no price: give what the contract costs, or leave it out if that is unknown"
            )
            raise ValueError(msg)


class SpeedRatio(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The hours of another accelerator that replace one hour of the plan's."""

    accelerator: Text
    hours: InputRange

    def __post_init__(self) -> None:
        self.hours.within("hours", Decimal("0.001"), Decimal(1000))


class OwnInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An organisation's own figure that replaces a packaged hardware input."""

    parameter: Text
    value: InputRange

    def __post_init__(self) -> None:
        self.value.within("value", Decimal(0), MAX_AMOUNT)


class PlanTeam(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A team with its workloads and the hours a year that it may use."""

    name: Text
    workloads: Annotated[tuple[Text, ...], Entries] = ()
    entitled_hours: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        if not _is_within(self.entitled_hours, MAX_HOURS):
            msg = f"entitled_hours is {self.entitled_hours}: give a number from 0 to {MAX_HOURS}"
            raise ValueError(msg)


class WaitObjective(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The share of jobs that must not wait longer than a limit."""

    wait_minutes: Decimal
    share: Decimal

    def __post_init__(self) -> None:
        is_finite = self.wait_minutes.is_finite() and self.share.is_finite()
        if not (is_finite and 0 <= self.wait_minutes <= MAX_WAIT_MINUTES and 0 < self.share <= 1):
            msg = f"wait_minutes must be 0 to {MAX_WAIT_MINUTES}, share above 0 and at most 1"
            raise ValueError(msg)


class ReplaySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Equal nodes, and the policies to compare; the first is today's, the reference."""

    nodes: Devices
    devices: Devices  # of a node
    policies: Annotated[tuple[Text, ...], msgspec.Meta(min_length=2, max_length=MAX_POLICIES)]


class UsageFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Files with the allocated hours of the quarter and the waits of its jobs."""

    files: Annotated[tuple[File, ...], Entries] = ()
    activity: Annotated[tuple[File, ...], Entries] = ()
    team: str = ""  # the label that names the team; "" for the usual labels of the files
    project: str = ""
    jobs: File | None = None
    objective: WaitObjective | None = None
    replay: ReplaySettings | None = None


class PlannedForecast(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Files of past usage to forecast from; `at` is the option that prices the hours."""

    files: Annotated[tuple[File, ...], msgspec.Meta(min_length=1, max_length=MAX_ENTRIES)]
    step: PeriodLength | None = None
    periods: Annotated[int, msgspec.Meta(ge=1, le=MAX_HORIZON)] | None = None
    at: Text | None = None


class SpotTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How often spot machines are interrupted, and the share of work done on demand instead."""

    interruptions_per_hour: InputRange
    save_h: Decimal
    restart_h: Decimal
    fallback: InputRange

    def __post_init__(self) -> None:
        self.interruptions_per_hour.within("interruptions_per_hour", Decimal(0), Decimal(60))
        self.fallback.within("fallback", Decimal(0), Decimal(1))
        is_day = all(
            _is_within(each, Decimal(HOURS_PER_DAY)) for each in (self.save_h, self.restart_h)
        )
        if not (is_day and self.save_h > 0):
            msg = "save_h must be above 0 and restart_h at least 0, both at most 24 hours"
            raise ValueError(msg)


class CarbonFactors(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Emission factors of the electricity; the market factor is that of the contracts."""

    location_kg_per_kwh: Decimal | None = None
    market_kg_per_kwh: Decimal | None = None
    source: Text

    def __post_init__(self) -> None:
        for factor in (self.location_kg_per_kwh, self.market_kg_per_kwh):
            if factor is not None and not _is_within(factor, MAX_KG_PER_KWH):
                msg = f"{factor} kg per kWh: give a number from 0 to 3"
                raise ValueError(msg)


class PlannedAttachment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file that belongs to the review, beside the plan."""

    name: Text
    file: File


class ProcurementPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An organisation's plan."""

    demand: PlannedDemand
    option: Annotated[tuple[PlannedOption, ...], msgspec.Meta(max_length=MAX_OPTIONS)]
    title: str = ""
    is_example: bool = False
    supply: Annotated[tuple[SupplyEntry, ...], Entries] = ()
    speed: Annotated[tuple[SpeedRatio, ...], Entries] = ()
    input: Annotated[tuple[OwnInput, ...], Entries] = ()
    team: Annotated[tuple[PlanTeam, ...], Entries] = ()
    usage: UsageFiles | None = None
    forecast: PlannedForecast | None = None
    spot: SpotTerms | None = None
    carbon: CarbonFactors | None = None
    attachment: Annotated[tuple[PlannedAttachment, ...], msgspec.Meta(max_length=50)] = ()

    def __post_init__(self) -> None:
        for kind, names in (
            ("option name", [one.name for one in self.option]),
            ("option where", [one.where for one in self.option]),
            ("team name", [one.name for one in self.team]),
            ("speed accelerator", [one.accelerator for one in self.speed]),
            ("input parameter", [one.parameter for one in self.input]),
            ("attached file's name", [one.file.rpartition("/")[2] for one in self.attachment]),
        ):
            if len(set(names)) < len(names):
                msg = f"two entries have the same {kind}: remove or rename one"
                raise ValueError(msg)
        bad = [one.name for one in self.option if not _NAME.fullmatch(one.name)]
        if bad:
            msg = (
                f"the option's name {bad[0][:40]!r} has unusual characters: use letters, digits "
                "and simple punctuation"
            )
            raise ValueError(msg)
        if self.demand.keep not in {one.where for one in self.option}:
            msg = f"keep is {self.demand.keep!r}, but no [[option]] has this where: add one"
            raise ValueError(msg)


_PLAN_DECODER = msgspec.json.Decoder(ProcurementPlan)


def read_plan(text: str, name: str) -> ProcurementPlan:
    """Read a plan in TOML; raises ProcurementPlanError that names the entry."""
    return read_toml(
        text,
        _PLAN_DECODER,
        name=f"plan {name!r}",
        max_characters=MAX_CHARACTERS,
        error=ProcurementPlanError,
    )


def own_hardware_inputs(
    sheet: HardwareInputSheet, inputs: Sequence[OwnInput], today: date
) -> HardwareInputSheet:
    """Return the hardware inputs with an organisation's own figures in their places.

    Raises ProcurementPlanError for a parameter that the sheet does not have, and a share above 1.
    """
    own_values = {one.parameter: one.value for one in inputs}
    unknown = sorted(set(own_values) - {one.name for one in sheet.parameters})
    if unknown:
        msg = f"[[input]] {unknown[0][:80]!r} is not in {sheet.name}: correct or remove it"
        raise ProcurementPlanError(msg)
    parameters = tuple(
        _with_value(each, own_values[each.name], today) if each.name in own_values else each
        for each in sheet.parameters
    )
    for each in parameters:
        if each.share_problem:
            raise ProcurementPlanError(each.share_problem)
    return HardwareInputSheet(
        name=f"{sheet.name} with {len(own_values)} of the plan's own" if own_values else sheet.name,
        parameters=parameters,
    )


def _is_within(value: Decimal, most: Decimal) -> bool:
    """Return whether a value is a number from 0 to `most`; NaN cannot be compared."""
    return value.is_finite() and 0 <= value <= most


def _with_value(parameter: HardwareInput, value: InputRange, today: date) -> HardwareInput:
    return replace(
        parameter,
        low=value.low,
        mode=value.mode,
        high=value.high,
        period="" if value.as_of is None else value.as_of.isoformat(),
        as_of=value.as_of or today,
        is_read_date=value.as_of is None,
        confidence=SourceConfidence.LOW if value.basis == "assumed" else SourceConfidence.HIGH,
        source=value.source,
        note="",
    )
