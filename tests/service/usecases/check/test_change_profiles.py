"""What changed is profiled, and once more where the profiles do not account for it."""

from dataclasses import replace

import pytest

from perfledger.metrics import PEAK_MEMORY
from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import Framework, Side
from perfledger_runners.measuring.profile_runs import ProfileRuns
from perfledger_service.usecases.check.change_profiles import with_profiles

GPT = "gpt:step"


def profile(side, seconds):
    operation = Operation(name="aten::mm", bucket=Bucket.CPU, seconds=seconds, count=1.0)
    return Profile(
        workload=GPT,
        side=side,
        tool="torch.profiler",
        steps=4,
        step_seconds=seconds,
        operations=(operation,),
    )


def profiles(base, head, **values):
    return ProfileRuns(profiles=(profile(Side.BASE, base), profile(Side.HEAD, head)), **values)


# A bundle whose step is 1.1 times slower than 10 ms: the first accounts for it, the others do not.
TRUE = profiles(0.010, 0.011)
BUSY = profiles(0.010, 0.012)
CALM = profiles(0.010, 0.010)


def of_framework(bundle, framework=Framework.TORCH):
    """Return the bundle with all of its workloads of this framework."""
    specs = tuple(replace(spec, framework=framework) for spec in bundle.workloads)
    return replace(bundle, workloads=specs)


@pytest.fixture
def profile_changes(make_bundle):
    """Profile a bundle with what is found one after the other; return it, who was asked, stages."""

    def run(*results, ratio=1.1, has_time=lambda: True):
        bundle = replace(of_framework(make_bundle(ratio=ratio)), notes=("kept",))
        left, requests = list(results), list[list[str]]()
        stages = list[str]()

        def profile_next(workloads, memory_s):
            assert memory_s is None
            requests.append([spec.id for spec in workloads])
            return left.pop(0)

        return (
            with_profiles(bundle, profile=profile_next, stage=stages.append, has_time=has_time),
            requests,
            stages,
        )

    return run


def test_what_did_not_change_is_not_profiled(profile_changes):
    bundle, requests, stages = profile_changes(ratio=1.0)

    assert (bundle.profiles, requests, stages) == ((), [], [])


def test_profiles_that_account_for_the_change_are_taken_once(profile_changes):
    bundle, requests, _ = profile_changes(TRUE)

    assert bundle.profiles == TRUE.profiles
    assert requests == [[GPT]]
    assert bundle.notes == ("kept",)


@pytest.mark.parametrize("first", [BUSY, CALM])
def test_profiles_that_do_not_are_taken_again_and_all_windows_count(profile_changes, first):
    repeats = (profile(Side.BASE, 0.010), profile(Side.HEAD, 0.0111))
    again = replace(TRUE, repeats=repeats)

    bundle, requests, stages = profile_changes(replace(first, repeats=repeats[:1]), again)

    assert bundle.profiles == first.profiles
    assert bundle.repeats == (*repeats[:1], *TRUE.profiles, *repeats)
    assert requests == [[GPT], [GPT]]
    assert stages[1] == "profiling again where the profiles do not explain the change"
    assert bundle.notes == (
        "kept",
        "gpt:step was profiled twice: the first profiles did not explain its change",
    )


def test_a_second_profile_that_fails_leaves_the_first(profile_changes):
    first = replace(BUSY, repeats=(profile(Side.BASE, 0.010),))

    bundle, _, _ = profile_changes(first, ProfileRuns(notes=("it crashed",)))

    assert bundle.notes[2:] == ("it crashed",)
    assert bundle.profiles == BUSY.profiles
    assert bundle.repeats == first.repeats


@pytest.mark.parametrize(("pair_s", "limit_s"), [(40.0, 120.0), (2.0, 30.0)])
def test_a_regression_of_memory_alone_is_profiled_once_within_a_limit(make_bundle, pair_s, limit_s):
    bundle = replace(of_framework(make_bundle(ratio=1.0)), pair_seconds={GPT: pair_s})
    grown = [
        replace(run, samples={**run.samples, PEAK_MEMORY.name: (2e6,)})
        if run.side is Side.HEAD
        else run
        for run in bundle.runs
    ]
    requests = list[tuple[list[str], float | None]]()

    def profile_next(workloads, memory_s):
        requests.append(([spec.id for spec in workloads], memory_s))
        return CALM

    with_profiles(replace(bundle, runs=tuple(grown)), profile=profile_next, stage=lambda _: None)

    assert requests == [([GPT], limit_s)]


def test_plain_python_is_not_profiled_and_a_note_says_so(make_bundle):
    host = of_framework(make_bundle(ratio=1.1), Framework.HOST)
    requests = list[str]()

    def profile_next(workloads, memory_s):
        requests.extend(spec.id for spec in workloads)
        return CALM if memory_s is None else TRUE

    noted = with_profiles(host, profile=profile_next, stage=requests.append)

    assert requests == []
    assert noted.notes[-1] == f"{GPT} was not profiled: its framework has no profiler here"


def test_many_workloads_of_plain_python_have_one_note(make_bundle):
    host = of_framework(make_bundle(ratio=1.5), Framework.HOST)
    (spec,) = (each for each in host.workloads if each.id == GPT)
    copies = [replace(spec, id=f"{GPT}[n={number}]") for number in range(3)]
    runs = [replace(run, workload=copy.id) for copy in copies for run in host.runs]
    many = replace(host, workloads=tuple(copies), runs=tuple(runs), work=())

    noted = with_profiles(many, profile=lambda _specs, _memory_s: CALM, stage=lambda _: None)

    assert noted.notes[-1] == (
        f"{copies[0].id} and 2 other workloads were not profiled: plain Python has no profiler here"
    )


def test_what_could_not_be_profiled_is_not_tried_again(profile_changes):
    bundle, requests, _ = profile_changes(ProfileRuns(notes=("it crashed",)))

    assert requests == [[GPT]]
    assert bundle.notes == ("kept", "it crashed")


def test_nothing_is_profiled_when_the_budget_is_spent(profile_changes):
    bundle, requests, stages = profile_changes(has_time=lambda: False)

    assert (bundle.profiles, requests, stages) == ((), [], [])
    assert bundle.notes[-1].startswith("the budget left no time for profiles")
    assert GPT in bundle.notes[-1]


def test_a_second_profile_needs_time_as_well(profile_changes):
    has_time = iter([True, False])

    bundle, requests, _ = profile_changes(BUSY, has_time=lambda: next(has_time))

    assert len(requests) == 1
    assert bundle.profiles == BUSY.profiles


def test_a_faster_step_is_profiled_too(profile_changes):
    profile_runs = profiles(0.010, 0.009)

    bundle, requests, stages = profile_changes(profile_runs, ratio=0.9)

    assert bundle.profiles == profile_runs.profiles
    assert (requests, stages) == ([[GPT]], ["profiling improved workloads"])


def test_without_time_a_note_says_that_it_is_faster(profile_changes):
    bundle, _, _ = profile_changes(ratio=0.9, has_time=lambda: False)

    assert "which say why it is faster: gpt:step" in bundle.notes[-1]


def test_regressions_come_first_and_improvements_take_what_is_left(make_bundle):
    slower, faster = (
        of_framework(make_bundle(ratio=ratio, workloads=(name,)))
        for name, ratio in (("a:slower", 1.2), ("b:faster", 0.8))
    )
    bundle = replace(
        slower, workloads=faster.workloads + slower.workloads, runs=slower.runs + faster.runs
    )
    requests = list[list[str]]()

    def profile_next(workloads, memory_s):
        assert memory_s is None
        requests.append([spec.id for spec in workloads])
        return ProfileRuns(
            profiles=tuple(
                replace(profile(side, 0.01), workload=spec.id)
                for spec in workloads
                for side in Side
            )
        )

    times = iter([True, False, True, False])
    profiled_bundle = with_profiles(
        bundle, profile=profile_next, stage=lambda _: None, has_time=lambda: next(times)
    )

    assert requests == [["a:slower"], ["b:faster"]]
    assert [one.workload for one in profiled_bundle.profiles] == [
        "a:slower",
        "a:slower",
        "b:faster",
        "b:faster",
    ]
