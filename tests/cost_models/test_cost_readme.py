import ast
import doctest
import re
from pathlib import Path

import pytest

import perfledger_cost_models
from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.hourly_rates import STANDARD_OPTIONS
from perfledger_cost_models.tco.onprem import SERVERS, hourly_cost

PACKAGE = Path(perfledger_cost_models.__file__).parent
README = PACKAGE.parent / "README.md"
FOLDERS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
MAX_LINES, MAX_LINE_CHARACTERS = 250, 120


def text_of(readme):
    return readme.read_text(encoding="utf-8")


def modules_of(folder):
    return {path.name for path in folder.glob("*.py")} - {"__init__.py"}


def errors_of(folder):
    """Return the names of the errors that a folder's modules define."""
    bodies = [ast.parse(path.read_text(encoding="utf-8")).body for path in folder.glob("*.py")]
    classes = [each for body in bodies for each in body if isinstance(each, ast.ClassDef)]
    return {each.name for each in classes if each.name.endswith("Error")}


def test_the_worked_example_prints_what_it_shows():
    results = doctest.testfile(str(README), module_relative=False, encoding="utf-8")

    assert results.attempted > 15
    assert results.failed == 0


def test_the_readme_links_every_shared_module_and_sub_package_and_names_the_errors():
    words = {
        f"[{folder.name}](perfledger_cost_models/{folder.name}/README.md)" for folder in FOLDERS
    }
    words |= {f"[`{name}`](perfledger_cost_models/{name})" for name in modules_of(PACKAGE)}
    words |= {f"`{name}`" for name in errors_of(PACKAGE)}

    assert {word for word in words if word not in text_of(README)} == set()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_sub_packages_readme_links_its_modules_and_names_its_errors(folder):
    words = {f"[`{name}`]({name})" for name in modules_of(folder)}
    words |= {f"`{name}`" for name in errors_of(folder)}

    assert {word for word in words if word not in text_of(folder / "README.md")} == set()


def test_the_readme_of_prices_names_every_pricing_model_and_standard_option():
    text = text_of(PACKAGE / "prices" / "README.md")
    words = {*PricingModel, *STANDARD_OPTIONS}

    assert {word for word in words if word not in text} == set()


@pytest.mark.parametrize(
    "readme",
    [README, *(folder / "README.md" for folder in FOLDERS)],
    ids=lambda readme: readme.parent.name,
)
def test_a_readme_is_short(readme):
    lines = text_of(readme).splitlines()

    assert len(lines) <= MAX_LINES
    assert [line for line in lines if len(line) > MAX_LINE_CHARACTERS] == []


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("percent", [40, 70])
def test_the_table_of_owned_hours_is_what_is_computed(server, percent):
    cost = hourly_cost(server, packaged_hardware_inputs(), utilization=percent / 100)
    name = server.option.removeprefix("onprem-")
    row = rf"^\| {name} at {percent} % use \|(.*)\|$"
    (cells,) = re.findall(row, text_of(PACKAGE / "tco" / "README.md"), re.MULTILINE)

    figures = [float(cell) for cell in cells.split("|")]
    assert figures == pytest.approx(
        [cost.mode_usd, cost.p5_usd, cost.p50_usd, cost.p95_usd], abs=0.006
    )
