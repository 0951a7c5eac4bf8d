"""The text of a table of hardware inputs into low, most likely and high figures with sources."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files

from perfledger_cost_models.sheet import PriceMissingError
from perfledger_cost_models.table import Confidence, Row, iso_date, read_rows

PACKAGED_PARAMETERS = "packaged-onprem-2026-11-20"
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
    "note",
)
DISTRIBUTION = "PERT"  # the only one there is so far


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One input of the cost of owning: its most likely value, its range and where that was read.

    `period` is what the source says about its time ("2026-Q1", "2025 mean"). `as_of` is that where
    it is a day, else the day it was read, and `is_read_date` then says so.
    """

    name: str
    unit: str
    low: Decimal
    mode: Decimal
    high: Decimal
    period: str
    as_of: date
    is_read_date: bool
    confidence: Confidence
    source: str
    note: str = ""

    @property
    def is_assumed(self) -> bool:
        """Whether the figure rests on so little that every report must say so."""
        return self.confidence is Confidence.LOW

    @property
    def words(self) -> str:
        """Return the input in words, such as "wacc 0.085 per year"."""
        return f"{self.name.replace('_', ' ')} {self.mode} {self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSheet:
    """Inputs from a named source."""

    name: str
    parameters: tuple[Parameter, ...]

    def find(self, name: str) -> Parameter:
        """Return the input by this name; a missing one raises PriceMissingError: it is not zero."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise PriceMissingError(name, self.name, "add it there, with low, mode and high")


def read_parameters(text: str, name: str) -> ParameterSheet:
    """Read hardware inputs in CSV with the columns of COLUMNS.

    Raises PriceSheetError that names the row and the column: 0 <= low <= mode <= high, every input
    is sourced and has the day it was read, and stands there once.
    """
    parameters: dict[str, Parameter] = {}
    for row in read_rows(text, name, columns=COLUMNS):
        parameter = _read_parameter(row)
        if parameter.name in parameters:
            row.reject("parameter", "stands there twice")
        parameters[parameter.name] = parameter
    return ParameterSheet(name=name, parameters=tuple(parameters.values()))


@cache
def packaged_parameters() -> ParameterSheet:
    """Return the hardware inputs that ship with perfledger."""
    return read_parameters(packaged_text(), PACKAGED_PARAMETERS)


def packaged_text() -> str:
    """Return the CSV that the packaged inputs are read from."""
    return files("perfledger_cost_models").joinpath("onprem.csv").read_text(encoding="utf-8")


def _read_parameter(row: Row) -> Parameter:
    low, mode, high = (row.decimal(column) for column in ("low", "mode", "high"))
    if not low <= mode <= high:
        row.reject("mode", f"is not between {low} and {high}")
    if row.text("dist") != DISTRIBUTION:
        row.reject("dist", f"is not {DISTRIBUTION}")
    as_of = iso_date(row.text("as_of"))
    return Parameter(
        name=row.text("parameter"),
        unit=row.text("unit"),
        low=low,
        mode=mode,
        high=high,
        period=row.text("as_of"),
        as_of=as_of or row.day("retrieved_at"),
        is_read_date=as_of is None,
        confidence=Confidence(row.one_of("confidence", tuple(Confidence))),
        source=row.text("source"),
        note=row.text("note", is_optional=True),
    )
