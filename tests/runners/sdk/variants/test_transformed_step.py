"""Steps of variants, and the errors of those that cannot be made."""

from types import SimpleNamespace

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.records import FailureReason
from perfledger.variants.transformed_step import (
    FunctionCall,
    TransformedStep,
    load_package,
    require_cxx,
    require_module,
    unavailable,
)


def test_a_call_calls_its_function_with_its_inputs():
    assert FunctionCall(max, (1, 3, 2))() == 3


def test_a_step_as_it_is_written_has_no_remarks_and_nothing_to_close():
    step = TransformedStep(step=lambda: 1)

    assert step.verify() == ()
    step.close()


def test_what_is_unavailable_says_which_variant_why_and_what_to_do():
    error = unavailable("jit", "needs jax", "pip install jax")

    assert error.reason is FailureReason.NOT_AVAILABLE
    assert error.detail == "variant 'jit' needs jax: pip install jax"


def test_a_package_that_is_not_installed_is_named_with_how_to_install_it():
    with pytest.raises(UnmeasurableError) as caught:
        load_package("tensorrt", "no_such_package.sub", package="no-such-package")

    expected = "variant 'tensorrt' needs no-such-package (not installed): pip install"
    assert caught.value.detail == f"{expected} no-such-package"


def test_a_package_that_does_not_import_says_why(fake_modules):
    fake_modules({"json.gone": None})

    with pytest.raises(UnmeasurableError, match=r"needs json \(cannot import: .*json\.gone"):
        load_package("x", "json.gone", package="json")


@pytest.mark.parametrize("command", ["no-such-compiler", "no-such-compiler -O3"])
def test_a_missing_compiler_is_named(command):
    with pytest.raises(UnmeasurableError, match="no 'no-such-compiler"):
        require_cxx("compile", {"CXX": command})


def test_a_compiler_with_options_is_found():
    require_cxx("compile", {"CXX": "python3 -O3"})


def test_only_a_module_can_be_exported(fake_torch):
    module = fake_torch.nn.Module()

    assert require_module("aotinductor", fake_torch, FunctionCall(module, ())) is module
    with pytest.raises(UnmeasurableError, match=r"exports a torch\.nn\.Module"):
        require_module("aotinductor", fake_torch, FunctionCall(SimpleNamespace, ()))
