"""Reads the hardware inputs of owning: low, most likely and high figures with their sources."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files

from perfledger_cost_models.csv_table import SheetRow, SourceConfidence, iso_date, read_rows
from perfledger_cost_models.prices.price_list import read_address
from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.quote import price_day
from perfledger_cost_models.tco.input_phrases import input_figure, input_phrase

PACKAGED_HARDWARE_INPUTS = "packaged-onprem-2026-11-20"
WACC = "wacc"  # the name of the cost of capital
COLUMNS = (
    "parameter",
    "unit",
    "low",
    "mode",
    "high",
    "dist",
    "as_of",
    "retrieved_at",
    "confidence",
    "source",
    "source_url",
    "note",
)
DISTRIBUTION = "PERT"  # the only one supported
# Units of shares, whose figures are at most 1: 8 would be 8 % written without its sign.
SHARE_UNITS = frozenset(
    {"fraction", "of capex per year", "of max", "of nodes", "of price", "per year"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareInput:
    """One input of the cost of owning: its most likely value, its range and its source.

    `period` is what the source says about its time ("2026-Q1", "2025 mean"). `as_of` is `period` if
    that is a day, else the day it was read (`is_read_date`).
    """

    name: str
    unit: str
    low: Decimal
    mode: Decimal
    high: Decimal
    period: str
    as_of: date
    is_read_date: bool
    confidence: SourceConfidence
    source: str
    source_url: str = ""  # its https address; "" if none is known
    note: str = ""

    @property
    def is_assumed(self) -> bool:
        """Return whether the figure is so uncertain that every report must list it."""
        return self.confidence is SourceConfidence.LOW

    @property
    def share_problem(self) -> str:
        """Return what is wrong with a share above 1, else ""."""
        if self.unit not in SHARE_UNITS or self.high <= 1:
            return ""
        return (
            f"{self.name} is up to {self.high} {self.unit}: give a share of at most 1, such as "
            "0.08 for 8 %"
        )

    @property
    def dated(self) -> str:
        """Return the day of the figure in words."""
        return price_day(self.as_of, is_read_date=self.is_read_date)

    @property
    def label(self) -> str:
        """Return the input's phrase and figure: "cost of capital (WACC): 8.5 % a year"."""
        return f"{input_phrase(self.name)}: {input_figure(self.mode, self.unit)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareInputSheet:
    """Inputs from a named source."""

    name: str
    parameters: tuple[HardwareInput, ...]

    def find(self, name: str) -> HardwareInput:
        """Return an input by name; raise PriceMissingError for a missing one, which is not zero."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise PriceMissingError(name, self.name, "add it there, with low, mode and high")


def read_hardware_inputs(text: str, name: str) -> HardwareInputSheet:
    """Read hardware inputs in CSV with the columns of COLUMNS.

    Raises PriceSheetError that names the row and the column: 0 <= low <= mode <= high, and every
    input has a source, the day it was read, and only one row.
    """
    parameters: dict[str, HardwareInput] = {}
    for row in read_rows(text, name, columns=COLUMNS):
        parameter = _read_parameter(row)
        if parameter.name in parameters:
            row.reject("parameter", "appears twice")
        parameters[parameter.name] = parameter
    return HardwareInputSheet(name=name, parameters=tuple(parameters.values()))


@cache
def packaged_hardware_inputs() -> HardwareInputSheet:
    """Return the hardware inputs that ship with perfledger."""
    return read_hardware_inputs(packaged_text(), PACKAGED_HARDWARE_INPUTS)


def packaged_text() -> str:
    """Return the CSV that the packaged inputs are read from."""
    return files("perfledger_cost_models").joinpath("onprem.csv").read_text(encoding="utf-8")


def _read_parameter(row: SheetRow) -> HardwareInput:
    low, mode, high = (row.decimal(column) for column in ("low", "mode", "high"))
    if not low <= mode <= high:
        row.reject("mode", f"is not between {low} and {high}")
    if row.text("dist") != DISTRIBUTION:
        row.reject("dist", f"is not {DISTRIBUTION}")
    as_of = iso_date(row.text("as_of"))
    return HardwareInput(
        name=row.text("parameter"),
        unit=row.text("unit"),
        low=low,
        mode=mode,
        high=high,
        period=row.text("as_of"),
        as_of=as_of or row.day("retrieved_at"),
        is_read_date=as_of is None,
        confidence=SourceConfidence(row.one_of("confidence", tuple(SourceConfidence))),
        source=row.text("source"),
        source_url=read_address(row),
        note=row.text("note", is_optional=True),
    )
