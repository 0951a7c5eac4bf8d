"""The reader of traces in this process, in place of the one that the agent starts."""

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from threading import Lock

from perfledger_profiles.__main__ import main
from perfledger_runners.measuring.profile_runs import ReaderError

ONE_AT_A_TIME = Lock()  # what it prints is that of the whole process


def answer_here(arguments, environment, **limits):  # noqa: ARG001 - as where another is started
    """Return what the reader prints; raise ReaderError with its complaint."""
    printed, complaint = StringIO(), StringIO()
    with ONE_AT_A_TIME, redirect_stdout(printed), redirect_stderr(complaint):
        status = main(arguments)
    if status != 0:
        raise ReaderError(complaint.getvalue().strip())
    return printed.getvalue().encode()
