from dataclasses import replace

import pytest

from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import Device, Machine, Side
from perfledger_service.usecases.check.compare import compare_bundles
from perfledger_service.usecases.trace.compared_steps import compared_steps
from perfledger_service.values.comparison_view import MissingProfile, UnprofiledSide

NAME = "gpt:step"


def a_profile(side, seconds):
    operation = Operation(name="aten::mm", bucket=Bucket.CPU, seconds=seconds, count=1.0)
    return Profile(
        workload=NAME,
        side=side,
        tool="torch.profiler",
        steps=4,
        step_seconds=seconds,
        operations=(operation,),
    )


@pytest.fixture
def check(make_bundle):
    """Return a function that makes a check whose head takes so long, profiled or not."""

    def check(seconds, *, seed=0, is_profiled=True, **values):
        sides = ((Side.BASE, 0.5), (Side.HEAD, seconds))
        profiles = tuple(a_profile(*side) for side in sides) if is_profiled else ()
        return make_bundle(ratio=seconds / 0.01, seed=seed, profiles=profiles, **values)

    return check


def comparison(a, b):
    verdicts = compare_bundles(a, b, names=("a", "b")).verdicts
    return compared_steps(a, b, verdicts)


def test_the_heads_of_two_checks_are_explained_as_base_and_head(check):
    steps = comparison(check(0.010), check(0.013, seed=1))

    (explanation,) = steps.explanations
    assert (explanation.base_step_seconds, explanation.head_step_seconds) == (0.010, 0.013)
    assert [(one.side, one.step_seconds) for one in steps.profiles] == [
        (Side.BASE, 0.010),
        (Side.HEAD, 0.013),
    ]
    assert explanation.residual_seconds == pytest.approx(0.0, abs=1e-4)
    assert steps.unprofiled == ()


def test_more_windows_of_the_heads_say_how_noisy_the_difference_is(check):
    a, b = check(0.010), check(0.013, seed=1)
    windows = tuple(a_profile(side, 0.013) for side in Side for _ in range(3))

    without, steps = comparison(a, b), comparison(a, replace(b, repeats=windows))

    assert without.explanations[0].noise_seconds is None
    assert steps.explanations[0].noise_seconds is not None


def test_steps_of_two_machine_classes_have_no_times_that_are_compared(check):
    other = Machine(device=Device.CPU, model="Other CPU")

    steps = comparison(check(0.010), check(0.013, seed=1, machine=other))

    assert steps.explanations[0].residual_seconds is None
    assert steps.explanations[0].base_device is None


@pytest.mark.parametrize(
    ("values", "why", "note"),
    [
        ({"is_profiled": False}, MissingProfile.NOT_CHANGED, ""),
        ({"is_profiled": False, "runs": ()}, MissingProfile.NOT_MEASURED, ""),
        (
            {"is_profiled": False, "notes": ("noise", f"{NAME} could not be profiled on head: x")},
            MissingProfile.FAILED,
            f"{NAME} could not be profiled on head: x",
        ),
    ],
)
def test_a_side_without_a_profile_says_why(check, values, why, note):
    steps = comparison(check(0.010), check(0.013, seed=1, **values))

    assert steps.explanations == ()
    assert steps.unprofiled == (UnprofiledSide(workload=NAME, side=Side.HEAD, why=why, note=note),)
