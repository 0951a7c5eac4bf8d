import pytest

from perfledger_baselines.estimation.work_counts import WorkChange, work_change


def counted(build, *pairs):
    return build.bundle({"m:f": {"flops_per_step": list(pairs)}})


def test_the_counts_are_given_as_they_are(build):
    work = work_change(counted(build, (1000.0, 1500.0), (1000.0, 1500.0)), "m:f")

    assert work == WorkChange(1000.0, 1500.0)


def test_counts_that_vary_are_given_by_their_median(build):
    work = work_change(counted(build, (10.0, 30.0), (20.0, 30.0), (90.0, 30.0)), "m:f")

    assert work == WorkChange(20.0, 30.0)


@pytest.mark.parametrize("pair", [(None, 5.0), (5.0, None), (0.0, 5.0), (5.0, 0.0)])
def test_without_a_count_on_either_side_there_is_no_change_of_work(build, pair):
    bundle = build.bundle(
        {"m:f": {"step_time_p50": [(1.0, 1.0)], "flops_per_step": [pair]}},
    )

    assert work_change(bundle, "m:f") is None


def test_another_workloads_counts_are_not_taken(build):
    assert work_change(counted(build, (1.0, 2.0)), "m:g") is None
