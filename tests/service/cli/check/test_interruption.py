import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
import typer

from perfledger_service.cli.check.interruption import interruptible


def interrupt(number, *, note="", arguments=("check", "--base", "a b", "--resume")):
    """Send this process a signal inside the context, and return the exit code."""
    with pytest.raises(typer.Exit) as raised, interruptible(arguments):
        _work_and_clean_up(number, note)
    return raised.value.exit_code


def _work_and_clean_up(number, note):
    try:
        os.kill(os.getpid(), number)
    except BaseException as error:
        if note:
            error.add_note(note)
        os.kill(os.getpid(), number)  # a second signal does not disturb the first one's work
        raise


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_the_shells_code(number, capsys):
    before = signal.getsignal(number)

    code = interrupt(number)

    assert code == 128 + number
    assert capsys.readouterr().err == f"perfledger: ended by {signal.Signals(number).name}\n"
    assert signal.getsignal(number) is before


def test_what_is_saved_is_told_with_the_command_that_goes_on(capsys):
    interrupt(signal.SIGTERM, note="3 pairs are saved")

    assert capsys.readouterr().err.splitlines()[1] == (
        "3 pairs are saved; go on with them: perfledger check --base 'a b' --resume"
    )


def test_other_errors_pass():
    with pytest.raises(KeyError), interruptible(()):
        raise KeyError


def test_a_thread_that_cannot_handle_signals_runs_as_before(in_thread):
    def run():
        with interruptible(()):
            return signal.getsignal(signal.SIGTERM)

    assert in_thread(run) is signal.getsignal(signal.SIGTERM)


@pytest.fixture
def in_thread():
    with ThreadPoolExecutor(1) as pool:
        yield lambda function: pool.submit(function).result()
