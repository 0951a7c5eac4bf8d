"""Tests the choice of a head's baseline from a folder of bundles, one bundle per commit."""

import math
from dataclasses import replace

import pytest

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, Machine, Revision, WorkloadSpec
from perfledger_baselines.planning.baseline_selection import NoBaselineError
from perfledger_service.errors import UsageError
from perfledger_service.usecases.check.baseline_folder import BaselineFolder, BaselinePreferences

WORKLOAD = "gpt:step"


def sha(commit):
    return f"{commit:040x}"


def scaled(run, level):
    samples = {name: tuple(level * one for one in each) for name, each in run.samples.items()}
    return replace(run, samples=samples)


@pytest.fixture
def check(make_bundle):
    """Make a check of a commit of the default branch: a process of step time 0.01 s * level."""

    def check(commit, *, level=1.0, **values):
        bundle = make_bundle(
            **{
                "ratio": 1.0,
                "pairs": 2,
                "samples": 2,
                "seed": commit,
                "pull_request": None,
                "created_at": f"2026-11-{commit + 1:02}T12:00:00+00:00",
                "base": Revision(sha=sha(commit)),
                "head": Revision(sha=sha(commit + 1)),
                **values,
            }
        )
        return replace(bundle, runs=tuple(scaled(run, level) for run in bundle.runs))

    return check


def baseline(folder, head, metric=STEP_TIME):
    return folder.baseline_of(head, WORKLOAD, metric)


def test_a_folder_without_bundles_says_what_to_add():
    with pytest.raises(UsageError, match="no bundle to choose a baseline from: add a check"):
        BaselineFolder([])


def test_the_newest_bundle_is_that_of_the_newest_check_in_any_order(check):
    checks = [check(commit) for commit in (1, 2, 0)]

    assert BaselineFolder(checks).newest == checks[1]


def test_a_check_is_one_value_however_many_processes_it_has(check):
    folder = BaselineFolder([check(0, level=1.0), check(1, level=4.0, pairs=6)])

    chosen = baseline(folder, check(2))

    assert chosen.values == pytest.approx((0.04,), rel=0.01)
    assert chosen.reason.startswith("6 runs, at the merge base, the nearest measured commit;")


def with_readings(bundle, *times):
    """Return the bundle with runs that measured only these step times, the others as they were."""
    runs = tuple(
        replace(run, samples={STEP_TIME.name: (times[run.pair],)}) if run.pair < len(times) else run
        for run in bundle.runs
    )
    return replace(bundle, runs=runs)


def test_up_to_a_quarter_of_a_checks_runs_may_read_zero_and_are_counted(check):
    folder = BaselineFolder([with_readings(check(0, pairs=4), 0.0)])

    chosen = baseline(folder, check(1))

    assert chosen.values == pytest.approx((0.01,), rel=0.01)
    assert chosen.reason.startswith("3 runs, at the merge base,")
    assert chosen.reason.endswith("; left out: 1 of 4 runs (zero, negative or not a number)")


def test_a_check_with_more_runs_that_read_zero_is_no_baseline_and_counted(check):
    folder = BaselineFolder([check(0), with_readings(check(1, pairs=4), 0.0, math.nan)])

    chosen = baseline(folder, check(2))

    assert chosen.reason.startswith("2 runs, 1 commit before the merge base,")
    assert chosen.reason.endswith("number), and 1 of 2 checks with over a quarter of such runs")


def test_what_is_left_out_on_another_machine_is_not_counted(check):
    another = Machine(device=Device.CPU, model="Another CPU")
    folder = BaselineFolder([check(0), with_readings(check(1, machine=another), 0.0, math.nan)])

    chosen = baseline(folder, check(2))

    assert chosen.reason.startswith("2 runs, 1 commit before the merge base,")
    assert "left out" not in chosen.reason


def test_without_a_usable_check_the_error_says_what_is_left_out(check):
    folder = BaselineFolder([with_readings(check(0, pairs=2), 0.0)])

    with pytest.raises(NoBaselineError, match="left out: 1 of 2 runs"):
        baseline(folder, check(1))


def test_processes_of_a_check_are_pooled_by_their_geometric_mean(check):
    bundle = check(0)
    runs = tuple(scaled(run, 4.0) if run.pair == 0 else run for run in bundle.runs)

    chosen = baseline(BaselineFolder([replace(bundle, runs=runs)]), check(1))

    assert chosen.values == pytest.approx((0.02,), rel=0.01)


@pytest.mark.parametrize(("checks", "has_prior"), [(4, False), (5, True)])
def test_five_checks_show_how_far_two_lie_apart(check, checks, has_prior):
    folder = BaselineFolder([check(commit) for commit in range(checks)])

    assert (baseline(folder, check(checks)).prior is not None) is has_prior


def test_checks_before_a_change_of_level_are_no_baseline(check):
    levels = [1.0] * 12 + [1.1] * 12
    folder = BaselineFolder([check(commit, level=level) for commit, level in enumerate(levels)])

    chosen = baseline(folder, check(24, level=1.1))

    assert chosen.values == pytest.approx((0.011,) * 12, rel=0.01)


def test_a_change_of_level_does_not_widen_the_spread_between_checks(check):
    steady = BaselineFolder([check(commit) for commit in range(24)])
    levels = [1.0] * 12 + [1.1] * 12
    moved_baseline_folder = BaselineFolder(
        [check(commit, level=level) for commit, level in enumerate(levels)]
    )

    priors = [baseline(folder, check(24)).prior for folder in (steady, moved_baseline_folder)]

    assert priors[1].variance == pytest.approx(priors[0].variance, rel=0.5)


def test_checks_of_commits_that_the_head_does_not_contain_are_no_baseline(check):
    folder = BaselineFolder([check(commit) for commit in range(12)])
    head = check(12, base=Revision(sha=sha(6)), pull_request=7)

    assert "12 runs of the newest 6 checks" in baseline(folder, head).reason


def test_the_base_of_a_pull_requests_check_is_the_commit_of_the_branch(check):
    request = check(0, ratio=4.0, pull_request=7)

    chosen = baseline(BaselineFolder([request]), check(1, base=Revision(sha=sha(0))))

    assert chosen.values == pytest.approx((0.01,), rel=0.01)
    assert "at the merge base" in chosen.reason


def test_the_heads_own_check_is_no_baseline(check):
    head = check(0)

    with pytest.raises(NoBaselineError, match="no run is stored"):
        baseline(BaselineFolder([head]), head)


def test_another_machine_is_no_baseline(check):
    folder = BaselineFolder([check(0, machine=Machine(device=Device.CPU, model="Another CPU"))])

    with pytest.raises(NoBaselineError, match="2 runs of another machine class"):
        baseline(folder, check(1))


def test_another_unit_of_work_or_metric_is_no_baseline(check):
    tokens = WorkloadSpec(id=WORKLOAD, module="gpt", function="step", unit="tokens")
    folder = BaselineFolder([replace(check(0), workloads=(tokens,))])
    redefined = BaselineFolder([check(0, metrics=(replace(STEP_TIME, unit="ms"), PEAK_MEMORY))])

    for other in (folder, redefined):
        with pytest.raises(NoBaselineError, match="no run is stored"):
            baseline(other, check(1))
    assert baseline(redefined, check(1), PEAK_MEMORY).values == pytest.approx((1e6,))


def test_a_pinned_check_goes_before_newer_ones(check):
    checks = [check(commit, level=1.0 + commit) for commit in range(6)]
    by_id = BaselinePreferences(pinned=checks[1].id)
    by_commit = BaselinePreferences(pinned=sha(2))

    for pinned in (by_id, by_commit):
        chosen = baseline(BaselineFolder(checks, pinned), check(6))
        assert chosen.values == pytest.approx((0.02,), rel=0.01)
        assert ", pinned;" in chosen.reason


def test_nothing_older_than_an_accepted_change_counts(check):
    checks = [check(commit) for commit in range(8)]
    folder = BaselineFolder(checks, BaselinePreferences(accepted=(sha(4),)))

    reason = baseline(folder, check(8)).reason

    assert "newest 5 checks of this level and epoch, from 4 commits before" in reason


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("feed0", "no commit or id begins with 'feed0' in 3 bundles"),
        ("0000", "several commits or ids begin with '0000' in 3 bundles"),
        ("000", "'000' is too short to name a commit: give 4 letters"),
    ],
)
def test_a_name_of_no_check_or_of_several_is_an_error(check, name, message):
    checks = [check(commit) for commit in range(3)]

    with pytest.raises(UsageError, match=message):
        BaselineFolder(checks).places_of_name(name)
    with pytest.raises(UsageError, match=message):
        BaselineFolder(checks, BaselinePreferences(accepted=(name,)))


def test_a_commit_that_was_checked_twice_has_two_places(check):
    again = check(1, seed=9, created_at="2026-11-03T13:00:00+00:00")
    folder = BaselineFolder([check(0), check(1), again, check(3)])

    assert folder.places_of_name(sha(2)) == (1, 2)
    assert folder.places_of_name(again.id) == (2,)
