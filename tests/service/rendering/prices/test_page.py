import re
from datetime import date
from itertools import pairwise

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_service.rendering.prices.page import PAGE, prices_page

LATER = date(2030, 1, 1)
ROW = '<td role="cell" class="wide">'


def test_prices_are_those_whose_option_device_or_source_holds_the_text():
    page = prices_page(packaged_sheet(), today=date(2026, 11, 20), text="P4D.24")

    assert "aws:p4d.24xlarge/on_demand" in page
    assert "tpu" not in page.partition("<tbody")[2].lower()


def test_old_prices_alone_are_marked_old():
    page = prices_page(packaged_sheet(), today=LATER, stale_only=True)

    assert page.count(ROW) == page.count(">old, ")
    assert page.count(ROW) > 10


def test_a_page_has_a_few_prices_below_their_sources():
    sheet = packaged_sheet()
    rows = len(sheet.prices) + len(sheet.unknown)
    last = -(-rows // PAGE)

    pages = [prices_page(sheet, today=LATER, number=number) for number in range(1, last + 1)]

    assert [page.count(ROW) for page in pages[:-1]] == [PAGE] * (last - 1)
    assert sum(page.count(ROW) for page in pages) == rows
    for page in pages:
        sources = re.findall('scope="rowgroup".*?quiet">(.*?)<', page)
        assert all(one != other for one, other in pairwise(sources))
