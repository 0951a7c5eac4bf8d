"""Independent arithmetic: the year of a server is written out from its parts here."""

import numpy as np
import pytest

from perfledger_cost_models.tco.buy_vs_rent import idle_and_busy_usd, owned_usd
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.onprem import DEFAULT_OWNERSHIP, SERVERS
from perfledger_cost_models.tco.switching_values import equal_size_share, switching_inputs

H100 = SERVERS[0]
SHEET = packaged_hardware_inputs()
DEVICE_HOURS = 8 * 8760


def cost_of_year(share):
    """Return the median cost of a year of the server at a share."""
    idle, busy = idle_and_busy_usd(H100, SHEET, DEFAULT_OWNERSHIP)
    return float(np.median(idle + (busy - idle) * share))


def test_at_the_equal_size_share_both_cost_the_same_a_year():
    rate = cost_of_year(0.5) / DEVICE_HOURS  # a commitment as dear as owning at 50 %

    share = equal_size_share(H100, SHEET, usd_per_hour=rate)

    assert share is not None
    # The median over draws of the share is near the share of the median.
    assert DEVICE_HOURS * rate == pytest.approx(cost_of_year(share), rel=0.01)


def test_owning_is_cheaper_at_any_share_than_a_dear_commitment_and_never_than_a_cheap_one():
    assert equal_size_share(H100, SHEET, usd_per_hour=1.01 * cost_of_year(1) / DEVICE_HOURS) == 1
    assert equal_size_share(H100, SHEET, usd_per_hour=0.5 * cost_of_year(0) / DEVICE_HOURS) is None


def test_at_a_switching_input_owning_costs_as_much_as_the_rival():
    likely = float(owned_usd(H100, SHEET, 0.6, {}, DEFAULT_OWNERSHIP)[0])

    found = switching_inputs(H100, SHEET, use=0.6, usd_per_hour=1.03 * likely)

    assert {each.parameter for each in found} >= {"wacc", "server_price_8xH100_SXM"}
    for each in found:
        parameter = SHEET.find(each.parameter)
        assert parameter.low <= each.value <= parameter.high
        figures = {each.parameter: np.array([each.value])}
        usd = float(owned_usd(H100, SHEET, 0.6, figures, DEFAULT_OWNERSHIP)[0])
        assert usd == pytest.approx(1.03 * likely, rel=1e-9)


def test_a_rival_beyond_every_range_has_no_switching_input():
    assert switching_inputs(H100, SHEET, use=0.6, usd_per_hour=1000.0) == ()
