"""Calls of functions in given lines of this file."""

import sys
import threading
from pathlib import Path

import pytest

from perfledger.measuring.call_recorder import CallRecorder

HERE = Path(__file__)


def is_changed():
    return 1


def is_other():
    return 2


def lines_of(function):
    first = function.__code__.co_firstlineno
    return (first, first + 1)


@pytest.fixture
def recorder():
    return CallRecorder(root=HERE.parent, functions={HERE.name: (lines_of(is_changed),)})


def test_a_function_counts_once_however_often_it_is_called(recorder):
    with recorder.recording():
        is_changed()
        is_changed()
        is_other()

    assert recorder.calls == 1


def test_other_functions_and_other_files_do_not_count(recorder):
    with recorder.recording():
        is_other()
        HERE.exists()
    is_changed()  # too late

    assert recorder.calls == 0


def test_threads_that_begin_meanwhile_are_heard(recorder):
    with recorder.recording():
        thread = threading.Thread(target=is_changed)
        thread.start()
        thread.join()

    assert recorder.calls == 1


def test_another_profiler_is_put_back_even_after_an_error(recorder):
    heard = []
    before = sys.getprofile()
    sys.setprofile(lambda *_: heard.append(1))
    another = sys.getprofile()
    try:
        with pytest.raises(KeyError), recorder.recording():
            raise KeyError
        assert sys.getprofile() is another
    finally:
        sys.setprofile(before)
