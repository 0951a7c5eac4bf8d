"""Overrides with published inputs and prices."""

import pytest

from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs


@pytest.fixture
def overrides(tmp_path):
    """Write overrides in which inputs are certain and an option or two have a price."""

    units = {"sr675_power": "kW"} | {
        each.name: each.unit for each in packaged_hardware_inputs().parameters
    }

    def write(parameters, *tables):
        text = "".join(
            f'[[parameter]]\nname = "{name}"\nlow = {value}\nmode = {value}\nhigh = {value}\n'
            f'unit = "{units.get(name, "USD")}"\nas_of = 2025-05-23\nsource = "as published"\n'
            for name, value in parameters.items()
        )
        path = tmp_path / "overrides.toml"
        path.write_text(text + "".join(tables), encoding="utf-8")
        return path

    return write


@pytest.fixture
def price_table():
    """Write the TOML table of a price."""
    return price


def price(sku, per_hour, *, model="on_demand", term="", accelerator="H100-80GB", count=8):
    return (
        f'[[price]]\nprovider = "aws"\nsku = "{sku}"\nregion = "us-east-1"\n'
        f'accelerator = "{accelerator}"\ncount = {count}\nmodel = "{model}"\nterm = "{term}"\n'
        f'per_hour = {per_hour}\nas_of = 2025-05-23\nsource = "as published"\n'
    )
