"""Ends a command cleanly when it is interrupted, and says how to go on."""

import shlex
import signal
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType

import typer

SIGNALS = (signal.SIGINT, signal.SIGTERM)
EXIT_CODE_BASE = 128  # a shell's exit code of a process that a signal ended


class Interruption(KeyboardInterrupt):
    """A signal that asks the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def interruptible(arguments: Sequence[str]) -> Generator[None]:
    """Turn SIGINT and SIGTERM into an exit that stops children and removes checkouts first.

    A second signal is ignored meanwhile: SIGKILL is the one that does not wait. `arguments` are the
    command's own, to go on with where something is saved.
    """
    if threading.current_thread() is not threading.main_thread():  # signals cannot be handled there
        yield
        return
    handlers = {number: signal.signal(number, _interrupt) for number in SIGNALS}
    try:
        yield
    except Interruption as error:
        typer.echo(f"perfledger: ended by {error}", err=True)
        notes: Sequence[str] = getattr(error, "__notes__", ())
        for note in notes:
            options = [each for each in arguments if each != "--resume"]
            again = shlex.join(["perfledger", *options, "--resume"])
            typer.echo(f"{note}; go on with them: {again}", err=True)
        raise typer.Exit(EXIT_CODE_BASE + error.number) from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's signature
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Interruption(number)
