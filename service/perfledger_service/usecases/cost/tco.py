"""Computes the yearly cost of owning a server."""

from perfledger_cost_models.energy.carbon_footprint import owned_footprint
from perfledger_cost_models.tco.buy_vs_rent import compare, tornado, yearly_parts
from perfledger_cost_models.tco.onprem import kept_years
from perfledger_service.errors import NotFoundError
from perfledger_service.usecases.cost.purchase_options import (
    CostRequest,
    accelerator_options,
    investment_of,
    owned_option_of,
    price_warnings,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import PriceBooks
from perfledger_service.values.cost_views import OwningView, RentalOption


def cost_of_owning(books: PriceBooks, option: str, request: CostRequest) -> OwningView:
    """Return the yearly cost of owning a server, and the sensitivity of its useful hour.

    Raises NotFoundError for an unknown server, UsageError for an invalid use.
    """
    server = next((one for one in books.servers if one.option == option), None)
    if server is None:
        options = ", ".join(one.option for one in books.servers)
        msg = f"no server {option!r}: choose from {options}"
        raise NotFoundError(msg)
    sheet, use, terms = books.parameters, request.use, request.terms
    with translate_errors():
        (hour,) = compare([owned_option_of(books, server, request)])
        rents = [
            RentalOption(
                name=offer.name,
                price=offer.price,
                investment=worth,
                warnings=price_warnings(books, offer.price, request.today),
            )
            for offer in accelerator_options(books, server.accelerator, request).options
            if offer.price is not None
            and (worth := investment_of(books, request, server, offer)) is not None
        ]
        return OwningView(
            label=server.label,
            accelerators=server.accelerators,
            use=use,
            parts=yearly_parts(server, sheet, use=use, terms=terms),
            hour=hour,
            bars=tornado(server, sheet, use=use, terms=terms),
            terms=terms,
            kept_years=kept_years(sheet, terms=terms),
            footprint=owned_footprint(server, sheet, use=use, grid=request.grid, terms=terms),
            rents=tuple(sorted(rents, key=lambda rent: rent.investment.npv_p50_usd, reverse=True)),
            sheet=books.sheet.name,
        )
