import re
from dataclasses import replace

from perfledger_service.rendering.fleet.capacity_page import MAX_ROWS, capacity_page
from perfledger_service.values.fleet_views import CapacityView


def test_an_empty_page_says_what_fills_it():
    page = capacity_page(CapacityView(imports=(), utilization=()))

    assert "perfledger server import usage FILE" in page
    assert "No check has measured" in page


def test_a_page_shows_use_and_imports_with_links_to_their_checks(busy, imported):
    page = capacity_page(CapacityView(imports=(imported,), utilization=(busy,)))

    assert f'<a href="/runs/{"1" * 32}">30.0\xa0%</a>' in page
    assert "looks busy but is not: GPU-util 95.0" in page
    assert "48 device-hours" in page
    assert '<a href="/octo/models">' in page
    assert "more are in" not in page


def test_a_row_has_its_shares_and_hours(busy):
    page = capacity_page(CapacityView(imports=(), utilization=(busy,)))

    texts = re.sub(r"<[^>]+>|&nbsp;|\s+", " ", page[page.index("<tbody") :])
    assert "gpt:step octo/models on NVIDIA H100 80GB HBM3 (cuda)" in " ".join(texts.split())
    assert "30.0 % (20.0 % to 40.0 %) 95.0 % 20,000 14,000" in " ".join(texts.split())


def test_what_was_not_profiled_or_declared_is_a_dash(busy):
    unknown = replace(busy, gpu_busy=None, device_hours_per_year=None)

    page = capacity_page(CapacityView(imports=(), utilization=(unknown,)))

    for column in ("GPU-util", "Hours a year", "Idle"):
        assert f'data-label="{column}" class="number blank">\N{EN DASH}</td>' in page


def test_names_of_others_are_text_of_the_page(busy, imported):
    evil = "<script>alert(1)</script>"
    page = capacity_page(
        CapacityView(
            imports=(replace(imported, name=evil, source=evil, summary=evil),),
            utilization=(replace(busy, workload=evil, repository=evil, machine_class=evil),),
        )
    )

    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_page_says_how_many_rows_it_leaves_out(busy, imported):
    view = CapacityView(imports=(imported,) * (MAX_ROWS + 2), utilization=(busy,) * (MAX_ROWS + 1))

    page = capacity_page(view)

    assert "1 more, with fewer idle hours, are in" in page
    assert "2 more are in" in page
    assert page.count("sacct.txt") == MAX_ROWS
