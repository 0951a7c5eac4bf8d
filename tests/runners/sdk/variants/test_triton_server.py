"""Triton's server: what starts it, what is requested, and one that does not start."""

import os
import stat
import sys
from types import ModuleType, SimpleNamespace

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.records import Device
from perfledger.variants.transformed_step import FunctionCall
from perfledger.variants.triton_server import served_step, wait_until_ready


class FakeClient:
    """A client of a server that doubles, and knows one model."""

    kind = "KIND_CPU"

    def __init__(self, url=""):
        self.url, self.is_closed = url, False

    def is_server_ready(self):
        return True

    def is_model_ready(self, name):
        return name == "step"

    def get_model_metadata(self, _):
        return {"inputs": [{"name": "x"}], "outputs": [{"name": "y"}]}

    def get_model_config(self, _):
        return {"instance_group": [{"kind": self.kind}]}

    def infer(self, _, requests):
        return SimpleNamespace(as_numpy=lambda name: (name, 2 * requests[0].value))

    def close(self):
        self.is_closed = True


class FakeInput:
    """An input of a request."""

    def __init__(self, name, shape, kind):
        self.name, self.shape, self.kind = name, shape, kind

    def set_data_from_numpy(self, array):
        self.value = array.value


class Array(SimpleNamespace):
    """A tensor and its array at once."""

    dtype, shape = "float32", (1,)

    def detach(self):
        return self

    contiguous = cpu = numpy = detach


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A program of the server's name, which waits to be ended."""
    program = tmp_path / "tritonserver"
    program.write_text(
        f"#!{sys.executable}\nimport time\nprint('up', flush=True)\ntime.sleep(3600)\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return program


@pytest.fixture
def clients(fake_modules):
    results = []
    package = SimpleNamespace()

    def client(url):
        results.append(FakeClient(url))
        return results[-1]

    package.InferenceServerClient = client
    package.InferInput = FakeInput
    package.np_to_triton_dtype = lambda dtype: f"triton {dtype}"
    parents = ("tritonclient", "onnx", "onnxscript")
    fake_modules({**{name: ModuleType(name) for name in parents}, "tritonclient.http": package})
    return results


def call(torch):
    return FunctionCall(torch.nn.Module(), (Array(value=4),))


def test_without_the_server_it_says_where_it_is(fake_torch, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UnmeasurableError, match=r"needs the program tritonserver: .*nvcr\.io"):
        served_step(fake_torch, call(fake_torch), Device.CPU)


@pytest.mark.usefixtures("server")
def test_without_the_client_it_says_how_to_install_it(fake_torch, fake_modules):
    fake_modules({"tritonclient": None, "tritonclient.http": None})

    with pytest.raises(UnmeasurableError, match=r"pip install tritonclient\[http\]"):
        served_step(fake_torch, call(fake_torch), Device.CPU)


@pytest.mark.usefixtures("server")
def test_a_step_is_a_request_to_a_server_of_its_own(fake_torch, clients):
    step = served_step(fake_torch, call(fake_torch), Device.CPU)

    assert step.run() == [("y", 8)]
    assert step.verify() == ()
    assert clients[0].url.startswith("127.0.0.1:")
    step.close()
    assert clients[0].is_closed


@pytest.mark.usefixtures("server", "clients")
def test_a_server_that_computes_elsewhere_says_so(fake_torch):
    step = served_step(fake_torch, call(fake_torch), Device.CUDA)

    assert step.verify() == ("the server runs it on KIND_CPU",)
    step.close()


def test_a_server_that_ends_at_once_shows_its_log(tmp_path):
    log = tmp_path / "log"
    log.write_text("no backend onnxruntime\n")

    with pytest.raises(UnmeasurableError, match="did not start: no backend onnxruntime"):
        wait_until_ready(FakeClient(), lambda: False, log)


def test_a_server_that_never_gets_ready_is_given_up(tmp_path):
    def refuse():
        raise ConnectionRefusedError

    times = iter([0.0, 1.0, 1000.0])
    pauses = []

    with pytest.raises(UnmeasurableError, match="did not start: no output"):
        wait_until_ready(
            SimpleNamespace(is_server_ready=refuse),
            lambda: True,
            tmp_path / "log",
            clock=lambda: next(times),
            sleep=pauses.append,
        )
    assert len(pauses) == 1
