"""Which variant of a workload is fastest: only where the pairs show it."""

import math
import random
from dataclasses import replace

import pytest

from perfledger.bundle import SAME_CODE, Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Side, WorkloadSpec
from perfledger_baselines.judging.variant_ranking import variant_rankings, workload_of
from perfledger_baselines.significance.power import MAX_CHANGE
from tests.suite.tries import tries

NAMES = ("eager", "compile", "cudagraphs")
FAST, SLOW, SLOWEST = 1.0, 1.2, 1.5


def spec(variant="", params=None, function="f"):
    chosen = {**(params or {}), **({"variant": variant} if variant else {})}
    label = ",".join(f"{name}={value}" for name, value in chosen.items())
    return WorkloadSpec(
        id=f"m:{function}[{label}]" if label else f"m:{function}",
        module="m",
        function=function,
        params=params or {},
        variant=variant,
    )


def specs_of(names):
    return tuple(spec("" if name == "eager" else name) for name in names)


@pytest.fixture
def bundle_of(build):
    """Make a bundle of variants: the step times of each, on base and head, with noise."""

    def make(times, *, pairs=8, noise=0.002, seed=1, **values) -> Bundle:
        draw = random.Random(seed)
        specs = specs_of(times)
        runs = tuple(
            build.run(
                each.id,
                side,
                pair,
                process=2 * pair + place,
                step_time_p50=[seconds * math.exp(draw.gauss(0, noise))] * 3,
            )
            for each, sides in zip(specs, times.values(), strict=True)
            for place, (side, seconds) in enumerate(zip(Side, sides, strict=True))
            for pair in range(pairs)
            if seconds
        )
        bundle: Bundle = build.bundle({}, runs=runs, **values)
        return Bundle(**{**vars(bundle), "workloads": specs})

    return make


def ranking_of(bundle, **values):
    (ranking,) = variant_rankings(bundle, **values)
    return ranking


def test_the_fastest_on_both_sides_stays_the_fastest(bundle_of):
    ranking = ranking_of(bundle_of({"eager": (SLOW, SLOW), "compile": (FAST, FAST)}))

    assert ranking.workload == "m:f"
    assert (ranking.base.fastest, ranking.head.fastest) == ("compile", "compile")
    assert not ranking.has_changed
    (comparison,) = ranking.head.comparisons
    assert comparison.variant == "eager"
    assert comparison.low < 0.2 < comparison.high
    assert comparison.change == pytest.approx(0.2, abs=0.01)


def test_another_fastest_on_head_has_changed(bundle_of):
    ranking = ranking_of(bundle_of({"eager": (SLOW, SLOW), "compile": (FAST, SLOWEST)}))

    assert (ranking.base.fastest, ranking.head.fastest) == ("compile", "eager")
    assert ranking.has_changed


def test_variants_that_cannot_be_told_apart_have_no_fastest(bundle_of):
    times = {"eager": (FAST, FAST), "compile": (FAST, FAST), "cudagraphs": (SLOW, SLOW)}

    ranking = ranking_of(bundle_of(times, noise=0.05))

    assert ranking.head.fastest == ""
    assert len(ranking.head.rivals) == 1
    assert ranking.head.rivals[0].variant in {"eager", "compile"}
    assert not ranking.has_changed


def test_a_change_from_unknown_to_known_is_none(bundle_of):
    times = {"eager": (FAST, SLOW), "compile": (FAST, FAST)}

    ranking = ranking_of(bundle_of(times, noise=0.003))

    assert (ranking.base.fastest, ranking.head.fastest) == ("", "compile")
    assert not ranking.has_changed


def test_a_difference_below_the_floor_is_none(bundle_of):
    times = {"eager": (1.002, 1.002), "compile": (FAST, FAST)}

    ranking = ranking_of(bundle_of(times, noise=1e-5))

    assert ranking.head.comparisons[0].low > 0
    assert ranking.head.fastest == ""


def test_too_few_pairs_tell_nothing(bundle_of):
    ranking = ranking_of(bundle_of({"eager": (SLOWEST, SLOWEST), "compile": (FAST, FAST)}, pairs=2))

    (comparison,) = ranking.head.comparisons
    assert ranking.head.fastest == ""
    assert (comparison.low, comparison.high) == (-math.inf, math.inf)


def test_a_variant_without_runs_or_with_a_failure_is_not_in_the_ranking(bundle_of):
    times = {"eager": (SLOW, SLOW), "compile": (FAST, FAST), "cudagraphs": (0, 0)}
    bundle = bundle_of(times)

    ranking = ranking_of(bundle)
    without = ranking_of(bundle, failed={"m:f[variant=compile]"})

    assert ranking.unmeasured == ("cudagraphs",)
    assert ranking.head.fastest == "compile"
    assert (without.base, without.head) == (None, None)
    assert without.unmeasured == ("compile", "cudagraphs")


def test_a_variant_that_is_new_in_head_is_ranked_on_neither_side(bundle_of):
    ranking = ranking_of(bundle_of({"eager": (SLOW, SLOW), "compile": (0, FAST)}))

    assert ranking.base is None
    assert ranking.unmeasured == ("compile",)


def test_variants_that_were_not_to_be_measured_are_not_called_unmeasured(bundle_of):
    times = {"eager": (0, 0), "compile": (FAST, FAST), "cudagraphs": (0, 0), "aotinductor": (0, 0)}
    bundle = replace(
        bundle_of(times),
        same_code=("m:f",),
        skipped={"m:f": SAME_CODE, "m:f[variant=aotinductor]": "flops > 5 %"},
        new_workloads=("m:f[variant=cudagraphs]",),
    )

    ranking = ranking_of(bundle)

    assert ranking.unmeasured == ()
    assert ranking.left_out == {"eager": SAME_CODE, "cudagraphs": "new", "aotinductor": "skipped"}


def test_a_variant_that_fails_is_unmeasured_whatever_else_is_said_of_it(bundle_of):
    bundle = bundle_of({"eager": (FAST, FAST), "compile": (0, 0)})

    ranking = ranking_of(
        replace(bundle, new_workloads=("m:f[variant=compile]",)), failed={"m:f[variant=compile]"}
    )

    assert (ranking.unmeasured, ranking.left_out) == (("compile",), {})


def test_there_is_no_ranking_where_all_variants_run_the_same_code(bundle_of):
    bundle = bundle_of({"eager": (0, 0), "compile": (0, 0)})
    names = tuple(spec.id for spec in bundle.workloads)

    same = replace(bundle, same_code=names, skipped=dict.fromkeys(names, SAME_CODE))

    assert variant_rankings(same) == ()


def test_times_of_any_size_have_a_finite_difference(bundle_of):
    bundle = bundle_of({"eager": (FAST, FAST), "compile": (FAST, FAST)}, pairs=6)
    runs = tuple(
        replace(run, samples={STEP_TIME.name: ((1e-300, 1e30)[is_long],) * 3})
        for run in bundle.runs
        for is_long in [(run.pair + (run.workload == "m:f")) % 2]
    )

    (comparison,) = ranking_of(replace(bundle, runs=runs)).head.comparisons

    assert (comparison.low, comparison.high) == pytest.approx((-1.0, MAX_CHANGE), abs=1e-5)


def test_pairs_that_one_variant_lacks_are_left_out(bundle_of):
    bundle = bundle_of({"eager": (SLOW, SLOW), "compile": (FAST, FAST)})
    runs = [run for run in bundle.runs if not (run.workload == "m:f" and run.pair > 5)]

    ranking = ranking_of(Bundle(**{**vars(bundle), "runs": tuple(runs)}))

    assert ranking.head.comparisons[0].pairs == 6


def test_the_order_is_that_of_the_processes_that_both_have(bundle_of):
    """A variant that was measured only while the machine was fast is not the fastest."""
    bundle = bundle_of({"eager": (SLOW, SLOW), "compile": (FAST, FAST)})
    runs = tuple(
        replace(
            run, samples={STEP_TIME.name: tuple(4 * each for each in run.samples[STEP_TIME.name])}
        )
        if run.pair > 5
        else run
        for run in bundle.runs
        if not (run.workload == "m:f" and run.pair > 5)
    )

    ranking = ranking_of(replace(bundle, runs=runs))

    assert ranking.head.fastest == "compile"
    assert ranking.head.comparisons[0].change == pytest.approx(0.2, abs=0.01)


def test_a_repeated_process_counts_by_its_latest(build, bundle_of):
    bundle = bundle_of({"eager": (SLOW, SLOW), "compile": (FAST, FAST)})
    repeated = build.run("m:f", Side.HEAD, 0, process=99, step_time_p50=[SLOW] * 3)

    ranking = ranking_of(Bundle(**{**vars(bundle), "runs": (*bundle.runs, repeated)}))

    assert ranking.head.comparisons[0].pairs == 8


def test_workloads_without_variants_have_no_ranking(build):
    assert variant_rankings(build.bundle({"m:f": {}, "m:g": {}})) == ()


def test_a_single_variant_has_no_ranking(bundle_of):
    assert variant_rankings(bundle_of({"compile": (FAST, FAST)})) == ()


def test_grids_are_ranked_point_by_point():
    points = [spec("", {"batch": 8}), spec("compile", {"batch": 8}), spec("", {"batch": 16})]

    assert [workload_of(each) for each in points] == [
        "m:f[batch=8]",
        "m:f[batch=8]",
        "m:f[batch=16]",
    ]


def test_equal_variants_are_rarely_told_apart(bundle_of):
    """Of the checks of three equal variants, alpha allows one side of ten."""
    times = dict.fromkeys(NAMES, (FAST, FAST))
    count = tries(200)
    checks = (ranking_of(bundle_of(times, noise=0.02, seed=seed)) for seed in range(count))

    total = sum(bool(each.base.fastest or each.head.fastest) for each in checks)

    assert total <= count / 20
