from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from perfledger.records import Device, Machine
from perfledger_baselines.planning.epochs import epoch_key, epoch_starts

MACHINE = Machine(device=Device.CUDA, model="H100", driver="550.1", kernel="6.1", uuid="GPU-1")


@pytest.mark.parametrize("kept", [{"driver": "560.2"}, {"kernel": "6.8"}, {"power_cap_w": 500.0}])
def test_what_whoever_keeps_the_machine_changes_begins_another_epoch(kept):
    assert epoch_key(replace(MACHINE, **kept)) != epoch_key(MACHINE)


@pytest.mark.parametrize(
    "other",
    [
        {"python": "3.13"},
        {"frameworks": {"torch": "3.0"}},
        {"runtime": "12.9"},
        {"uuid": "GPU-2"},
        {"clock_mhz": 1980.0},
    ],
)
def test_what_a_commit_pins_or_chance_gives_does_not(other):
    assert epoch_key(replace(MACHINE, **other)) == epoch_key(MACHINE)


@pytest.mark.parametrize(
    ("keys", "starts"),
    [
        ("", ()),
        ("aaa", ()),
        ("aaab", (3,)),
        ("aabbbcc", (2, 5)),
        ("ababab", ()),
        ("aabab", ()),
        ("aababc", (5,)),
        ("aabbaa", ()),
    ],
)
def test_an_epoch_begins_where_nothing_of_before_comes_back(keys, starts):
    assert epoch_starts(list(keys)) == starts


@given(st.lists(st.sampled_from("abcd"), max_size=12))
def test_epochs_share_no_key_and_cannot_be_divided(keys):
    bounds = [0, *epoch_starts(keys), len(keys)]
    parts = [set(keys[first:stop]) for first, stop in pairwise(bounds)]

    assert sum(map(len, parts)) == len(set(keys))
    for at in set(range(1, len(keys))) - set(bounds):
        assert set(keys[:at]) & set(keys[at:])
