import math
import os
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from perfledger_baselines.history.detection.changes import Movement, SeriesFindings
from perfledger_baselines.history.detection.detect import detect, detect_many
from perfledger_baselines.history.detection.observations import SeriesError

NOTHING = SeriesFindings(changes=())
GOLDEN = Path(__file__).with_name("golden_findings.txt")


def indices(history):
    return [change.index for change in history.changes]


def test_a_clear_step_is_found_where_it_is_and_as_large_as_it_is(make):
    values = make.series(make.noise(120, seed=1), [(70, 0.05)])

    (change,) = detect(values).changes

    assert change.index == 70
    assert change.earliest <= 70 <= change.latest
    assert change.movement is Movement.UP
    assert change.low < 0.05 < change.high
    assert change.before == pytest.approx(100, rel=0.005)
    assert change.after == pytest.approx(105, rel=0.005)
    assert change.confidence > 0.999


def test_several_steps_are_found_together(make):
    steps = [(40, 0.05), (90, -0.04), (150, 0.08)]

    history = detect(make.series(make.noise(200, seed=3), steps))

    assert indices(history) == [40, 90, 150]


def test_a_change_below_the_smallest_one_is_not_called_however_sure(make):
    noise = make.noise(200, seed=4, sd=0.0003)

    assert indices(detect(make.series(noise, [(100, 0.004)]))) == [100]
    assert indices(detect(make.series(noise, [(100, 0.002)]))) == []


def test_gaps_are_never_filled_and_indices_are_those_of_the_given_series(make):
    values = make.series(make.noise(120, seed=5), [(60, 0.05)])
    values[55:60] = math.nan
    values[::7] = math.nan

    (change,) = detect(values).changes

    assert change.index == 60
    assert change.earliest == 55  # the commits before it were not measured: any may be it


def test_nothing_is_found_across_epochs(make):
    values = make.series(make.noise(160, seed=6), [(50, 0.05), (80, 0.3)])

    assert indices(detect(values)) == [50, 80]
    assert indices(detect(values, epochs=[80])) == [50]


def test_an_epoch_without_observations_is_passed_over(make):
    values = make.series(make.noise(120, seed=7), [(90, 0.05)])
    values[30:60] = math.nan

    assert indices(detect(values, epochs=[30, 60])) == [90]


@pytest.mark.parametrize("epochs", [[0], [20], [12, 5], [5, 5], [-1]])
def test_epochs_that_do_not_split_the_series_are_an_error(epochs):
    with pytest.raises(SeriesError, match="do not split 20 commits"):
        detect([1.0] * 20, epochs=epochs)


@pytest.mark.parametrize("values", [[], [math.nan] * 5])
def test_a_series_that_was_never_measured_is_an_error_not_unchanged(values):
    with pytest.raises(SeriesError, match="holds no value"):
        detect(values)


def test_epochs_of_a_series_that_was_never_measured_are_an_error_too():
    with pytest.raises(SeriesError, match="holds no value"):
        detect([math.nan] * 9, epochs=[4])


def test_an_infinite_value_is_an_error_that_says_where():
    with pytest.raises(SeriesError, match="series 1 is infinite at index 2"):
        detect_many([[1.0, 2.0], [1.0, math.nan, math.inf]])


@pytest.mark.parametrize("value", [1e-300, 0.0, -3.0, 7.0, 1e300])
@pytest.mark.parametrize("count", [8, 9, 50, 200])
def test_a_constant_series_shows_nothing(value, count):
    assert detect([value] * count) == NOTHING


def test_a_step_between_constants_is_found():
    (change,) = detect([5.0] * 30 + [6.0] * 30).changes

    assert (change.index, change.earliest, change.latest) == (30, 30, 30)
    assert change.change == pytest.approx(0.2)


def test_the_largest_step_that_numbers_can_hold_is_found():
    (change,) = detect([1e-300] * 20 + [1e300] * 20).changes

    assert change.index == 20
    assert change.change == math.inf
    assert change.after == pytest.approx(1e300)


def test_slow_drift_is_a_drift_and_no_change(make):
    logs = make.noise(200, seed=13) + np.linspace(0, 0.04, 200)

    history = detect(make.series(logs))

    assert history.changes == ()
    (drift,) = history.drifts
    assert (drift.first, drift.last) == (0, 199)
    assert drift.low < math.expm1(0.04) < drift.high


def test_a_step_on_top_of_drift_is_found_with_its_own_size(make):
    logs = make.noise(200, seed=14, sd=0.008) + np.linspace(0, 0.05, 200)

    history = detect(make.series(logs, [(120, 0.05)]))

    (change,) = history.changes
    assert abs(change.index - 120) <= 1
    assert change.change == pytest.approx(0.05, abs=0.006)
    assert len(history.drifts) == 1


def test_drift_below_the_smallest_change_is_not_told(make):
    noise = make.noise(200, seed=15, sd=0.0005)

    assert detect(make.series(noise + np.linspace(0, 0.002, 200))).drifts == ()
    assert len(detect(make.series(noise + np.linspace(0, 0.005, 200))).drifts) == 1


def test_a_step_smaller_than_the_distance_of_two_states_is_found(make):
    values = make.series(make.two_states(200, seed=19), [(110, 0.01)])

    (change,) = detect(values).changes

    assert abs(change.index - 110) <= 2
    assert change.low < 0.01 < change.high


def test_no_series_is_no_history():
    assert detect_many([]) == ()


def test_states_as_far_apart_as_numbers_go_are_answered():
    rng = np.random.default_rng(3)

    history = detect(rng.choice([1e-300, 1e300], 139).tolist())

    assert all(math.isfinite(change.after) for change in history.changes)


# Annual flow of the Nile at Aswan in 1e8 m3, 1871 to 1970: Cobb, "The problem of the Nile",
# Biometrika 65, 1978. It fell between 1898 and 1899.
NILE = (
    *(1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960),
    *(1180, 799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694),
    *(940, 833, 701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824, 702, 1120, 1100, 832, 764),
    *(821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845, 944, 984, 897, 822),
    *(1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918),
    *(986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740),
)


def test_the_fall_of_the_niles_flow_is_found_with_its_known_figures():
    """They rest on the constants of the noise, of the tests and of the intervals."""
    (change,) = detect(NILE).changes

    assert 1871 + change.index == 1899
    assert (change.earliest, change.latest) == (26, 29)
    assert (change.before, change.after) == pytest.approx((1106.578306, 840.626042), rel=1e-8)
    assert (change.low, change.change, change.high) == pytest.approx(
        (-0.2910456696, -0.2403375003, -0.1860024140), rel=1e-8
    )
    assert 1 - change.confidence == pytest.approx(1.865e-9, rel=1e-3)


def test_steps_in_dependent_noise_have_known_intervals(make):
    noise = make.noise(300, seed=21, dependence=0.4)

    findings = detect(make.series(noise, [(100, 0.05), (200, -0.04), (294, 0.06)]))

    assert [(each.earliest, each.index, each.latest) for each in findings.changes] == [
        (100, 100, 100),
        (200, 200, 200),
        (294, 294, 294),
    ]
    assert [each.low for each in findings.changes] == pytest.approx(
        [0.0425197001, -0.0457324466, 0.0504091860], rel=1e-7
    )
    assert [each.high for each in findings.changes] == pytest.approx(
        [0.0508992015, -0.0380565520, 0.0739864081], rel=1e-7
    )
    assert 1 - findings.changes[2].confidence == pytest.approx(1.26e-8, rel=0.01)


def test_a_change_of_the_spread_has_a_known_interval(make):
    noise = make.noise(240, seed=22, sd=0.004)
    noise[150:] *= 3

    (change,) = detect(make.series(noise)).spread_changes

    assert change.index == 150
    assert (change.low, change.ratio, change.high) == pytest.approx(
        (1.8427121502, 2.4312957344, 3.2078797263), rel=1e-7
    )


def test_a_step_of_a_series_in_two_states_has_a_known_interval(make):
    (change,) = detect(make.series(make.two_states(200, seed=23), [(120, 0.05)])).changes

    assert (change.earliest, change.index, change.latest) == (120, 120, 120)
    assert (change.low, change.change, change.high) == pytest.approx(
        (0.0491786376, 0.0503179470, 0.0514584936), rel=1e-7
    )


def test_excursions_are_told_from_the_step_beside_them(make):
    noise = make.noise(160, seed=24, sd=0.005)
    noise[60:64] += 0.08
    noise[110] += 0.2

    findings = detect(make.series(noise, [(130, 0.02)]))

    (change,) = findings.changes
    assert (change.earliest, change.index, change.latest) == (130, 130, 131)
    assert (change.low, change.high) == pytest.approx((0.0176077084, 0.0218767686), rel=1e-7)
    assert [(each.first, each.last) for each in findings.transients] == [(60, 63), (110, 110)]
    assert [each.change for each in findings.transients] == pytest.approx(
        [0.0825851097, 0.2193345093], rel=1e-7
    )


def kinds_of_series(make):
    """Yield names, values and times of series of each kind of noise, with small and large steps."""
    days = np.arange(240) * 28_800.0  # three commits a day
    steps = ((30, 0.02), (90, -0.015), (150, 0.05), (210, -0.03))
    weights = np.linspace(0.2, 3.0, 240)
    noises = {
        "quiet": make.noise(240, seed=31, sd=0.002),
        "noisy": make.noise(240, seed=32, sd=0.02),
        "dependent": make.noise(240, seed=33, sd=0.006, dependence=0.6),
        "walking": np.cumsum(make.noise(240, seed=34, sd=0.003)),
        "louder": make.noise(240, seed=35, sd=0.004) * weights,
        "two states": make.two_states(240, seed=36),
        "rare states": make.two_states(240, seed=37, share=0.1, distance=0.04),
        "heavy tails": 0.004 * np.random.default_rng(38).standard_t(2, 240),
        "drift": make.noise(240, seed=39, sd=0.003) + np.linspace(0, 0.1, 240),
        "day": make.noise(240, seed=40, sd=0.003) + 0.02 * np.sin(2 * np.pi * days / 86_400 + 1),
        "week": make.noise(240, seed=41, sd=0.004) + 0.02 * np.sin(2 * np.pi * days / 604_800),
        "excursions": make.noise(240, seed=42, sd=0.004),
    }
    noises["excursions"][[20, 60, 61, 120, 121, 122, 180]] += 0.06
    for name, noise in noises.items():
        yield name, make.series(noise, steps), days + 600 * (np.arange(240) % 7)
        yield f"{name}, short", make.series(noise[:45], steps[:1]), days[:45]


def test_findings_in_each_kind_of_series_are_as_agreed(make):
    names, series, times = zip(*kinds_of_series(make), strict=True)
    series_findings = detect_many([values.tolist() for values in series])
    timed = detect_many(
        [values.tolist() for values in series], times=[each.tolist() for each in times]
    )

    text = "".join(
        f"== {name}\n{shown_text(plain_findings)}"
        + (f"-- with times\n{shown_text(dated)}" if dated != plain_findings else "")
        for name, plain_findings, dated in zip(names, series_findings, timed, strict=True)
    )
    if os.environ.get("PERFLEDGER_UPDATE_GOLDEN") == "1":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "run again with the variable if intended"


def shown_text(findings):
    """Return a line for each finding, with five digits of its figures."""
    groups = ((field.name, getattr(findings, field.name)) for field in fields(findings))
    return "".join(
        f"{name}: "
        + ", ".join(
            f"{field.name} {value:.5g}" if isinstance(value, float) else f"{field.name} {value}"
            for field in fields(one)
            for value in [getattr(one, field.name)]
        )
        + "\n"
        for name, group in groups
        for one in group
    )


@pytest.mark.parametrize("dependence", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_gone_is_a_hundred_percent_less_whatever_the_noise_before(make, seed, dependence):
    values = make.series(make.noise(60, seed=seed, sd=0.02, dependence=dependence))
    values[35:] = 0.0

    (change,) = (one for one in detect(values).changes if one.index == 35)

    assert (change.after, change.change, change.low, change.high) == (0.0, -1.0, -1.0, -1.0)
    assert change.before == pytest.approx(100, rel=0.03)


@pytest.mark.parametrize("dependence", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_new_has_no_relative_change_whatever_the_noise_after(make, seed, dependence):
    values = make.series(make.noise(60, seed=seed, sd=0.02, dependence=dependence))
    values[:35] = 0.0

    (change,) = (one for one in detect(values).changes if one.index == 35)

    assert change.before == 0.0
    assert all(math.isnan(one) for one in (change.change, change.low, change.high))


def test_no_interval_of_what_is_never_negative_reaches_below_nothing(make):
    values = make.series(make.noise(60, seed=1, sd=0.3), [(30, -0.98)])
    values[45] = 0.0

    (change,) = detect(values).changes

    assert -1.0 <= change.low < change.change < change.high
