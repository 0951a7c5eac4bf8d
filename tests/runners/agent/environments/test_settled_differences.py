import os

import pytest

from perfledger_runners.environments.settled_differences import SettledDifferences, pair_key


@pytest.fixture
def settled(tmp_path):
    return SettledDifferences(folder=tmp_path / "settled", max_age_s=100.0)


def test_a_pair_is_settled_from_then_on(settled):
    assert not settled.is_settled("a")

    settled.settle("a")

    assert settled.is_settled("a")
    assert not settled.is_settled("b")


def test_a_pair_that_is_not_used_is_forgotten_when_another_one_is_settled(settled):
    settled.settle("old")
    settled.settle("used")
    for name in ("old", "used"):
        os.utime(settled.folder / name, (0.0, 0.0))
    settled.is_settled("used")

    settled.settle("new")

    assert [settled.is_settled(name) for name in ("old", "used", "new")] == [False, True, True]


def test_a_folder_that_cannot_be_written_settles_nothing(tmp_path):
    (tmp_path / "file").touch()
    settled = SettledDifferences(folder=tmp_path / "file" / "settled")

    settled.settle("a")

    assert not settled.is_settled("a")


def test_a_pair_is_what_both_sides_declare_and_have_in_order():
    base, head = (["numpy"], {"numpy": "1"}), (["numpy>=2"], {"numpy": "2"})

    keys = {
        pair_key(base, head),
        pair_key(head, base),
        pair_key(base, base),
        pair_key((["numpy>=2"], {"numpy": "1"}), head),
    }

    assert len(keys) == 4
    assert pair_key(base, head) == pair_key(base, head)
