import pytest

from perfledger.profile import Bucket
from perfledger_profiles.diff.diff import explain
from perfledger_profiles.diff.noise import ProfileNoise, learn_noise


def pair(make, *steps):
    return tuple(make.profile(make.operation("a", a), make.operation("b", b)) for a, b in steps)


def test_noise_is_the_median_deviation_from_zero_of_pairs_of_the_same_code(make):
    pairs = [
        pair(make, (10.0, 5.0), (10.5, 5.0)),
        pair(make, (10.0, 5.0), (9.0, 5.0)),
        pair(make, (10.0, 5.0), (10.2, 5.1)),
    ]

    noise = learn_noise(pairs)

    assert noise.pairs == 3
    assert noise.step_seconds == pytest.approx(0.5)
    assert noise.buckets[Bucket.COMPUTE] == pytest.approx(0.5)
    assert noise.groups["a", ""] == pytest.approx(0.5)
    assert noise.groups["b", ""] == pytest.approx(0.0)


def test_without_pairs_nothing_is_known_and_a_share_of_the_step_is_the_floor(make):
    noise = learn_noise([])

    assert noise == ProfileNoise()
    assert noise.floor_seconds(10.0) == pytest.approx(0.02)
    assert noise.group_floor_seconds([make.operation("a", 1.0)], 10.0) == pytest.approx(0.02)


def test_a_group_that_only_one_pair_has_is_as_quiet_as_the_others_say(make):
    loud = (make.profile(make.operation("a", 1.0)), make.profile(make.operation("b", 1.0)))
    quiet = pair(make, (1.0, 1.0), (1.0, 1.0))

    assert learn_noise([loud, quiet, quiet]).groups["a", ""] == 0.0


def test_operations_together_have_the_noise_of_all_their_groups_once(make):
    noise = ProfileNoise(groups={("a", ""): 0.1, ("b", ""): 0.2})
    operations = [make.operation("a", 1.0), make.operation("a", 2.0), make.operation("b", 1.0)]

    assert noise.group_floor_seconds(operations, 10.0) == pytest.approx(0.6)


def test_a_change_within_twice_the_noise_is_not_explained(make):
    base, head = make.profile(make.operation("a", 10.0)), make.profile(make.operation("a", 10.9))

    quiet = explain(base, head, noise=ProfileNoise(step_seconds=0.5))
    loud = explain(base, head, noise=ProfileNoise(step_seconds=0.4))

    assert quiet.causes == ()
    assert quiet.note == (
        "the profiled steps differ by no more than two profiles of the same code: "
        "nothing to attribute"
    )
    assert [cause.name for cause in loud.causes] == ["a"]


def test_a_group_within_twice_its_noise_is_no_cause(make):
    base = make.profile(make.operation("a", 10.0), make.operation("b", 10.0))
    head = make.profile(make.operation("a", 12.0), make.operation("b", 11.0))

    explanation = explain(base, head, noise=ProfileNoise(groups={("a", ""): 1.1}))

    assert [cause.name for cause in explanation.causes] == ["b"]
    assert not explanation.is_attributable
