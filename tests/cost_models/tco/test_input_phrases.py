import pytest

from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.input_phrases import input_phrase

NAMES = tuple(one.name for one in packaged_hardware_inputs().parameters)


@pytest.mark.parametrize("name", NAMES)
def test_each_packaged_input_has_a_phrase(name):
    assert input_phrase(name) != name
    assert "_" not in input_phrase(name)


def test_no_two_inputs_have_one_phrase():
    assert len(set(map(input_phrase, NAMES))) == len(NAMES)
