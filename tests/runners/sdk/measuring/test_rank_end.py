"""Ranks that compare what they do at their end, over real Unix sockets."""

import math

import pytest

from perfledger.measuring.rank_end import largest_end_cost
from perfledger.measuring.rank_link import ExchangeKind
from perfledger.step_evidence import EndCost
from tests.runners.sdk.measuring.test_rank_link import run_ranks


def test_every_rank_has_the_largest_figures_of_all(tmp_path):
    ends = (EndCost(steps=9, cpu_s=0.5, asleep_s=2.0), EndCost(steps=9, cpu_s=1.5, tasks=4))

    costs = run_ranks(tmp_path, 2, lambda link: largest_end_cost(link, ends[link.rank]))

    assert costs == [EndCost(steps=9, cpu_s=1.5, tasks=4, asleep_s=2.0)] * 2


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_whose_time_is_unknown_makes_that_of_all_unknown(tmp_path, rank):
    def compare(link):
        cpu_s = math.nan if link.rank == rank else 1.0
        return largest_end_cost(link, EndCost(steps=9, cpu_s=cpu_s))

    costs = run_ranks(tmp_path, 2, compare)

    assert all(isinstance(cost, EndCost) and math.isnan(cost.cpu_s) for cost in costs)


def test_nothing_is_known_if_a_rank_has_ended_before(tmp_path):
    def compare(link):
        link.exchange(ExchangeKind.BARRIER)
        return None if link.rank else largest_end_cost(link, EndCost(steps=9, cpu_s=1.0))

    assert run_ranks(tmp_path, 2, compare) == [None, None]
