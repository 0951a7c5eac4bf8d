import doctest
import re
from pathlib import Path

import pytest

from perfledger_cost_models.onprem import SERVERS, hourly_cost
from perfledger_cost_models.parameter import packaged_parameters
from perfledger_cost_models.rates import STANDARD_OPTIONS
from perfledger_cost_models.sheet import PricingModel

README = Path(__file__).parents[2] / "cost_models" / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_the_worked_example_says_what_it_prints():
    results = doctest.testfile(str(README), module_relative=False, encoding="utf-8")

    assert results.attempted > 15
    assert results.failed == 0


def test_the_readme_names_every_error_pricing_model_module_and_standard_option():
    modules = {path.name for path in (README.parent / "perfledger_cost_models").glob("[a-z]*.py")}
    words = {"PriceMissingError", "PriceSheetError", *PricingModel, *STANDARD_OPTIONS, *modules}

    assert {word for word in words if f"`{word}`" not in TEXT and word not in TEXT} == set()


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("percent", [40, 70])
def test_the_table_of_owned_hours_is_what_is_computed(server, percent):
    cost = hourly_cost(server, packaged_parameters(), utilization=percent / 100)
    name = server.option.removeprefix("onprem-")
    (cells,) = re.findall(rf"^\| {name} at {percent} % use \|(.*)\|$", TEXT, re.MULTILINE)

    written = [float(cell) for cell in cells.split("|")]
    assert written == pytest.approx(
        [cost.mode_usd, cost.p5_usd, cost.p50_usd, cost.p95_usd], abs=0.006
    )
