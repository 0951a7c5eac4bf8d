from itertools import chain
from typing import Any

import pytest
from hypothesis import given, strategies as st

from perfledger.bundle import FleetUse
from perfledger_cost_models.change_price.fleet_weights import FleetSplitError, hours_of_workload

GRID = tuple(f"gpt:train[batch={size}]" for size in (8, 16, 32, 64))


def entry(**values: Any) -> FleetUse:
    usual: dict[str, Any] = {"workload": "gpt:*", "where": "p5", "device_hours_per_year": 300_000.0}
    return FleetUse(**(usual | values))


def test_an_entry_of_one_workload_is_its_own():
    assert hours_of_workload(entry(), "gpt:train", registered=("gpt:train", "vit:train")) == entry()


def test_several_matches_without_weights_are_refused_with_the_matches():
    with pytest.raises(FleetSplitError) as raised:
        hours_of_workload(entry(), GRID[0], registered=(*GRID, "vit:train"))

    assert "300,000 hours for 4 workloads together" in str(raised.value)
    assert all(name in str(raised.value) for name in GRID)
    assert "vit" not in str(raised.value)


def test_a_wildcard_beside_unknown_workloads_is_refused_without_weights():
    own = entry(workload=GRID[0])

    with pytest.raises(FleetSplitError, match=r"how many are gpt:train.* is unknown"):
        hours_of_workload(entry(), GRID[0], registered=None)
    assert hours_of_workload(own, GRID[0], registered=None) == own


def test_a_long_list_of_matches_is_cut():
    many = tuple(f"gpt:w{place}" for place in range(9))

    with pytest.raises(FleetSplitError, match="gpt:w5, 3 more"):
        hours_of_workload(entry(), many[0], registered=many)


def test_a_weight_divides_hours_and_their_range():
    use = entry(low=200_000.0, high=400_000.0, weights={GRID[0]: 3.0, GRID[1]: 1.0})

    own = hours_of_workload(use, GRID[0], registered=GRID)

    assert (own.low, own.device_hours_per_year, own.high) == (150_000, 225_000, 300_000)
    assert own.source.endswith("75 % of 300,000 hours, by weight")


def test_a_workload_without_a_weight_has_unknown_hours():
    with pytest.raises(FleetSplitError, match=r"do not name gpt:train\[batch=16\]"):
        hours_of_workload(entry(weights={GRID[0]: 1.0}), GRID[1], registered=GRID)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=4).filter(any))
def test_weighted_hours_sum_to_those_of_the_entry(weights):
    use = entry(weights=dict(zip(GRID, weights, strict=False)))

    hours = [
        hours_of_workload(use, name, registered=GRID).device_hours_per_year
        for name in chain(use.weights)
    ]

    assert sum(hours) == pytest.approx(300_000)


def test_hours_of_a_pattern_beside_an_own_entry_of_the_same_devices_are_unknown():
    pattern, own = entry(), entry(workload=GRID[0], device_hours_per_year=20_000.0)
    other_place = entry(where="p4d")
    uses = (pattern, own, other_place)

    with pytest.raises(FleetSplitError, match="whether they count twice is unknown"):
        hours_of_workload(pattern, GRID[0], registered=GRID[:1], uses=uses)
    for use in (own, other_place):
        assert hours_of_workload(use, GRID[0], registered=GRID[:1], uses=uses) == use


@pytest.mark.parametrize(
    ("where", "other", "is_refused"),
    [
        ("p5.48xlarge/on_demand", "aws:p5.48xlarge/on_demand", True),
        ("aws:p5.48xlarge/on_demand", "p5.48xlarge/on_demand@us-east-1", True),
        ("p5.48xlarge/on_demand@us-east-1", "p5.48xlarge/on_demand@eu-west-1", False),
        ("aws:p5.48xlarge/on_demand", "gcp:p5.48xlarge/on_demand", False),
        ("p5.48xlarge/on_demand", "p5.48xlarge/spot", False),
    ],
)
def test_two_spellings_of_one_option_are_the_same_devices(where, other, is_refused):
    pattern = entry(where=where, weights={GRID[0]: 1.0})
    uses = (pattern, entry(workload=GRID[0], where=other))

    if is_refused:
        with pytest.raises(FleetSplitError, match="whether they count twice is unknown"):
            hours_of_workload(pattern, GRID[0], registered=GRID, uses=uses)
    else:
        own = hours_of_workload(pattern, GRID[0], registered=GRID, uses=uses)
        assert own.device_hours_per_year == pattern.device_hours_per_year


def test_two_patterns_of_the_same_devices_are_refused_unless_a_weight_is_zero():
    every = entry(workload="*", weights={GRID[0]: 0.0, GRID[1]: 1.0})
    part = entry(weights={GRID[0]: 1.0, GRID[1]: 1.0})
    uses = (every, part)

    with pytest.raises(FleetSplitError, match=r"'gpt:\*' and in '\*'"):
        hours_of_workload(part, GRID[1], registered=GRID, uses=uses)
    hours = [
        hours_of_workload(use, GRID[0], registered=GRID, uses=uses).device_hours_per_year
        for use in uses
    ]
    assert hours == [0, 150_000]


def test_of_two_equal_entries_one_may_be_a_copy():
    own, larger = entry(workload=GRID[0]), entry(workload=GRID[0], device_hours_per_year=9.0)

    with pytest.raises(FleetSplitError, match=r"300,000 hours count twice is unknown\. Keep one"):
        hours_of_workload(
            own, GRID[0], registered=GRID, uses=(own, larger, entry(workload=GRID[0]))
        )
    assert hours_of_workload(own, GRID[0], registered=GRID, uses=(own, larger)) == own


def test_a_copy_may_spell_the_option_in_another_way():
    own = entry(workload=GRID[0], where="p5.48xlarge/on_demand")
    amazon = entry(workload=GRID[0], where="aws:p5.48xlarge/on_demand")
    google = entry(workload=GRID[0], where="gcp:p5.48xlarge/on_demand")

    with pytest.raises(
        FleetSplitError, match=r"on p5\S+ and aws:p5\S+ are equal: .* count twice is unknown"
    ):
        hours_of_workload(own, GRID[0], registered=GRID, uses=(own, amazon))
    assert hours_of_workload(amazon, GRID[0], registered=GRID, uses=(amazon, google)) == amazon
