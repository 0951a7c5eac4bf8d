"""What the windows of both sides say of a difference, against figures computed by hand."""

import random
from dataclasses import replace
from statistics import NormalDist

import pytest
from scipy.special import stdtrit

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.diff.diff import explain
from perfledger_profiles.diff.noise import T_95, ProfileNoise, typical_profile
from perfledger_profiles.diff.operations import MAX_COMPARED


def windows(make, side, *seconds):
    """Return profiles of one side with operations "a", "b", ... of so many seconds."""
    names = "abcdef"
    return tuple(
        replace(
            make.profile(*(make.operation(n, s) for n, s in zip(names, each, strict=False))),
            side=side,
        )
        for each in seconds
    )


def test_typical_seconds_leave_out_the_slowest_quarter_of_the_windows(make):
    side = windows(make, Side.BASE, *[(s, 5.0) for s in (1.0, 90.0, 2.0, 3.0, 4.0, 0.0, 5.0, 80.0)])

    typical = typical_profile(side)

    seconds = {one.name: one.seconds for one in typical.operations}
    assert seconds == pytest.approx({"a": (0 + 1 + 2 + 3 + 4 + 5) / 6, "b": 5.0})
    assert typical.step_seconds == pytest.approx(2.5 + 5.0)


def test_one_window_is_typical_as_it_is(make):
    (alone,) = windows(make, Side.BASE, (1.0, 2.0))

    assert typical_profile([alone]) is alone


def test_an_operation_that_most_windows_lack_takes_no_time(make):
    side = windows(make, Side.BASE, (1.0,), (1.0,), (1.0,), (1.0, 9.0))

    assert [one.name for one in typical_profile(side).operations if one.seconds] == ["a"]


def test_no_time_is_lost_of_more_operations_than_are_compared(make):
    side = tuple(
        make.profile(*(make.operation(f"op{n}", (n + 1) * scale) for n in range(MAX_COMPARED + 90)))
        for scale in (0.9, 1.0, 1.1, 1.2)
    )

    typical = typical_profile(side)

    assert typical.step_seconds == pytest.approx(side[1].step_seconds)


def test_the_error_of_a_difference_is_how_far_it_moves_without_a_window(make):
    base = windows(make, Side.BASE, *[(s,) for s in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 60.0)])
    head = windows(make, Side.HEAD, *[(3.0,)] * 8)

    noise = ProfileNoise(base, head)

    # Without 1 to 7 the slowest is 60, and six of 1 to 7 remain; without 60 it is 7.
    without = [(28 - left_out) / 6 for left_out in range(1, 8)] + [21 / 6]
    mean = sum(without) / 8
    variance = 7 / 8 * sum((one - mean) ** 2 for one in without)
    t_of_ten_degrees = 2.228  # five of each side: six windows that count, and their mean
    expected = t_of_ten_degrees * variance**0.5
    operations = base[0].operations, head[0].operations
    assert noise.error_seconds(*operations) == pytest.approx(expected)
    assert noise.step_error_seconds == pytest.approx(expected)
    assert noise.bucket_error_seconds(Bucket.COMPUTE) == pytest.approx(expected)
    assert noise.bucket_error_seconds(Bucket.COPY) == 0.0


@pytest.mark.slow(ci_only=True)
def test_the_difference_of_the_same_code_is_within_its_error_in_95_of_100(make):
    source = random.Random(3)
    within = 0
    for _ in range(2000):
        sides = [
            windows(make, side, *[(source.gauss(10.0, 1.0),) for _ in range(8)]) for side in Side
        ]
        first, second = map(typical_profile, sides)
        error = ProfileNoise(*sides).step_error_seconds
        within += abs(second.step_seconds - first.step_seconds) <= error

    spread = NormalDist().inv_cdf(0.999) * (0.05 * 0.95 / 2000) ** 0.5
    assert within / 2000 == pytest.approx(0.95, abs=spread + 0.005)


def test_operations_are_taken_together_as_their_noises_may_cancel(make):
    base = windows(make, Side.BASE, *[(1.0 + d, 2.0 - d) for d in (0.1, 0.2, 0.3, 0.4)])
    head = windows(make, Side.HEAD, *[(1.0, 2.0)] * 4)
    noise = ProfileNoise(base, head)

    assert noise.error_seconds(base[0].operations[:1], head[0].operations[:1]) > 0.1
    assert noise.step_error_seconds == pytest.approx(0.0, abs=1e-9)


def test_a_side_with_one_window_has_the_relative_spread_of_the_other(make):
    base = windows(make, Side.BASE, (9.0,), (11.0,))
    (head,) = windows(make, Side.HEAD, (20.0,))

    # Standard errors 1 and 2 with one degree of freedom each.
    expected = 4.303 * 5**0.5
    assert ProfileNoise(base, (head,)).step_error_seconds == pytest.approx(expected)
    swapped = ProfileNoise((head,), base)
    assert swapped.step_error_seconds == pytest.approx(expected)


def test_without_a_second_window_nothing_is_known_and_a_share_of_the_step_is_the_floor(make):
    (base,), (head,) = (windows(make, side, (10.0,)) for side in Side)
    noise = ProfileNoise((base,), (head,))

    assert not noise.is_known
    assert noise.error_seconds(base.operations, head.operations) == 0.0
    assert noise.floor_seconds(10.0) == pytest.approx(0.02)
    assert explain(base, head).noise_seconds is None


def test_a_change_within_its_error_is_not_explained(make):
    base = windows(make, Side.BASE, (10.0,), (10.4,), (9.8,), (10.2,))
    head = windows(make, Side.HEAD, (10.3,), (10.8,), (10.1,), (10.4,))

    explanation = explain(base[0], head[0], repeats=(*base[1:], *head[1:]))

    assert explanation.causes == ()
    assert explanation.note.startswith(
        "too noisy to attribute: the profiled steps differ by no more than two profiles of the "
        "same code (± "
    )


def test_a_cause_exceeds_its_error_and_has_it(make):
    noises = (0.0, 1.5, -1.5, 0.3, -0.3, 0.8, -0.8, 0.1)
    base = windows(make, Side.BASE, *[(10.0 + d, 10.0) for d in noises])
    head = windows(make, Side.HEAD, *[(10.5 + d, 12.0 + d / 100) for d in noises])

    explanation = explain(base[0], head[0], repeats=(*base[1:], *head[1:]))

    (cause,) = explanation.causes
    assert cause.name == "b"
    assert cause.delta_seconds == pytest.approx(2.0, abs=0.01)
    assert cause.error_seconds is not None
    assert 0 < cause.error_seconds < 0.05


def test_the_table_of_students_t_is_that_of_the_distribution():
    exact = [float(stdtrit(degrees, 0.975)) for degrees in range(1, 21)]

    assert pytest.approx(exact, rel=5e-4) == T_95


def recording(make, side, **steps):
    """Return one recording of a side: the seconds of each operation in each step."""
    operations = [make.operation(name, sum(each) / len(each)) for name, each in steps.items()]
    return replace(
        make.profile(*operations),
        side=side,
        call_times=tuple(
            tuple((seconds,) for seconds in step) for step in zip(*steps.values(), strict=True)
        ),
    )


def test_the_steps_of_one_recording_on_each_side_show_their_own_spread(make):
    base = recording(make, Side.BASE, a=[1.0, 2.0, 3.0], b=[5.0, 5.0, 5.0])
    head = recording(make, Side.HEAD, a=[2.0, 2.0, 2.0], b=[5.0, 5.0, 5.0])
    noise = ProfileNoise((base,), (head,))

    # The standard error of a mean of three; t of two and two degrees of freedom.
    expected = 2.776 * (1.0 / 3) ** 0.5
    assert noise.error_seconds(base.operations, head.operations) == pytest.approx(expected)
    assert noise.step_error_seconds == pytest.approx(expected)
    assert not noise.is_known


def test_a_new_operation_of_single_steps_is_no_cause(make):
    base = recording(make, Side.BASE, a=[10.0] * 5)
    noisy = recording(make, Side.HEAD, a=[10.0] * 5, new=[0.0, 0.0, 4.0, 0.0, 0.0])
    steady = recording(make, Side.HEAD, a=[10.0] * 5, new=[0.8, 0.9, 0.8, 0.8, 0.7])

    assert explain(base, noisy).causes == ()
    assert [cause.name for cause in explain(base, steady).causes] == ["new"]


def test_what_the_same_work_differs_by_in_two_recordings_is_no_cause(make):
    names = "abcdefghij"
    ratios = (0.98, 1.0, 1.02, 1.04, 1.05, 1.06, 1.07, 1.08, 1.09)
    base = make.profile(*(make.operation(name, 1.0) for name in names))

    def with_last(ratio):
        spent = zip(names, (*ratios, ratio), strict=True)
        return make.profile(*(make.operation(name, seconds) for name, seconds in spent))

    drifted, changed = explain(base, with_last(1.12)), explain(base, with_last(3.0))

    assert (drifted.causes, drifted.is_attributable) == ((), False)
    assert drifted.note.startswith(
        "not attributable from this profile: the same work differs by up to "
    )
    assert changed.causes[0].name == "j"


def test_many_windows_measure_what_one_recording_estimates(make):
    names = "abcdefghij"
    base, head = (
        make.profile(*(make.operation(name, seconds) for name in names)) for seconds in (1.0, 1.05)
    )
    repeats = [replace(one, side=side) for one, side in ((base, Side.BASE), (head, Side.HEAD))]

    assert explain(base, head, repeats=repeats).causes
