from datetime import date

import pytest

from perfledger_cost_models.procurement.cost_model import InputBasis
from perfledger_cost_models.review.measured_changes import MeasuredSpeed, QuarterRecords


def test_every_assumed_input_is_a_risk(make_review):
    review = make_review()
    assumed = [each for each in review.model.inputs if each.basis is InputBasis.ASSUMED]

    words = " ".join(risk.name for risk in review.risks)
    assert assumed
    assert all(each.label in words for each in assumed)


def test_units_are_priced_where_they_were_measured(make_review):
    speed = MeasuredSpeed(
        repository="octo/models",
        workload="gpt:step",
        unit="tokens",
        device="NVIDIA H100 80GB HBM3",
        accelerator="H100-80GB",
        units_per_second=(90.0, 100.0, 110.0),
        day=date(2026, 8, 1),
        commit="abc",
        origin="upload 1",
    )
    records = QuarterRecords(origin="the store", checks=1, observations=2, speeds=(speed,))

    review = make_review(records=records)
    (evidence,) = review.performance.evidence
    low, middle, high = dict(evidence.usd)["today"]
    assert float(middle) == pytest.approx(6.88 / 100 / 3600 * 1e6)
    assert low < middle < high
