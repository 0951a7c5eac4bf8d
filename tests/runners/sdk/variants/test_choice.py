"""The variant of a spec: which steps can be transformed, by whom."""

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.records import Device, FailureReason, Framework, WorkloadSpec
from perfledger.registration.variant_name import VariantKind
from perfledger.variants.choice import transform_step
from perfledger.variants.transformed_step import FunctionCall
from perfledger.workload import PreparedStep

CALL = FunctionCall(abs, (-3,))
OF_TORCH = [kind for kind in VariantKind if kind.framework is Framework.TORCH]


def spec(variant, framework=Framework.TORCH):
    return WorkloadSpec(id="m:f", module="m", function="f", framework=framework, variant=variant)


@pytest.mark.parametrize("step", [CALL, abs, PreparedStep(list, list)])
def test_without_a_variant_any_step_stays_as_it_is(step):
    assert transform_step(spec("", Framework.HOST), step, Device.CPU).step is step


@pytest.mark.parametrize("step", [lambda: 1, PreparedStep(list, list)])
def test_a_step_without_its_inputs_cannot_be_transformed(step):
    with pytest.raises(UnmeasurableError, match=r"return model, \(images,\) instead") as caught:
        transform_step(spec("compile"), step, Device.CPU)

    assert caught.value.reason is FailureReason.NOT_AVAILABLE


@pytest.mark.parametrize(
    ("variant", "framework"),
    [
        ("jit", Framework.TORCH),
        ("compile", Framework.JAX),
        ("cudagraphs", Framework.HOST),
    ],
)
def test_another_frameworks_step_is_not_transformed(variant, framework):
    with pytest.raises(UnmeasurableError, match=f"and this one is of {framework}"):
        transform_step(spec(variant, framework), CALL, Device.CPU)


@pytest.mark.parametrize("kind", OF_TORCH)
def test_each_kind_of_torchs_is_made_or_says_why_not(kind, fake_torch, fake_modules, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("PATH", "")
    fake_modules({"onnxruntime": None, "torch_tensorrt": None})
    loaded = []

    def load(name):
        loaded.append(name)
        return fake_torch

    with pytest.raises(UnmeasurableError, match=f"variant '{kind}'") as caught:
        transform_step(spec(str(kind)), CALL, Device.CPU, load=load)

    assert caught.value.reason is FailureReason.NOT_AVAILABLE
    assert loaded == ["torch"]


def test_a_jitted_step_is_jaxs():
    step = transform_step(spec("jit", Framework.JAX), CALL, Device.CPU)

    assert step.run() == 3
