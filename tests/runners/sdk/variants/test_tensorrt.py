"""TensorRT: which parts of a module are engines, and what it needs."""

from types import SimpleNamespace

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.records import Device
from perfledger.variants.tensorrt import tensorrt_step
from perfledger.variants.transformed_step import FunctionCall


class FakeCompiled:
    """A compiled module with parts of these names."""

    def __init__(self, *parts):
        self.parts = parts

    def named_children(self):
        return [(part, None) for part in self.parts]

    def __call__(self, value):
        return 3 * value


@pytest.fixture
def compile_to(fake_torch, fake_modules):
    def make(compiled):
        def compile_module(*_, **__):
            if isinstance(compiled, Exception):
                raise compiled
            return compiled

        fake_modules({"torch_tensorrt": SimpleNamespace(compile=compile_module)})
        return tensorrt_step(fake_torch, FunctionCall(fake_torch.nn.Module(), (2,)), Device.CUDA)

    return make


def test_a_cpu_has_no_tensorrt(fake_torch):
    with pytest.raises(UnmeasurableError, match="needs a CUDA device"):
        tensorrt_step(fake_torch, FunctionCall(abs, (2,)), Device.CPU)


def test_without_the_package_it_says_how_to_install_it(fake_torch, fake_modules):
    fake_modules({"torch_tensorrt": None})

    with pytest.raises(UnmeasurableError, match="pip install torch-tensorrt"):
        tensorrt_step(fake_torch, FunctionCall(fake_torch.nn.Module(), (2,)), Device.CUDA)


def test_a_module_in_one_engine_has_no_remarks(compile_to):
    step = compile_to(FakeCompiled("_run_on_acc_0"))

    assert (step.run(), step.verify()) == (6, ())


def test_parts_outside_of_engines_are_counted(compile_to):
    step = compile_to(FakeCompiled("_run_on_acc_0", "_run_on_gpu_1", "_run_on_gpu_2"))

    assert step.verify() == ("parts of the module that run in torch: 2",)


def test_a_module_without_an_engine_ran_in_torch_alone(compile_to):
    with pytest.raises(UnmeasurableError, match="built no engine"):
        compile_to(FakeCompiled("_run_on_gpu_0"))


def test_a_module_that_it_cannot_compile_says_why(compile_to):
    with pytest.raises(UnmeasurableError, match=r"cannot compile the module.*no converter"):
        compile_to(RuntimeError("no converter"))


def test_only_a_module_is_compiled(fake_torch, fake_modules):
    fake_modules({"torch_tensorrt": SimpleNamespace()})

    with pytest.raises(UnmeasurableError, match=r"exports a torch\.nn\.Module"):
        tensorrt_step(fake_torch, FunctionCall(abs, (2,)), Device.CUDA)
