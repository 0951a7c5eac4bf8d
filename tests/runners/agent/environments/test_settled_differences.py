import os

import pytest

from perfledger_runners.environments.settled_differences import SettledDifferences, pair_key


@pytest.fixture
def differences(tmp_path):
    return SettledDifferences(folder=tmp_path / "settled", max_age_s=100.0)


def test_a_pair_is_settled_from_then_on(differences):
    assert not differences.is_settled("a")

    differences.settle("a")

    assert differences.is_settled("a")
    assert not differences.is_settled("b")


def test_a_pair_that_is_not_used_is_forgotten_when_another_one_is_settled(differences):
    differences.settle("old")
    differences.settle("used")
    for name in ("old", "used"):
        os.utime(differences.folder / name, (0.0, 0.0))
    differences.is_settled("used")

    differences.settle("new")

    assert [differences.is_settled(name) for name in ("old", "used", "new")] == [False, True, True]


def test_a_folder_that_cannot_be_written_settles_nothing(tmp_path):
    (tmp_path / "file").touch()
    settled_differences = SettledDifferences(folder=tmp_path / "file" / "settled")

    settled_differences.settle("a")

    assert not settled_differences.is_settled("a")


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
