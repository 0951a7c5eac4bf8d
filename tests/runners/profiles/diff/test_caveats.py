from dataclasses import replace

import pytest

from perfledger.profile import Bucket, Kernel, OperationFamily, ProfileReading
from perfledger_profiles.diff.diff import explain
from perfledger_profiles.timeline.collective_sizes import MESSAGE_BYTES

COMMUNICATION = Bucket.COMMUNICATION


def pair(make, *, kernels=0.0, planted=2e-3):
    """Return profiles with a planted operation, and kernels that came and went without a match."""
    base = [make.operation("aten::mm", 10e-3)]
    head = [make.operation("aten::mm", 10e-3), make.operation("aten::sort", planted)]
    if kernels:
        base.append(make.operation("old_kernel", kernels))
        head.append(make.operation("new_kernel", kernels))
    return make.profile(*base), make.profile(*head)


def louder(profile, *, by):
    """Return one more window of a side, whose operations all took so many times as long."""
    longer = [replace(one, seconds=by * one.seconds) for one in profile.operations]
    return [replace(profile, step_seconds=by * profile.step_seconds, operations=tuple(longer))]


def test_a_change_that_timing_agrees_with_is_attributed(make):
    explanation = explain(*pair(make), timing=(9.9e-3, 11.8e-3))

    assert explanation.is_attributable
    assert explanation.residual_seconds == pytest.approx(-0.1e-3)


def test_a_change_that_timing_does_not_see_is_not_attributable(make):
    explanation = explain(*pair(make), timing=(9.9e-3, 10.2e-3))

    assert [cause.name for cause in explanation.causes] == ["aten::sort"]
    assert explanation.note == (
        "not attributable from this profile: the change without a profiler differs by 53 % of the "
        "profiled change: profile both sides again, with more steps"
    )


@pytest.mark.parametrize(
    ("more", "is_known"),
    [
        ({"timing": (9.9e-3, 9.7e-3)}, False),
        ({"timing": (9.9e-3, 9.7e-3), "timing_error_seconds": 5e-3}, True),
        ({"is_judged_slower": False}, False),
        ({"is_judged_slower": True}, True),
    ],
)
def test_a_profile_that_shows_the_opposite_of_what_was_measured_lists_no_cause(
    make, more, is_known
):
    explanation = explain(*pair(make), **more)

    assert explanation.is_attributable is is_known
    assert [cause.name for cause in explanation.causes] == ["aten::sort"] * is_known
    if not is_known:
        assert explanation.rest_seconds == pytest.approx(2e-3)
        assert explanation.note == (
            "not attributable from this profile: the profiled step is slower, the opposite of what "
            "was measured without a profiler: profile both sides again on an idle machine"
        )


def test_what_the_timing_itself_leaves_open_is_no_disagreement(make):
    sure = explain(*pair(make), timing=(9.9e-3, 11.0e-3))
    unsure = explain(*pair(make), timing=(9.9e-3, 11.0e-3), timing_error_seconds=0.3e-3)

    assert not sure.is_attributable
    assert unsure.is_attributable
    assert unsure.residual_seconds == pytest.approx(-0.9e-3)


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({}, "recordings without steps may differ in their length"),
        ({"has_steps": True}, ""),
        ({"is_host_known": True}, "too few operations in common"),
    ],
)
def test_idle_time_of_recordings_without_steps_and_calls_may_be_their_length(make, change, note):
    kernel = make.operation("gemm", 1e-3)
    base, head = (
        replace(
            make.profile(kernel, make.operation("(outside operations)", idle, bucket=Bucket.OTHER)),
            **{"has_steps": False, "is_host_known": False, **change},
        )
        for idle in (8.0, 1.0)
    )

    explanation = explain(base, head)

    assert note in explanation.note
    assert explanation.is_attributable is (not note)


@pytest.mark.parametrize("change", ["a kernel that is new", "a kernel that is slower"])
def test_two_short_recordings_do_not_show_what_is_chance(make, change):
    """Without steps their spread is unknown, and two common operations do not estimate it."""
    gemm, softmax = make.operation("gemm", 5e-3), make.operation("softmax", 1e-3)
    after = {
        "a kernel that is new": (gemm, softmax, make.operation("sort", 2e-3)),
        "a kernel that is slower": (gemm, replace(softmax, seconds=3e-3)),
    }[change]
    base, head = (make.profile(gemm, softmax), make.profile(*after))

    marked, unmarked = (
        explain(*(replace(side, has_steps=has_steps) for side in (base, head)))
        for has_steps in (True, False)
    )

    assert marked.is_attributable
    assert unmarked.note == (
        "not attributable from this profile: by how much two recordings of the same code differ is "
        "unknown: neither file marks steps, and they have too few operations in common; record "
        "several steps, or the base several times"
    )
    assert unmarked.causes == marked.causes  # still listed, largest first


def test_much_that_is_unlisted_is_a_doubt_however_loud_the_profiles_are(make):
    base, head = (
        make.profile(
            *(
                make.operation(f"aten::op{n}", slower[n % 2], shapes=f"float[{10 * n + more}]")
                for n in range(20)
            )
        )
        for more, slower in ((1, (1e-3, 1e-3)), (2, (1.05e-3, 1.15e-3)))
    )

    explanation = explain(base, head, repeats=louder(base, by=1.01))

    assert explanation.note.startswith("not attributable from this profile: 62 % of the change")


def test_without_timing_there_is_no_residual(make):
    assert explain(*pair(make)).residual_seconds is None


def test_a_profiler_that_doubles_the_step_is_taken_out_of_its_change(make):
    explanation = explain(*pair(make), timing=(5e-3, 6e-3))

    assert explanation.is_attributable
    assert explanation.residual_seconds == pytest.approx(-1e-3)


def test_a_slowdown_of_one_sides_profile_alone_is_no_cost_of_the_profiler(make):
    base = make.operation("aten::mm", 2.5e-3)
    head = replace(base, seconds=15.4e-3)

    alone, both = (
        explain(make.profile(base), make.profile(head), timing=timing)
        for timing in ((2.5e-3, 4e-3), (0.7e-3, 4e-3))
    )

    assert not alone.is_attributable
    assert "differs by 68 % of the profiled change" in alone.note
    assert both.is_attributable


def test_a_profile_of_another_length_altogether_explains_nothing(make):
    explanation = explain(*pair(make, planted=10e-3), timing=(0.5e-3, 1e-3))

    assert not explanation.is_attributable
    assert "by 100 % of the profiled change" in explanation.note


def test_a_profiler_may_make_a_step_ten_times_as_long(make):
    """Beyond that no cost of its own is taken out of the change."""
    within, beyond = (
        explain(*pair(make, planted=10e-3), timing=(1e-3, after_s)) for after_s in (2e-3, 1.99e-3)
    )

    assert within.is_attributable
    assert not beyond.is_attributable


def test_a_timing_without_a_length_takes_nothing_out(make):
    assert not explain(*pair(make), timing=(0.0, 0.0)).is_attributable


def test_kernels_that_may_be_the_same_under_other_names_are_a_doubt(make):
    doubtful, clear = explain(*pair(make, kernels=0.6e-3)), explain(*pair(make, kernels=0.4e-3))

    assert doubtful.note == (
        "not attributable from this profile: new and removed kernels without a match cancel out "
        "30 % "
        "of the change: profile both sides again, with input shapes recorded"
    )
    assert clear.is_attributable


def test_kernels_of_a_tool_without_operators_match_only_by_their_names(make):
    base, head = (replace(side, tool="ncu") for side in pair(make, kernels=0.6e-3))

    assert explain(base, head).note.endswith(
        "if they are the same under other names, give them the same names on both sides"
    )


def test_operators_that_came_and_went_are_known_by_their_names(make):
    base = make.profile(make.operation("aten::mm", 10e-3), make.operation("aten::tanh", 2e-3))
    head = make.profile(make.operation("aten::mm", 10e-3), make.operation("aten::sort", 5e-3))

    assert explain(base, head).is_attributable


def test_what_is_open_within_twice_the_noise_of_the_step_does_not_matter(make):
    base, head = pair(make, kernels=0.6e-3)

    explanation = explain(base, head, repeats=louder(base, by=1.02))

    assert explanation.is_attributable


def test_recordings_of_one_length_do_not_show_that_the_code_is_as_fast(make):
    base, head = (replace(make.profile(make.operation("gemm", 1.0)), has_steps=False),) * 2
    kernel = Kernel(name="gemm", family=OperationFamily.GEMM, seconds=1.0, count=1.0)
    sums = replace(base, kernels=(kernel,))

    assert explain(base, head).note.startswith("neither file marks steps, and the recordings are")
    assert explain(make.profile(make.operation("gemm", 1.0)), head).note.endswith("attribute")
    assert explain(sums, sums).note.endswith("nothing to attribute")


@pytest.mark.parametrize(("waits", "is_known"), [(0.5e-3, True), (2e-3, False)])
def test_a_wait_for_xla_without_operations_is_no_cause(make, waits, is_known):
    dot = make.operation("dot", 10e-3)
    idle = make.operation("(XLA runtime)", 1e-3, count=0.0, bucket=Bucket.RUNTIME)
    base = make.profile(dot, idle)
    head = make.profile(
        dot, make.operation("sort", 2e-3), replace(idle, seconds=idle.seconds + waits)
    )

    explanation = explain(base, head)

    assert explanation.is_attributable is is_known
    assert is_known or "none of its operations runs differs by 50 % of the" in explanation.note


@pytest.mark.parametrize(
    ("timed", "words"),
    [
        (13.5e-3, "differs by 80 % of the profiled change"),
        (19.0e-3, "differs by 3.5 times the profiled change"),
        (3840.0e-3, "differs by 1,914 times the profiled change"),
    ],
)
def test_a_multiple_of_the_change_is_no_percentage(make, timed, words):
    explanation = explain(*pair(make), timing=(9.9e-3, timed))

    assert words in explanation.note


@pytest.mark.parametrize(
    ("head_bytes", "count", "is_attributable"),
    [(4e6, 3, False), (None, 3, False), (8e6, 3, True), (4e6, 6, True)],
)
def test_a_collective_that_is_called_as_before_may_wait_for_another_rank(
    make, head_bytes, count, is_attributable
):
    """Larger messages or more calls explain a longer collective; nothing else on one rank does."""
    work = make.operation("aten::mm", 10e-3)
    base, head = (
        replace(
            make.profile(
                work, make.operation("ncclKernel_AllReduce", seconds, calls, bucket=COMMUNICATION)
            ),
            readings=() if size is None else (ProfileReading(name=MESSAGE_BYTES, value=size),),
        )
        for seconds, calls, size in ((2e-3, 3, 4e6), (6e-3, count, head_bytes))
    )

    explanation = explain(base, head)

    assert [cause.name for cause in explanation.causes] == ["ncclKernel_AllReduce"]
    assert explanation.is_attributable is is_attributable
    assert is_attributable or explanation.note == (
        "not attributable from this profile: 100 % of the change is in collectives that are called "
        "as before: they last until the last rank joins, so another rank may be slower; compare "
        "the profiles of all ranks on both sides"
    )


def test_a_longer_collective_beside_a_slower_kernel_leaves_the_kernel_the_cause(make):
    base, head = (
        make.profile(
            make.operation("aten::mm", work),
            make.operation("aten::gelu", 3e-3),
            make.operation("ncclKernel_AllReduce", collective, 3, bucket=COMMUNICATION),
        )
        for work, collective in ((10e-3, 2e-3), (14e-3, 2.5e-3))
    )

    explanation = explain(base, head)

    assert explanation.is_attributable
    assert [cause.name for cause in explanation.causes] == ["aten::mm"]
