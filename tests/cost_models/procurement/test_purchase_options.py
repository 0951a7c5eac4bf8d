import pytest

from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.procurement.plan import ProcurementPlanError
from tests.cost_models.procurement.example_models import a_model


def test_what_has_no_price_is_listed_and_not_priced(plan_text):
    options = """
[[option]]
name = "a"
where = "p4d.24xlarge/savings_plan/3y"
[[option]]
name = "b"
where = "tpu-v4/on_demand"
[[option]]
name = "c"
where = "gcp:a3-highgpu-1g/spot"
"""
    model = a_model(plan_text + options)

    assert [one.name for one in model.unpriced] == ["a", "b", "c"]
    assert [option.name for option in model.options] == ["today", "three years"]
    assert "no price" in model.unpriced[0].reason
    assert "[[speed]]" in model.unpriced[1].reason
    assert "[spot]" in model.unpriced[2].reason


def test_what_is_kept_must_be_sold_by_use_and_have_a_price(plan_text):
    committed = plan_text.replace(
        'keep = "p5.48xlarge/on_demand"', 'keep = "p5.48xlarge/savings_plan/3y_no_upfront"'
    )
    unknown = plan_text.replace("p5.48xlarge/on_demand", "p9.48xlarge/on_demand")

    with pytest.raises(ProcurementPlanError, match="on demand"):
        a_model(committed)
    with pytest.raises(PriceMissingError, match="p9"):
        a_model(unknown)


def test_devices_are_whole_instances(plan_text):
    planned = plan_text + "devices = 12\n"

    assert "one p5.48xlarge" in a_model(planned).unpriced[0].reason
    assert a_model(plan_text + "devices = 16\n").options[1].devices == 16
