"""Turns what accelerator-hours take and emit into terminal text, JSON and CSV."""

import csv
import json
from collections.abc import Sequence
from io import StringIO

from rich.console import Group
from rich.text import Text

from perfledger_cost_models.energy import Carbon
from perfledger_service.pages.escape import cell

# 1: first version. Keys are only ever added.
ENERGY_FORMAT = "perfledger-energy"
VERSION = 1
KILO = 1000


def emissions_text(hours: float, found: Carbon, assumed: Sequence[str]) -> Group:
    """Return energy and carbon for a terminal; what is unknown says so."""
    lines = [
        f"{hours:,.10g} accelerator-hours",
        f"{_large(found.energy_kwh, 'kWh', 'MWh')} of energy, the facility's included",
        f"{_carbon(found.location_kg)} by location, {_carbon(found.market_kg)} by market",
    ]
    if assumed:
        lines.append(f"Assumed: {', '.join(assumed)}.")
    return Group(*map(Text, lines))


def emissions_json(hours: float, found: Carbon, assumed: Sequence[str]) -> str:
    """Return energy and carbon as JSON; null where a factor is not known."""
    document = {
        "format": ENERGY_FORMAT,
        "version": VERSION,
        "accelerator_hours": hours,
        "energy_kwh": found.energy_kwh,
        "location_kg": found.location_kg,
        "market_kg": found.market_kg,
        "assumed": list(assumed),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def emissions_csv(hours: float, found: Carbon, assumed: Sequence[str]) -> str:
    """Return energy and carbon as CSV; empty where a factor is not known."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("accelerator_hours", "energy_kwh", "location_kg", "market_kg", "assumed"))
    figures = (hours, found.energy_kwh, found.location_kg, found.market_kg)
    writer.writerow((*figures, cell("; ".join(assumed))))
    return text.getvalue()


def _carbon(kilograms: float | None) -> str:
    return "CO2 unknown" if kilograms is None else f"CO2 {_large(kilograms, 'kg', 't')}"


def _large(amount: float, unit: str, thousand: str) -> str:
    return f"{amount / KILO:,.5g} {thousand}" if amount >= KILO else f"{amount:,.4g} {unit}"
