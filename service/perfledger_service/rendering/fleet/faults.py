"""Presents the fault rates of a fleet, estimated from counted faults."""

from collections.abc import Iterator, Sequence

from perfledger.rounding import digits
from perfledger.time_units import DAYS_PER_YEAR
from perfledger_cost_models.tco.fault_rate import FaultEstimate, RateInterval
from perfledger_cost_models.units import THOUSAND
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Document,
    attributes,
    display,
    fact,
    name,
    notes,
    sentences,
    table,
    title,
)
from perfledger_service.rendering.layout.number_format import quantity

# Key, label, and (low, estimate, high).
_Row = tuple[str, str, tuple[float, float | None, float | None]]


def faults_document(estimate: FaultEstimate) -> Document:
    """Return the fault rates with their intervals."""
    return Document(
        name="perfledger-faults",
        facts={
            **attributes(estimate, "faults", "device_days", "devices", "confidence", "spares"),
            "answer": _answer(estimate),
        },
        blocks=(
            title(
                f"{quantity(estimate.faults, 'fault')} in {digits(estimate.device_days, 10)} "
                f"device-days, for {quantity(estimate.devices, 'device')}"
            ),
            *sentences([_answer(estimate)]),
            table(
                (
                    name("figure", None, lambda row: row[0]),
                    name("", "figure", lambda row: row[1]),
                    display("low", lambda row: _text(row[2][0])),
                    display("estimate", lambda row: _text(row[2][1])),
                    display("high", lambda row: _text(row[2][2])),
                    fact("low", lambda row: row[2][0]),
                    fact("estimate", lambda row: row[2][1]),
                    fact("high", lambda row: row[2][2]),
                ),
                _rows(estimate),
                key="rates",
            ),
            *notes(_notes(estimate)),
        ),
    )


def _rows(estimate: FaultEstimate) -> Sequence[_Row]:
    rate = estimate.per_device_day
    yearly, thousand = rate.times(DAYS_PER_YEAR * 100), rate.times(THOUSAND)
    fleet = estimate.per_year
    return (
        ("faults_per_1000_device_days", "faults per 1,000 device-days", _ends(thousand)),
        ("percent_of_devices_a_year", "faults a year, % of the devices", _ends(yearly)),
        ("hours_between_faults", "hours between faults of the fleet", estimate.hours_between),
        ("faults_a_year", "faults (replacements) of the fleet a year", _ends(fleet)),
    )


def _ends(rate: RateInterval) -> tuple[float, float, float]:
    return rate.low, rate.rate, rate.high


def _answer(estimate: FaultEstimate) -> str:
    yearly, (low, middle, high) = estimate.per_year, estimate.hours_between
    confidence = number_format.margin(estimate.confidence)
    if middle is None:
        return (
            f"No faults were observed: at most {_text(yearly.high)} a year, and at least "
            f"{_text(low)} hours between faults ({confidence})."
        )
    return (
        f"A fault every {_text(middle)} hours ({_text(low)} to {_text(high)}, {confidence}): "
        f"{_text(yearly.rate)} replacements a year ({_text(yearly.low)} to {_text(yearly.high)}) "
        "if each fault replaces a device."
    )


def _notes(estimate: FaultEstimate) -> Iterator[str]:
    yield (
        "Exact interval of a Poisson count (Garwood 1936): faults are independent, and equally "
        "likely at any time on every device. Faults that come in bursts vary more."
    )
    yield (
        f"One year's count varies more than its expected value: {estimate.spares:,} spares are "
        f"enough with {number_format.margin(estimate.confidence)} confidence."
    )


def _text(value: float | None) -> str:
    return "unknown" if value is None else digits(value)
