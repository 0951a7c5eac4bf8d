from datetime import date

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_service.rendering.prices.page import prices_page

LATER = date(2030, 1, 1)


def test_prices_are_those_whose_option_device_or_source_holds_the_text():
    page = prices_page(packaged_sheet(), today=date(2026, 11, 20), text="P4D.24")

    assert "aws:p4d.24xlarge/on_demand" in page
    assert "tpu" not in page.partition("<tbody")[2].lower()


def test_old_prices_alone_are_marked_old():
    page = prices_page(packaged_sheet(), today=LATER, stale_only=True)
    body = page.partition("<tbody")[2]

    assert body.count("<tr ") == body.count(">old, ")
    assert body.count("<tr ") > 10


def test_a_page_has_a_hundred_prices():
    sheet = packaged_sheet()

    first, second = (prices_page(sheet, today=LATER, number=number) for number in (1, 2))

    assert first.partition("<tbody")[2].count("<tr ") == 100
    rows = len(sheet.prices) + len(sheet.unknown)
    assert second.partition("<tbody")[2].count("<tr ") == rows - 100
