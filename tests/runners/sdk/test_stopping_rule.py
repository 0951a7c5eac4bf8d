"""Rules of other packages fit the port."""

import inspect

import pytest

from perfledger.stopping_rule import StoppingRule
from perfledger_baselines.planning.stopping import GroupSequentialStopping


@pytest.mark.parametrize("name", ["start", "add", "unfinished", "next_pair", "pair_lengths"])
def test_the_group_sequential_rule_has_the_ports_parameters(name):
    port = inspect.signature(getattr(StoppingRule, name)).parameters
    rule = inspect.signature(getattr(GroupSequentialStopping, name)).parameters

    assert list(rule) == list(port)
