import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import typer

from perfledger_service.cli.interruption import interruptible


@pytest.fixture(autouse=True)
def as_in_a_terminal():
    """Nothing is ignored, as it is where the tests run in the background or under nohup."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_DFL) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_the_shells_code(number, capsys):
    before = signal.getsignal(number)

    code = interrupt(number)

    assert code == 128 + number
    assert capsys.readouterr().err == f"perfledger: ended by {signal.Signals(number).name}\n"
    assert signal.getsignal(number) is before


def test_what_is_saved_is_told_with_the_command_that_goes_on(capsys):
    interrupt(signal.SIGTERM, note="3 pairs are saved")

    assert capsys.readouterr().err.splitlines()[1] == (
        "3 pairs are saved; to continue with them: perfledger check --base 'a b' --resume"
    )


def test_a_signal_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible(()):
            os.kill(os.getpid(), signal.SIGHUP)

        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


# Leads a session, takes its standard error as terminal, and writes there until it is closed.
ON_A_TERMINAL = """
import fcntl, signal, sys, termios, typer
from perfledger_service.cli.interruption import interruptible
fcntl.ioctl(2, termios.TIOCSCTTY, 0)
try:
    with interruptible(()):
        try:
            print("ready", flush=True)
            signal.pause()
        finally:
            print("cleaning up", file=sys.stderr, flush=True)
            print("clean", flush=True)
except typer.Exit as exit:
    sys.exit(exit.exit_code)
"""


@pytest.mark.slow
def test_a_terminal_that_is_closed_ends_it_cleanly():
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL],
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
        text=True,
    ) as process:
        os.close(theirs)
        assert process.stdout.readline() == "ready\n"
        os.close(ours)

        assert process.stdout.read() == "clean\n"
    assert process.returncode == 128 + signal.SIGHUP


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
