"""Series made up here: means, quantiles, burstiness and what is missing, by holder."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.telemetry.activity_samples import Activity, ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.sample_table import table_of
from perfledger_cost_models.telemetry.signals import OwnerLevel, Signal
from perfledger_cost_models.telemetry.utilization import (
    BURSTY_FROM,
    best_signal,
    burstiness,
    total_utilization,
    utilization_by_owner,
    week_levels,
)
from perfledger_cost_models.usage.device_spans import UsageFileError

MONDAY = datetime(2026, 10, 5, tzinfo=UTC).timestamp()
NLP = DeviceOwner(team="search", namespace="nlp", job="train")
VISION = DeviceOwner(team="ads", namespace="vision", job="train")
FREE = DeviceOwner(is_free=True)


def activity(
    shares, *, holder=NLP, device="a", signal=Signal.GPU_UTIL, start=0.0, step=600.0, **more
):
    starts = MONDAY + start + step * np.arange(len(shares), dtype=np.float64)
    return Activity(
        owner=holder,
        device=device,
        signal=signal,
        starts=starts,
        ends=starts + step,
        shares=np.array(shares, dtype=float),
        **more,
    )


def table(*activities):
    return table_of([ActivityExport(name="x", kind="made up", activities=activities)])


def use(*activities, level=OwnerLevel.TEAM, signal=Signal.GPU_UTIL):
    return utilization_by_owner(table(*activities), level, signal)


def test_the_mean_is_weighted_by_device_time():
    (owner_utilization,) = use(activity([1.0] * 6), activity([0.0] * 3, device="b", devices=2.0))

    assert owner_utilization.device_hours == 2
    assert owner_utilization.mean == 0.5
    assert owner_utilization.owner == "search"


@pytest.mark.parametrize(
    ("level", "names"),
    [
        (OwnerLevel.TEAM, ["ads", "search"]),
        (OwnerLevel.NAMESPACE, ["nlp", "vision"]),
        (OwnerLevel.JOB, ["nlp/train", "vision/train"]),
    ],
)
def test_holders_are_told_apart_on_a_level(level, names):
    owner_utilizations = use(
        activity([1.0] * 6), activity([0.0] * 6, holder=VISION, device="b"), level=level
    )

    assert sorted(each.owner for each in owner_utilizations) == names


def test_an_unknown_owner_is_named_by_the_next_level():
    owner_utilizations = use(
        activity([1.0], holder=DeviceOwner(job="x")),
        activity([1.0], holder=DeviceOwner(), device="b"),
    )

    assert {each.owner for each in owner_utilizations} == {"x", "(unknown)"}


def test_what_nobody_holds_counts_in_all():
    activities = (activity([0.8] * 6), activity([0.0] * 6, holder=FREE, device="b"))

    assert total_utilization(table(*activities), Signal.GPU_UTIL).mean == pytest.approx(0.4)
    assert {each.owner: each.mean for each in use(*activities)} == {
        "search": pytest.approx(0.8),
        "(nobody)": 0.0,
    }


def test_a_gap_is_missing_and_in_no_mean():
    (owner_utilization,) = use(activity([0.5] * 6), activity([0.5] * 6, start=7200.0))

    assert (
        owner_utilization.device_hours,
        owner_utilization.missing_hours,
        owner_utilization.mean,
    ) == (2.0, 1.0, 0.5)
    assert owner_utilization.range == pytest.approx((1 / 3, 2 / 3))


def test_a_gap_in_which_somebody_else_has_the_device_is_not_missing():
    owner_utilizations = use(
        activity([0.5] * 6),
        activity([0.5] * 6, start=7200.0),
        activity([1.0] * 6, holder=VISION, start=3600.0),
    )

    assert [each.missing_hours for each in owner_utilizations] == [0.0, 0.0]


def test_a_device_that_two_share_is_one_device():
    owner_utilizations = use(activity([0.6] * 6), activity([0.6] * 6, holder=VISION))

    assert [each.device_hours for each in owner_utilizations] == [0.5, 0.5]


def test_the_same_time_twice_is_an_error():
    with pytest.raises(UsageFileError, match="appears twice"):
        table(activity([0.6] * 6), activity([0.6] * 6, start=60.0))


def test_files_that_follow_each_other_do_not_count_their_seam_twice():
    (owner_utilization,) = use(activity([0.6] * 6), activity([0.6] * 6, start=3590.0))

    assert owner_utilization.device_hours == pytest.approx((3590 + 3600) / 3600)


def test_quantiles_and_idle_time_are_of_device_time():
    (owner_utilization,) = use(
        activity([0.0, 0.01, 0.2, 0.9]), activity([1.0] * 4, device="b", step=300.0)
    )

    assert (owner_utilization.p50, owner_utilization.p95) == (0.2, 1.0)
    assert owner_utilization.idle_share == pytest.approx(2 / 6)


def test_the_highest_values_are_an_upper_bound():
    (owner_utilization,) = use(activity([0.4] * 6, is_peak=True))

    assert owner_utilization.is_upper_bound
    assert owner_utilization.range == pytest.approx((0.0, 0.4))


def test_other_signals_are_told_beside_the_one_that_was_asked_for():
    (owner_utilization,) = use(activity([0.9] * 6), activity([0.2] * 6, signal=Signal.SM_ACTIVE))

    assert owner_utilization.signals == {
        Signal.GPU_UTIL: pytest.approx(0.9),
        Signal.SM_ACTIVE: pytest.approx(0.2),
    }


def test_a_holder_without_the_signal_has_hours_of_which_nothing_is_known():
    _, owner_utilization = use(
        activity([0.9] * 12),
        activity([0.2] * 6, holder=VISION, device="b", signal=Signal.SM_ACTIVE),
    )

    assert (
        owner_utilization.mean,
        owner_utilization.device_hours,
        owner_utilization.missing_hours,
    ) == (None, 0.0, 1.0)
    assert owner_utilization.range is None
    assert owner_utilization.is_bursty is None


@pytest.mark.parametrize(
    ("levels", "is_bursty"),
    [([0.4] * 48, False), ([0.0, 0.8] * 24, True), ([0.3, 0.5] * 24, False)],
)
def test_use_that_comes_and_goes_by_the_hour_is_bursty(levels, is_bursty):
    (owner_utilization,) = use(activity(levels, step=3600.0))

    assert owner_utilization.is_bursty is is_bursty


def test_use_within_an_hour_is_not_bursty():
    (owner_utilization,) = use(activity([0.0, 0.8] * 3 * 48))

    assert owner_utilization.burstiness == pytest.approx(-1)


@pytest.mark.parametrize("shares", [[0.5, 0.0] * 11, [0.0] * 48])
def test_less_than_a_day_and_nothing_but_zeros_are_neither_bursty_nor_steady(shares):
    (owner_utilization,) = use(activity(shares, step=3600.0))

    assert owner_utilization.burstiness is None


def test_burstiness_is_that_of_goh_and_barabasi():
    levels = np.random.default_rng(1).exponential(size=200_000)

    assert burstiness(levels, np.ones_like(levels)) == pytest.approx(0.0, abs=0.01)
    assert burstiness(np.array([0.5, 1.5]), np.ones(2)) == pytest.approx(BURSTY_FROM)


def test_the_week_begins_on_monday_and_samples_are_divided_by_hours():
    levels = week_levels(table(activity([0.2, 0.8], step=3600.0, start=1800.0)), Signal.GPU_UTIL)

    assert levels[:3] == pytest.approx((0.2, 0.5, 0.8))
    assert levels[3] is None


def test_samples_longer_than_an_hour_do_not_tell_of_hours():
    levels = week_levels(
        table(activity([0.2], step=7200.0), activity([0.4], device="b")), Signal.GPU_UTIL
    )

    assert levels[:2] == (0.4, None)
    assert set(week_levels(table(activity([0.2])), Signal.SM_ACTIVE)) == {None}


def test_gpu_util_is_the_default_signal():
    assert (
        best_signal(table(activity([1.0], signal=Signal.SM_ACTIVE), activity([1.0])))
        is Signal.GPU_UTIL
    )
    with pytest.raises(UsageFileError, match="have only memory"):
        best_signal(table(activity([1.0], signal=Signal.MEMORY)))


def test_no_file_is_an_error():
    with pytest.raises(UsageFileError, match="no export"):
        table_of([])


SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=60)


@pytest.mark.slow
@given(SHARES, st.integers(1, 59))
@settings(deadline=None, max_examples=40)
def test_splitting_a_series_changes_nothing(shares, at):
    at = min(at, len(shares) - 1)

    (whole_owner_utilization,) = use(activity(shares))
    (split,) = use(activity(shares[:at]), activity(shares[at:], start=600.0 * at))

    assert split == whole_owner_utilization


@pytest.mark.slow
@given(SHARES, st.integers(2, 100))
@settings(deadline=None, max_examples=40)
def test_the_mean_lies_within_the_shares_and_hangs_on_no_unit_of_time(shares, factor):
    (owner_utilization,) = use(activity(shares))
    (longer,) = use(activity(shares, step=600.0 * factor))

    assert owner_utilization.mean is not None
    assert min(shares) - 1e-9 <= owner_utilization.mean <= max(shares) + 1e-9
    assert longer.mean == pytest.approx(owner_utilization.mean)
    assert longer.device_hours == pytest.approx(owner_utilization.device_hours * factor)
    assert (longer.p50, longer.p95) == (owner_utilization.p50, owner_utilization.p95)


@pytest.mark.slow(ci_only=True)
@given(st.lists(st.tuples(SHARES, st.sampled_from((NLP, VISION, FREE))), min_size=1, max_size=5))
@settings(deadline=None, max_examples=40)
def test_the_holders_hours_and_use_sum_to_those_of_all(series):
    activities = [
        activity(shares, holder=holder, device=str(place))
        for place, (shares, holder) in enumerate(series)
    ]

    every = total_utilization(table(*activities), Signal.GPU_UTIL)
    parts = use(*activities)

    assert sum(each.device_hours for each in parts) == pytest.approx(every.device_hours)
    assert sum((each.mean or 0) * each.device_hours for each in parts) == pytest.approx(
        (every.mean or 0) * every.device_hours
    )
