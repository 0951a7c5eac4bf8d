import pytest

from tests.cost_models.procurement.example_models import a_model


@pytest.fixture
def model(plan_text, all_options):
    return a_model(plan_text + all_options)


def test_inputs_that_ways_share_are_one(model):
    names = [each.name for each in model.inputs]

    assert len(set(names)) == len(names)
