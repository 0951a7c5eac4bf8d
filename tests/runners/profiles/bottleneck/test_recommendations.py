"""Which evidence asks for which advice; the profiles are made of bare operations."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import (
    Bucket,
    OperationFamily,
    ProfiledDevice,
)
from perfledger_profiles.bottleneck import device_advice, host_advice
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.bottleneck.recommendations import recommendations
from tests.runners.profiles.bottleneck.example_steps import advice, kernel, op, step, texts


def test_without_a_trigger_there_is_nothing_to_say():
    assert advice(step()) == ()


def test_advice_has_its_evidence_and_an_estimate_with_its_assumption():
    (found_advice,) = advice(step(op("enumerate(DataLoader)#x", 0.331, Bucket.INPUT)))

    assert found_advice.trigger == "33 % of the step waits for input"
    assert found_advice.share == pytest.approx(0.331)
    assert found_advice.step_seconds == pytest.approx(0.669)
    assert found_advice.assumption == "if every batch is ready when its step begins"


def test_an_estimate_is_of_the_step_that_was_timed_without_a_profiler():
    waiting = step(op("enumerate(DataLoader)#x", 0.331, Bucket.INPUT))

    (recommendation,) = recommendations(waiting, classify(waiting), timed_seconds=0.5)

    assert recommendation.saved_share == pytest.approx(0.331)
    assert recommendation.step_seconds == pytest.approx(0.5 * 0.669)


def test_what_could_bring_the_most_comes_first():
    found_advice = advice(
        step(
            op("cudaStreamSynchronize", 0.1, Bucket.SYNC),
            op("load", 0.3, Bucket.INPUT),
            op("(outside operations)", 0.2, Bucket.OTHER),
        ),
    )

    assert [advice.saved_share for advice in found_advice] == sorted(
        (advice.saved_share for advice in found_advice), reverse=True
    )
    assert found_advice[0].text == host_advice.PREFETCH.text


def test_xla_has_its_own_words():
    traced = step(op("(tracing) <lambda>", 0.2, Bucket.RUNTIME), tool="jax.profiler")

    (found_advice,) = advice(traced)

    assert found_advice.text == host_advice.RETRACE.text
    assert "(tracing) <lambda>; 1 call" in found_advice.trigger


def test_the_device_that_the_profile_states_is_looked_up():
    gemm = kernel("gemm", OperationFamily.GEMM, is_tensor=False)
    profile = step(op("gemm", 0.5), kernels=(gemm,))
    stated = replace(profile, device=ProfiledDevice(name="Tesla T4"))

    assert texts(stated) == [device_advice.TENSOR_CORES_HALF.text]


def test_a_disturbed_machine_gets_no_advice_on_the_code():
    profile = step(op("load", 0.5, Bucket.INPUT))

    classification = classify(profile, environment=("shared with another process",))

    assert classification.primary is Bottleneck.ENVIRONMENT
    assert recommendations(profile, classification) == ()


def test_a_step_of_no_time_gets_no_advice():
    assert advice(replace(step(), step_seconds=0.0, operations=())) == ()


@pytest.mark.slow(ci_only=True)
@given(
    st.lists(
        st.builds(
            op,
            st.text(max_size=20),
            st.floats(0, 10),
            st.sampled_from(Bucket),
            path=st.text(max_size=20),
            shapes=st.text(max_size=20),
            count=st.floats(0, 1e6),
        ),
        max_size=8,
    )
)
def test_every_estimate_is_between_nothing_and_the_step(operations):
    total = sum(operation.seconds for operation in operations)
    profile = replace(step(), operations=tuple(operations), step_seconds=total)

    for found_advice in advice(profile):
        assert 0 <= found_advice.share <= 1
        assert 0 <= found_advice.step_seconds <= total
        assert found_advice.text
        assert found_advice.trigger
        assert found_advice.assumption.startswith("if ")


def test_advice_that_would_save_nothing_is_not_given():
    copies = op("Memcpy HtoD (Pageable -> Device)", 0.999, Bucket.COPY)

    assert advice(step(copies)) == ()
