"""Ends a command cleanly when it is interrupted, and says how to continue."""

import os
import shlex
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType

import typer

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EXIT_CODE_BASE = 128  # a shell's exit code for a process that was ended by a signal


class Interruption(KeyboardInterrupt):
    """Signal that asks the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def interruptible(arguments: Sequence[str] = ()) -> Generator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into an exit that stops children and removes checkouts.

    A second signal is ignored during the exit; only SIGKILL does not wait. A signal that was
    ignored before, as under nohup, stays ignored. `arguments` are the command's own; they are shown
    for continuing if something was saved.
    """
    if threading.current_thread() is not threading.main_thread():  # signals cannot be handled there
        yield
        return
    terminals = [stream.fileno() for stream in (sys.stdout, sys.stderr) if stream.isatty()]

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - their signature
        for each in handlers:
            signal.signal(each, signal.SIG_IGN)
        _leave_closed(terminals)
        raise Interruption(number)

    handlers = {
        number: handler
        for number in SIGNALS
        if (handler := signal.getsignal(number)) is not signal.SIG_IGN
    }
    for number in handlers:
        signal.signal(number, interrupt)
    try:
        yield
    except Interruption as error:
        typer.echo(f"perfledger: ended by {error}", err=True)
        notes: Sequence[str] = getattr(error, "__notes__", ())
        for note in notes:
            options = [each for each in arguments if each != "--resume"]
            again = shlex.join(["perfledger", *options, "--resume"])
            typer.echo(f"{note}; to continue with them: {again}", err=True)
        raise typer.Exit(EXIT_CODE_BASE + error.number) from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _leave_closed(terminals: Sequence[int]) -> None:
    """Discard what is written to a terminal that was closed: writing would be an error."""
    for descriptor in terminals:
        if not os.isatty(descriptor):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, descriptor)
            os.close(null)
