"""Schedules the payments of a commitment at a price from the sheet."""

from datetime import date

from perfledger_cost_models.tco.payment_schedule import payment_schedule
from perfledger_cost_models.tco.purchase_modes import terms_of
from perfledger_service.errors import UsageError
from perfledger_service.usecases.cost.purchase_options import price_warnings
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import PriceBooks
from perfledger_service.values.cost_views import PaymentView


def scheduled_payments(
    books: PriceBooks, option: str, *, devices: int, start: date, today: date
) -> PaymentView:
    """Return the payments of a commitment to whole instances, starting on a given day.

    Raises NotFoundError for an option without a price, UsageError for one that is not a commitment.
    """
    with translate_errors():
        price = books.sheet.find(option)
    if devices % price.count:
        msg = f"{devices} devices, but one {price.sku} has {price.count}: give a multiple"
        raise UsageError(msg)
    with translate_errors():
        schedule = payment_schedule(terms_of(price), devices=devices, start=start)
    return PaymentView(schedule=schedule, price=price, warnings=price_warnings(books, price, today))
