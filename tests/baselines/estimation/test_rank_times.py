import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import STEP_TIME
from perfledger.records import Run, Side, WorkloadSpec
from perfledger_baselines.estimation.rank_times import (
    one_device_spec,
    rank_spread,
    scaling_efficiency,
)


def run_of(*ranks):
    steps = tuple(map(max, zip(*ranks, strict=True)))
    return Run(
        workload="bench:train",
        side=Side.HEAD,
        pair=0,
        position=0,
        process=0,
        started_at="2026-11-23T00:00:00+00:00",
        samples={STEP_TIME.name: steps},
        rank_times_s=tuple(map(tuple, ranks)) if len(ranks) > 1 else (),
    )


def spec(devices, *, unit="tokens", units_per_step=1.0, **params):
    grid = {"devices": devices, **params}
    return WorkloadSpec(
        id=f"bench:train{grid}",
        module="bench",
        function="train",
        params=grid,
        unit=unit,
        units_per_step=units_per_step,
        devices=devices,
    )


BEHIND = run_of([0.8, 0.9], [1.0, 1.0], [0.8, 0.7])  # rank 1 of 3


def test_a_rank_that_is_always_behind_is_a_straggler():
    spread = rank_spread([BEHIND] * 4, cores=3)

    assert (spread.ranks, spread.slowest, spread.share) == (3, 1, 1.0)
    assert spread.lag == pytest.approx(0.2)
    assert spread.chance == pytest.approx(3 * (1 / 3) ** 4)
    assert spread.has_straggler


@pytest.mark.parametrize(("ranks", "fewest"), [(2, 6), (4, 4), (8, 3)])
def test_few_processes_show_no_straggler_however_many_steps_they_have(ranks, fewest):
    run = run_of([1.0] * 500, *[[0.5] * 500] * (ranks - 1))

    needed = next(count for count in range(1, 20) if rank_spread([run] * count).has_straggler)

    assert needed == fewest
    assert rank_spread([run]).is_behind


def test_a_rank_that_is_behind_in_some_processes_alone_may_be_so_by_chance():
    other = run_of([1.0], [0.5], [0.5])
    spread = rank_spread([BEHIND] * 10 + [other] * 5)

    assert (spread.processes, spread.slow_processes) == (15, 10)
    assert spread.share == 0.8
    assert spread.has_straggler
    assert not rank_spread([BEHIND] * 2 + [other]).has_straggler


def test_ranks_that_share_cores_show_no_straggler():
    spread = rank_spread([BEHIND] * 10, cores=2)

    assert spread.is_behind
    assert spread.has_too_few_cores
    assert not spread.has_straggler


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_ranks_that_are_alike_are_rarely_stragglers(slowest):
    """The chance is that of a binomial count: it never says less than one process in four."""
    runs = [run_of(*[[1.0 if rank == slow else 0.5] for rank in range(4)]) for slow in slowest]
    spread = rank_spread(runs)

    assert spread.chance >= 4 * (1 / 4) ** len(slowest) * (1 - 1e-9)
    assert spread.has_straggler == (spread.is_behind and spread.chance <= 0.05)


@pytest.mark.parametrize(
    "ranks",
    [
        ([1.0, 0.5, 1.0, 0.5], [0.5, 1.0, 0.5, 1.0]),  # each in half of the steps
        ([1.0, 1.0, 1.0, 1.0], [0.99, 0.99, 0.99, 0.99]),  # hardly behind
    ],
)
def test_ranks_that_take_turns_or_hardly_differ_have_none(ranks):
    assert not rank_spread([run_of(*ranks)] * 10).has_straggler


def test_a_step_in_one_process_has_no_spread():
    assert rank_spread([run_of([1.0, 2.0])]) is None
    assert rank_spread([]) is None


@pytest.mark.parametrize(
    ("units", "units_of_one", "seconds", "efficiency"),
    [
        (4.0, 1.0, 1.0, 1.0),  # four times the work in the same time
        (4.0, 1.0, 2.0, 0.5),
        (1.0, 1.0, 0.25, 1.0),  # the same work in a quarter of the time
        (1.0, 1.0, 1.0, 0.25),
    ],
)
def test_efficiency_is_the_throughput_of_a_device(units, units_of_one, seconds, efficiency):
    many, one = spec(4, units_per_step=units), spec(1, units_per_step=units_of_one)

    assert scaling_efficiency(many, one, [run_of([seconds])], [run_of([1.0])]) == efficiency


def test_without_a_unit_or_steps_it_is_unknown():
    plain_workload_specs = (spec(4, unit="steps"), spec(1, unit="steps"))
    runs = [run_of([1.0])]

    assert scaling_efficiency(*plain_workload_specs, runs, runs) is None
    assert scaling_efficiency(spec(4), spec(1), runs, []) is None
    assert scaling_efficiency(spec(4), spec(1, unit="samples"), runs, runs) is None


def test_the_same_on_one_device_has_the_other_parameters():
    grid = [spec(1, batch=8), spec(1, batch=16), spec(4, batch=16)]

    assert one_device_spec(grid[2], grid) is grid[1]
    assert one_device_spec(grid[2], grid[:1]) is None


def test_a_single_step_and_ranks_that_took_no_time_have_a_spread():
    one, none = rank_spread([run_of([0.8], [1.0], [0.8])]), rank_spread([run_of([0.0], [0.0])])

    assert (one.ranks, one.slowest, one.lag) == (3, 1, pytest.approx(0.2))
    assert none.lag == 0.0
