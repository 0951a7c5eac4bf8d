from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from perfledger.records import Device, Machine
from perfledger_baselines.planning.epochs import epoch_key, epoch_starts

MACHINE = Machine(device=Device.CUDA, model="H100", driver="550.1", kernel="6.1", uuid="GPU-1")


@pytest.mark.parametrize(
    "same_fields", [{"driver": "560.2"}, {"kernel": "6.8"}, {"power_cap_w": 500.0}]
)
def test_what_whoever_keeps_the_machine_changes_begins_another_epoch(same_fields):
    assert epoch_key(replace(MACHINE, **same_fields)) != epoch_key(MACHINE)


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


@pytest.mark.parametrize(
    ("keys", "starts"),
    [
        ("a" * 50 + "b" * 8, (50,)),
        ("a" * 50 + "bb" + "a" + "b" * 20, (50,)),
        ("a" * 50 + "b" * 20 + "a", (50,)),
        ("a" * 50 + "b" * 20 + "a" + "b" * 20 + "a" + "b" * 9, (50,)),
        ("a" * 20 + "b" + "a" * 20 + "b" * 20, (41,)),
        ("a" * 20 + "b" * 20 + "a" + "c" * 9, (20, 41)),
    ],
)
def test_strays_of_another_state_join_no_epochs(keys, starts):
    assert epoch_starts(list(keys)) == starts


@pytest.mark.parametrize(
    "keys",
    [
        "a" * 50 + "b" * 20 + "aa",
        "a" * 50 + "b" * 20 + "a" + "b" * 6 + "a",
        "a" * 50 + "bb" + "a" + "b" * 4,
        "a" * 50 + "b" * 20 + "a" * 50,
        ("a" * 9 + "b") * 5,
        "bbbb" + "a" * 8 + "b",
        "b" + "a" * 8 + "b",
    ],
)
def test_a_state_that_may_have_come_back_begins_no_epoch(keys):
    assert epoch_starts(list(keys)) == ()


class CountedReads(list[str]):
    """A list that counts how many of its items are read."""

    items_read = 0

    def __iter__(self):
        for item in super().__iter__():
            self.items_read += 1
            yield item

    def __getitem__(self, place):
        item = super().__getitem__(place)
        self.items_read += len(item) if isinstance(place, slice) else 1
        return item


def test_a_long_series_of_machines_that_take_turns_is_read_a_few_times():
    keys = CountedReads(("a" * 10 + "b" * 10) * 200)

    assert epoch_starts(keys) == ()
    assert keys.items_read < 10 * len(keys)


@given(st.lists(st.sampled_from("abcd"), max_size=12))
def test_epochs_share_no_key_and_cannot_be_divided(keys):
    bounds = [0, *epoch_starts(keys), len(keys)]
    parts = [set(keys[first:stop]) for first, stop in pairwise(bounds)]

    assert sum(map(len, parts)) == len(set(keys))
    for at in set(range(1, len(keys))) - set(bounds):
        assert set(keys[:at]) & set(keys[at:])
