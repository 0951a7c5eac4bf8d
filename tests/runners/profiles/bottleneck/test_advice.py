import re
from dataclasses import replace

import pytest

from perfledger.profile import Bucket, Kernel, OperationFamily, ProfiledStep
from perfledger_profiles.bottleneck import (
    any_language_advice,
    copy_advice,
    device_advice,
    host_advice,
)
from perfledger_profiles.bottleneck.advice import (
    Advice,
    AdviceContext,
    first_names,
    name_operations,
    short_name,
)
from perfledger_profiles.bottleneck.classification import (
    Bottleneck,
    BottleneckConfidence,
    BottleneckShare,
    Classification,
)

KERNEL = "void at::native::elementwise_kernel<4, at::native::Add>(int, float)"
WAITING = BottleneckShare(bottleneck=Bottleneck.INPUT, share=0.25, is_high=True, is_moderate=True)


@pytest.fixture
def context(make):
    """Return the context of a step of four seconds, a quarter of which waits for input."""
    return AdviceContext(
        profile=make.profile(
            make.operation("aten::linear", 2.0, path="model/layer"),
            make.operation("load", 1.0, bucket=Bucket.INPUT),
            make.operation(KERNEL, 1.0, 3.0),
        ),
        classification=Classification(
            primary=Bottleneck.INPUT, shares=(WAITING,), confidence=BottleneckConfidence.HIGH
        ),
    )


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (KERNEL, "at::native::elementwise_kernel"),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
        ("(compiling) <lambda>", "(compiling) <lambda>"),
        (
            "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8>(float*)",
            "at::native::cunn_SoftMaxForward",
        ),
        (
            "void at::native::<unnamed>::multi_tensor_apply_kernel<int>(int)",
            "at::native::multi_tensor_apply_kernel",
        ),
        (
            "Cijk_" + "MT64x288_" * 40,
            "Cijk_MT64x288_MT64x288_MT64x288_MT64x288_MT64x288_MT64x288_…",
        ),
    ],
)
def test_a_short_name_has_no_arguments(name, short):
    assert short_name(name) == short


def test_operations_are_named_longest_first_with_all_their_calls(make):
    operations = [make.operation(name, seconds) for seconds, name in enumerate("abcd")]

    assert name_operations(operations) == "d, c and 2 more; 4 calls"
    assert name_operations(operations[:1]) == "a; 1 call"
    assert first_names(operations) == "d, c and 2 more"


def test_the_hosts_operations_are_no_trigger_where_they_do_not_explain_the_step(context):
    host = replace(context.profile.operations[0], bucket=Bucket.CPU)
    profile = replace(context.profile, operations=(host, *context.profile.operations[1:]))

    known_operations, unknown = (
        replace(context, profile=replace(profile, is_host_known=is_known)).matching(re.compile(""))
        for is_known in (True, False)
    )

    assert (len(known_operations), len(unknown)) == (3, 2)
    assert host not in unknown


def test_operations_are_selected_by_path_and_name(context):
    assert [op.name for op in context.matching(re.compile("layer/aten"))] == ["aten::linear"]
    assert [op.name for op in context.select(lambda op: op.bucket is Bucket.INPUT)] == ["load"]


def test_operations_are_selected_by_their_kernels(context):
    kernel = Kernel(name=KERNEL, family=OperationFamily.ELEMENTWISE, seconds=1.0, count=3.0)

    assert [op.name for op in context.of_kernels([kernel])] == [KERNEL]


def test_a_share_is_of_the_step(context, make):
    assert context.share(context.profile.operations[:1]) == 0.5
    assert context.share([make.operation("more than the step", 9.0)]) == 1.0


def test_an_overhead_that_was_not_classified_is_zero(context):
    assert context.overhead(Bottleneck.INPUT) == 0.25
    assert context.overhead(Bottleneck.TRANSFER) == 0.0


@pytest.mark.parametrize(
    ("advice", "share", "seconds"),
    [
        (Advice("load ahead", "if nothing waits"), 0.25, 3.0),
        (Advice("fuse", "if half is saved", saved=0.5), 0.25, 3.5),
        # The device computes in three of four seconds, so no more can run beside it.
        (Advice("overlap", "if it is hidden", is_beside_compute=True), 0.9, 1.0),
    ],
)
def test_an_estimate_is_the_step_without_what_its_assumption_saves(context, advice, share, seconds):
    recommendation = context.recommendation(advice, trigger="a wait", share=share)

    assert recommendation.step_seconds == pytest.approx(seconds)
    assert recommendation.saved_share == pytest.approx(1 - seconds / 4)
    assert recommendation.assumption == advice.assumption


def test_no_estimate_is_longer_than_the_mean_step_that_is_shown(context):
    steps = [ProfiledStep(number=n, seconds=s, buckets=()) for n, s in enumerate((2.0, 5.0, 5.0))]
    profile = replace(context.profile, each_step=tuple(steps))

    recommendation = replace(context, profile=profile).recommendation(
        Advice("load ahead", "if nothing waits", saved=0.1), trigger="a wait", share=0.1
    )

    assert recommendation.step_seconds == pytest.approx(profile.step_seconds * 0.99)


def test_only_jax_profiles_are_xlas(context):
    assert not context.is_jax


@pytest.mark.parametrize(
    "advice",
    [
        pytest.param(each, id=each.text[:30])
        for module in (any_language_advice, copy_advice, device_advice, host_advice)
        for value in vars(module).values()
        for each in (value.values() if isinstance(value, dict) else (value,))
        if isinstance(each, Advice)
    ],
)
def test_an_estimate_saves_what_its_words_assume(advice):
    assumes_half, assumes_tenth = (word in advice.assumption for word in (" half", "tenth"))
    assumes_half |= "halves" in advice.assumption

    assert advice.saved == (0.5 if assumes_half else 0.9 if assumes_tenth else 1.0)
