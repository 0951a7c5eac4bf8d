"""Tests which errors of other packages users see as theirs, and which stay bugs."""

import pytest

from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_runners.bundles.service_requests import ServiceRequestError
from perfledger_runners.bundles.upload import UploadError
from perfledger_runners.checkouts.repository import NotARepositoryError
from perfledger_runners.children.interpreter import InterpreterError
from perfledger_runners.children.sandbox import SandboxError
from perfledger_service.errors import NotFoundError, NotMeasuredError, PerfledgerError, UsageError
from perfledger_service.usecases.inputs import error_translation
from perfledger_service.usecases.inputs.error_translation import translate_errors

FOREIGN_ERRORS = [
    value
    for value in vars(error_translation).values()
    if isinstance(value, type) and issubclass(value, Exception)
    if not value.__module__.startswith("perfledger_service")
]
SERVICE_ERRORS = [ServiceRequestError, UploadError]
START_ERRORS = [InterpreterError, SandboxError]
OTHER_ERRORS = {*START_ERRORS, *SERVICE_ERRORS, PriceMissingError}
INPUT_ERRORS = [error for error in FOREIGN_ERRORS if error not in OTHER_ERRORS]
INPUT_ERRORS.append(NotARepositoryError)


def translation(error):
    """Return what leaves the block that an error is raised in."""
    with pytest.raises(Exception) as caught, translate_errors():  # noqa: PT011 - any of them
        raise error
    return caught.value


@pytest.mark.parametrize("kind", INPUT_ERRORS, ids=lambda kind: kind.__name__)
def test_invalid_input_is_a_usage_error_with_the_same_message(kind):
    error = kind.__new__(kind, "row 3 has no price")

    caught_error = translation(error)

    assert type(caught_error) is UsageError
    assert (str(caught_error), caught_error.exit_code, caught_error.__cause__) == (
        "row 3 has no price",
        2,
        error,
    )


@pytest.mark.parametrize("kind", START_ERRORS)
def test_without_an_interpreter_or_its_sandbox_nothing_was_measured(kind):
    caught_error = translation(kind("no Python at /venv"))

    assert type(caught_error) is NotMeasuredError
    assert (str(caught_error), caught_error.exit_code) == ("not measured: no Python at /venv", 3)


@pytest.mark.parametrize("kind", SERVICE_ERRORS)
def test_a_service_that_fails_is_not_the_users_mistake(kind):
    caught_error = translation(kind("the service answered 503"))

    assert type(caught_error) is PerfledgerError
    assert (str(caught_error), caught_error.exit_code) == ("the service answered 503", 4)


@pytest.mark.parametrize("error", [NotFoundError("no file"), ValueError("a bug"), KeyError("a")])
def test_our_own_errors_and_bugs_pass(error):
    assert translation(error) is error


def test_a_block_without_an_error_is_left_alone():
    with translate_errors():
        value = 1

    assert value == 1


def test_a_missing_price_is_not_found():
    caught_error = translation(PriceMissingError("p9/on_demand", "ours", "add it"))

    assert type(caught_error) is NotFoundError
    assert str(caught_error) == "no price for 'p9/on_demand' on sheet 'ours': add it"
