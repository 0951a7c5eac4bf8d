"""Prices of the changes that stored checks found."""

import pytest

from perfledger.bundle import FleetUse, PricingConfig
from perfledger.records import Device, Machine
from perfledger_service.store.database import read_session
from perfledger_service.usecases.cost.upload_prices import UploadPrices

FLEET = FleetUse(workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0)
VALUES = {
    "machine": Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", count=8),
    "pricing": PricingConfig(fleet=(FLEET,)),
}


@pytest.fixture
def history(engine):
    prices = UploadPrices()

    def read():
        with read_session(engine) as session:
            return prices.history(session, "octo/models")

    return read


def test_only_workloads_that_changed_are_listed_at_the_price_of_their_verdicts_day(
    engine, judged_on_branch, make_bundle, history
):
    upload = judged_on_branch(engine, make_bundle(pull_request=None, **VALUES))

    [check] = history().checks

    assert (check.upload_id, check.is_on_branch) == (upload.id, True)
    assert [price.workload for price in check.prices] == ["gpt:step"]
    assert check.prices[0].low > 0
    assert check.judged_on == upload.judged_at.date()


def test_a_check_is_priced_once(engine, judged, make_bundle, history):
    judged(engine, make_bundle(**VALUES))

    first, second = history(), history()

    assert first.checks[0].prices is second.checks[0].prices
