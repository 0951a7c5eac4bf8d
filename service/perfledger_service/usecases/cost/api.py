"""Compares an API's price per token with renting or owning devices."""

from dataclasses import dataclass, replace

from perfledger_cost_models.money import Usd
from perfledger_cost_models.tco.api_break_even import ApiPrice, break_even_throughput
from perfledger_service.errors import UsageError
from perfledger_service.usecases.cost.compare import compare_costs
from perfledger_service.usecases.cost.option_names import accelerators_named
from perfledger_service.usecases.cost.purchase_options import CostRequest
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import PriceBooks
from perfledger_service.values.cost_views import ApiBreakEven, ApiView

MAX_DEVICES = 100_000  # more is a typing error


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiComparison:
    """The API's price, and the devices that a copy of the model needs."""

    price: ApiPrice
    devices_per_replica: int = 1

    def __post_init__(self) -> None:
        """Raise UsageError for an impossible number of devices."""
        if not 1 <= self.devices_per_replica <= MAX_DEVICES:
            msg = f"{self.devices_per_replica} devices per replica: give 1 to {MAX_DEVICES:,}"
            raise UsageError(msg)


def api_price(*, input_usd: float, output_usd: float, output_percent: float) -> ApiPrice:
    """Return the price of an API's tokens; raise UsageError if it is invalid."""
    with translate_errors():
        return ApiPrice(
            input_usd=Usd(input_usd),
            output_usd=Usd(output_usd),
            output_share=output_percent / 100,
        )


def api_break_evens(books: PriceBooks, request: CostRequest, comparison: ApiComparison) -> ApiView:
    """Return the throughput at which each option costs as much as the API, the lowest first.

    Raises NotFoundError for an unknown name, and UsageError.
    """
    names = accelerators_named(books.sheet, books.servers, request.option_names)
    view = compare_costs(books, replace(request, accelerators=names))
    return ApiView(
        price=comparison.price,
        devices_per_replica=comparison.devices_per_replica,
        use=view.use,
        rows=tuple(
            ApiBreakEven(
                option=row,
                tokens_per_second=tuple(
                    break_even_throughput(comparison.price, usd_per_useful_hour=usd)
                    for usd in (row.cost.p5_usd, row.cost.p50_usd, row.cost.p95_usd)
                ),
            )
            for row in view.rows
        ),
        assumed=view.assumed,
        unknown=view.unknown,
        sheet=view.sheet,
    )
