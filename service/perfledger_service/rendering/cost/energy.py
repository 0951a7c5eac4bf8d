"""Presents the energy and the emissions of accelerator-hours."""

from collections.abc import Sequence

from perfledger import rounding
from perfledger_cost_models.energy.energy import CarbonEmissions
from perfledger_service.rendering.layout.document import (
    Document,
    attributes,
    notes,
    sentences,
    title,
)

KILO = 1000


def energy_document(hours: float, emissions: CarbonEmissions, assumed: Sequence[str]) -> Document:
    """Return energy and carbon; unknown values are stated as such."""
    energy = _large(emissions.energy_kwh, "kWh", "MWh")
    return Document(
        name="perfledger-energy",
        facts={
            "accelerator_hours": hours,
            **attributes(emissions, "energy_kwh", "location_kg", "market_kg"),
            "assumed": assumed,
        },
        blocks=(
            title(f"{rounding.digits(hours, 10)} accelerator-hours"),
            *sentences(
                (
                    f"Energy, including the facility: {energy}",
                    f"CO2, location-based: {_carbon(emissions.location_kg)}",
                    f"CO2, market-based: {_carbon(emissions.market_kg)}",
                )
            ),
            *notes([f"Assumed: {'; '.join(assumed)}."] if assumed else []),
        ),
    )


def _carbon(kilograms: float | None) -> str:
    return "unknown" if kilograms is None else _large(kilograms, "kg", "t")


def _large(amount: float, unit: str, thousand: str) -> str:
    if amount >= KILO:
        return f"{rounding.digits(amount / KILO, 5)} {thousand}"
    return f"{rounding.digits(amount)} {unit}"
