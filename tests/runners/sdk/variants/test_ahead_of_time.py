"""AOTInductor: a module that is exported and compiled, and what cannot be."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.records import Device
from perfledger.variants.ahead_of_time import aot_step, exported_program
from perfledger.variants.transformed_step import FunctionCall


@pytest.fixture
def exporting_torch(fake_torch):
    def compile_package(program, *, package_path):
        Path(package_path).write_text(program)
        return package_path

    fake_torch.export = SimpleNamespace(export=lambda module, inputs: f"{inputs}")  # noqa: ARG005
    fake_torch._inductor = SimpleNamespace(
        aoti_compile_and_package=compile_package,
        aoti_load_package=lambda path: lambda value: (value, path),
    )
    return fake_torch


def test_the_step_calls_the_package_and_its_folder_goes_with_it(exporting_torch):
    step = aot_step(exporting_torch, FunctionCall(exporting_torch.nn.Module(), (3,)), Device.CUDA)

    value, path = cast("tuple[int, str]", step.run())
    assert (value, Path(path).read_text()) == (3, "(3,)")
    step.close()
    assert not Path(path).parent.exists()


def test_a_function_is_not_exported(exporting_torch):
    with pytest.raises(UnmeasurableError, match=r"exports a torch\.nn\.Module"):
        aot_step(exporting_torch, FunctionCall(abs, (3,)), Device.CPU)


def test_an_old_torch_is_named(fake_torch):
    with pytest.raises(UnmeasurableError, match=r"needs torch 2\.6 or later, and this is 2\.5\.1"):
        aot_step(fake_torch, FunctionCall(fake_torch.nn.Module(), (3,)), Device.CPU)


def test_a_module_that_cannot_be_exported_says_why(exporting_torch):
    def export(*_):
        msg = "a branch on a value"
        raise ValueError(msg)

    exporting_torch.export.export = export

    with pytest.raises(UnmeasurableError, match=r"cannot export the module.*a branch on a value"):
        exported_program("aotinductor", exporting_torch, None, FunctionCall(abs, (3,)))
