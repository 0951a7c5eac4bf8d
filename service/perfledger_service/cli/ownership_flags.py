"""Defines the options for owned servers, of `cost compare` and `cost tco`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from perfledger_cost_models.tco.server_site import ServerSite
from perfledger_service.cli.option_groups import how
from perfledger_service.cli.option_values import today
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # these would make every help slow
    from perfledger_cost_models.energy.carbon_footprint import GridCarbon
    from perfledger_cost_models.tco.horizon import Horizon
    from perfledger_service.usecases.cost.purchase_options import CostRequest
    from perfledger_service.usecases.inputs.price_books import PriceBooks


@dataclass(frozen=True, slots=True, kw_only=True)
class GridFlags:
    """The emissions of a kilowatt-hour."""

    location_kg_per_kwh: Annotated[
        float | None, how("CO2 of the grid", metavar="KG", default="the US mean")
    ] = None
    market_kg_per_kwh: Annotated[
        float | None, how("CO2 of the contracted electricity", metavar="KG")
    ] = None
    carbon_free_percent: Annotated[
        float, how("share of energy under carbon-free contracts", metavar="PERCENT")
    ] = 0.0

    @property
    def grid(self) -> "GridCarbon":
        """Return the emissions of a kilowatt-hour."""
        from perfledger_cost_models.energy.carbon_footprint import GridCarbon

        return GridCarbon(
            location_kg_per_kwh=self.location_kg_per_kwh,
            market_kg_per_kwh=self.market_kg_per_kwh,
            contract_share=self.carbon_free_percent / 100,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonFlags:
    """The years over which an investment is judged."""

    years: Annotated[int, how("years that owned devices are kept: 3 or 5", metavar="YEARS")] = 5

    @property
    def horizon(self) -> "Horizon":
        """Return the horizon; raises UsageError for years without a residual value."""
        from perfledger_cost_models.tco.horizon import Horizon

        if self.years not in tuple(Horizon):
            horizons = " or ".join(str(int(each)) for each in Horizon)
            msg = f"--years {self.years}: give {horizons}, which have a residual value"
            raise UsageError(msg)
        return Horizon(self.years)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipFlags:
    """The use, location and support of an owned server."""

    allocated_percent: Annotated[
        float | None,
        how(
            "share of paid hours that are allocated",
            metavar="PERCENT",
            default="40, from the packaged inputs",
        ),
    ] = None
    site: Annotated[ServerSite, how("location of an owned server")] = ServerSite.COLOCATION
    no_support: Annotated[
        bool,
        how("no support contract: failed cards are replaced at their price", flag="--no-support"),
    ] = False
    availability_percent: Annotated[
        float, how("share of hours that an owned server is up", metavar="PERCENT")
    ] = 100.0
    mean_kw: Annotated[
        float | None, how("measured mean power of an owned server", metavar="KW")
    ] = None

    def request(self, books: "PriceBooks") -> "CostRequest":
        """Return the request as of today; raises UsageError for impossible values."""
        from perfledger_cost_models.tco.onprem import Ownership
        from perfledger_service.usecases.cost.purchase_options import CostRequest, use_of
        from perfledger_service.usecases.inputs.error_translation import translate_errors

        with translate_errors():
            terms = Ownership(
                site=self.site,
                has_support=not self.no_support,
                availability=self.availability_percent / 100,
                drawn_kw=self.mean_kw,
            )
            use, assumed = use_of(books, self.allocated_percent)
        self._warn_of_share()
        return CostRequest(use=use, assumed=assumed, today=today(), terms=terms)

    def _warn_of_share(self) -> None:
        """Name a share below one percent as it is read: 0.6 is hardly ever meant as 0.6 %."""
        from rich.console import Console

        from perfledger.rounding import for_programs

        percent = self.allocated_percent
        if percent is not None and 0 < percent < 1:
            value, share = for_programs(percent), for_programs(100 * percent)
            warning = (
                f"--allocated-percent {value} is {value} %, not {share} %: give {share} if you "
                "mean that share"
            )
            Console(stderr=True, soft_wrap=True).print(warning, markup=False, highlight=False)
