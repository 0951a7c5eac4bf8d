"""ONNX Runtime: its session, the provider that is wanted, and inputs on a device."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.records import Device
from perfledger.variants.onnx_runtime import onnx_step, write_onnx
from perfledger.variants.transformed_step import FunctionCall


class FakeTensor(SimpleNamespace):
    """A tensor of one number."""

    shape = (1,)
    has_gradient = False
    address = 4096

    def detach(self):
        return FakeTensor(**{**vars(self), "has_gradient": False})

    def contiguous(self):
        return FakeTensor(**{**vars(self), "address": 4096})

    def numpy(self):
        assert not self.has_gradient  # as torch's
        return self.value

    def get_device(self):
        return 1

    def data_ptr(self):
        return self.address

    def new_empty(self, _):
        return self

    def cpu(self):
        return SimpleNamespace(numpy=lambda: SimpleNamespace(dtype=SimpleNamespace(type=float)))


class FakeSession:
    """A session that doubles, with the providers that the test gives it."""

    providers: tuple[str, ...] = ()

    def __init__(self, path, providers):
        self.path, self.provider_choice, self.bound = path, providers, []

    def get_providers(self):
        return list(self.providers)

    def get_inputs(self):
        return [SimpleNamespace(name="x")]

    def get_outputs(self):
        return [SimpleNamespace(name="y")]

    def run(self, _, feed):
        return [2 * feed["x"]]

    def io_binding(self):
        return SimpleNamespace(
            bind_input=lambda **options: self.bound.append(options),
            bind_output=lambda *place: self.bound.append(place),
            get_outputs=lambda: ["on the device"],
        )

    def run_with_iobinding(self, _):
        self.bound.append("run")


@pytest.fixture
def sessions(fake_torch, fake_modules):
    results = []
    runtime = SimpleNamespace()

    def session(path, providers):
        results.append(FakeSession(path, providers))
        return results[-1]

    runtime.InferenceSession = session
    names = ("onnx", "onnxscript")
    fake_modules({"onnxruntime": runtime, **{name: ModuleType(name) for name in names}})
    fake_torch.Tensor = FakeTensor
    return results


def call(torch, *inputs):
    return FunctionCall(torch.nn.Module(), inputs)


def test_without_the_package_it_says_how_to_install_it(fake_torch, fake_modules):
    fake_modules({"onnxruntime": None})

    with pytest.raises(UnmeasurableError, match=r"needs onnxruntime .*: pip install onnxruntime$"):
        onnx_step(fake_torch, call(fake_torch), Device.CPU)
    with pytest.raises(UnmeasurableError, match="pip install onnxruntime-gpu"):
        onnx_step(fake_torch, call(fake_torch), Device.CUDA)


def test_on_a_cpu_the_session_gets_the_inputs(fake_torch, sessions, monkeypatch):
    monkeypatch.setattr(FakeSession, "providers", ("CPUExecutionProvider",))

    tensor = FakeTensor(value=4, has_gradient=True)
    step = onnx_step(fake_torch, call(fake_torch, tensor), Device.CPU)

    assert step.run() == [8]
    assert sessions[0].provider_choice == ["CPUExecutionProvider"]


def test_a_session_that_would_fall_back_to_the_cpu_is_not_available(
    fake_torch, sessions, monkeypatch
):
    monkeypatch.setattr(FakeSession, "providers", ("CPUExecutionProvider",))

    with pytest.raises(UnmeasurableError, match="instead of CUDAExecutionProvider"):
        onnx_step(fake_torch, call(fake_torch, FakeTensor(value=4)), Device.CUDA)
    assert len(sessions) == 1


def test_on_a_device_inputs_and_results_stay_there(fake_torch, sessions, monkeypatch):
    monkeypatch.setattr(FakeSession, "providers", ("CUDAExecutionProvider",))

    strided = FakeTensor(value=4, address=99)
    step = onnx_step(fake_torch, call(fake_torch, strided), Device.CUDA)

    assert step.run() == ["on the device"]
    (session,) = sessions
    assert session.provider_choice == [("CUDAExecutionProvider", {"user_compute_stream": "77"})]
    bound, output, ran = session.bound
    assert (bound["device_id"], bound["buffer_ptr"], bound["shape"]) == (1, 4096, (1,))
    assert (output, ran) == (("y", "cuda"), "run")


@pytest.mark.parametrize("device", [Device.CPU, Device.CUDA])
def test_an_input_that_is_no_tensor_is_refused(fake_torch, sessions, device):
    with pytest.raises(UnmeasurableError, match="takes tensors, and an input is 4"):
        onnx_step(fake_torch, call(fake_torch, 4), device)
    assert sessions == []


def test_a_module_that_the_runtime_cannot_run_says_why(fake_torch, sessions, monkeypatch):
    def refuse(*_, **__):
        msg = "no implementation for Gemm(13)"
        raise RuntimeError(msg)

    monkeypatch.setattr(sys.modules["onnxruntime"], "InferenceSession", refuse)

    with pytest.raises(UnmeasurableError, match=r"cannot run the module .*Gemm\(13\)"):
        onnx_step(fake_torch, call(fake_torch, FakeTensor(value=4)), Device.CPU)
    assert sessions == []


def test_a_module_that_has_no_onnx_says_why(fake_torch, sessions, tmp_path):
    def export(*_, **__):
        msg, cause = "step 1/3", ValueError("aten::odd")
        raise RuntimeError(msg) from cause

    fake_torch.onnx.export = export

    with pytest.raises(UnmeasurableError, match=r"as ONNX .*aten::odd"):
        write_onnx("onnxruntime", fake_torch, call(fake_torch), tmp_path / "m.onnx")
    assert sessions == []
