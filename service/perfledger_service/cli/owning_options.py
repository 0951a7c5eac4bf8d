"""The options that `cost compare` and `cost tco` share, declared once, into what they ask."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, cast, get_type_hints

import typer

from perfledger_cost_models.footprint import Grid
from perfledger_cost_models.investment import Horizon
from perfledger_cost_models.onprem import UTILIZATION, Ownership, Site
from perfledger_service.cli.books import Contract, OverridesFile, PricesFile, books_of
from perfledger_service.cli.checking import Output
from perfledger_service.errors import UsageError
from perfledger_service.usecases.offers import CostQuestion
from perfledger_service.usecases.price_books import Books
from perfledger_service.usecases.translating import translated

NAME = "owning"  # of the parameter that the options come together in

Location = Annotated[
    float | None, typer.Option("--location-kg", help="kg of CO2 a kWh of the grid (US mean)")
]
Market = Annotated[
    float | None, typer.Option("--market-kg", help="kg of CO2 a kWh of what was contracted")
]
Covered = Annotated[
    float, typer.Option("--covered", help="percent of energy from contracts without emissions")
]


class CostFormat(StrEnum):
    """How costs are written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"
    SVG = "svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owning:
    """What was said of an owned server, its grid, the prices that count and the answer's form."""

    use: Annotated[
        float | None,
        typer.Option(help="percent of the hours paid for in which work is done (the inputs': 40)"),
    ] = None
    years: Annotated[int, typer.Option(help="horizon of NPV, payback and IRR: 3 or 5")] = 5
    site: Annotated[Site, typer.Option(help="where an owned server stands")] = Site.COLOCATION
    support: Annotated[
        bool,
        typer.Option(help="an owned server has a support contract; else failed cards are bought"),
    ] = True
    availability: Annotated[
        float,
        typer.Option(help="percent of all hours that an owned server is up; use is of these"),
    ] = 100.0
    draw_kw: Annotated[
        float | None, typer.Option("--draw-kw", help="an owned server's measured mean draw")
    ] = None
    location_kg: Location = None
    market_kg: Market = None
    covered: Covered = 0.0
    prices: PricesFile = None
    overrides: OverridesFile = None
    contract: Contract = None
    form: Annotated[CostFormat, typer.Option("--format", help="how to write it")] = CostFormat.TABLE
    output: Output = None

    @property
    def books(self) -> Books:
        """Return the prices and inputs that count."""
        return books_of(self.prices, self.overrides, self.contract)

    @property
    def question(self) -> CostQuestion:
        """Return what is asked as of today; raises UsageError for what cannot be."""
        if self.years not in tuple(Horizon):
            known = " or ".join(str(int(each)) for each in Horizon)
            msg = f"{self.years} years: give {known}, for which there is a residual value"
            raise UsageError(msg)
        with translated():
            terms = Ownership(
                site=self.site,
                has_support=self.support,
                availability=self.availability / 100,
                drawn_kw=self.draw_kw,
            )
            use, assumed = self._use
        return CostQuestion(
            use=use,
            assumed=assumed,
            today=datetime.now(UTC).date(),
            years=Horizon(self.years),
            terms=terms,
            grid=grid_of(self.location_kg, self.market_kg, self.covered),
        )

    @property
    def _use(self) -> tuple[float, tuple[str, ...]]:
        """Return the share of hours that is useful, and in words what is assumed of it."""
        if self.use is not None:
            return self.use / 100, ()
        usual = self.books.parameters.find(UTILIZATION)
        return float(usual.mode), (usual.words,) if usual.is_assumed else ()


def grid_of(location_kg: float | None, market_kg: float | None, covered: float) -> Grid:
    """Return what a kilowatt-hour emits; `covered` is in percent."""
    return Grid(
        location_kg_per_kwh=location_kg,
        market_kg_per_kwh=market_kg,
        covered_share=covered / 100,
    )


def with_owning(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with an option for each field of Owning in place of its own `owning`.

    Typer makes options of a function's signature alone: this is what it is shown.
    """
    hints = get_type_hints(Owning, include_extras=True)
    shared = {
        each.name: Parameter(
            each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name]
        )
        for each in fields(Owning)
    }
    own = [each for name, each in signature(command).parameters.items() if name != NAME]

    @wraps(command)
    def called(**given: object) -> None:
        said = {name: given.pop(name) for name in shared}
        command(**given, **{NAME: _owning(said)})

    vars(called)["__signature__"] = Signature([*own, *shared.values()])
    return called


def _owning(said: dict[str, object]) -> Owning:
    make = cast("Callable[..., Owning]", Owning)  # typer has checked what was said
    return make(**said)
