import errno
import importlib
import socket
import sys
from pathlib import Path

import pytest

from perfledger.failure_reason import (
    UnmeasurableError,
    detail_of,
    failure_reason,
    text_of,
)
from perfledger.records import FailureReason


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError


class OutOfMemoryError(RuntimeError):  # torch's is a RuntimeError too
    pass


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), FailureReason.OUT_OF_MEMORY),
        (
            OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
            FailureReason.OUT_OF_MEMORY,
        ),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating"), FailureReason.OUT_OF_MEMORY),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), FailureReason.OUT_OF_MEMORY),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), FailureReason.OUT_OF_MEMORY),
        (OSError(errno.ENOENT, "No such file"), FailureReason.RAISED),
        (RuntimeError("boom"), FailureReason.RAISED),
        (ValueError("out of memory"), FailureReason.RAISED),
        (SystemExit(0), FailureReason.RAISED),
        (KeyboardInterrupt(), FailureReason.RAISED),
        (UnmeasurableError(FailureReason.NO_DEVICE, "no GPU"), FailureReason.NO_DEVICE),
    ],
)
def test_what_was_raised_stands_for_a_reason(error, expected):
    assert failure_reason(error) is expected


def raised(error):
    try:
        raise error
    except type(error) as caught:
        return caught


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other locks")
def test_a_lock_that_another_process_has_is_in_use(tmp_path):
    fcntl = importlib.import_module("fcntl")
    with (tmp_path / "lock").open("w") as one, (tmp_path / "lock").open("w") as other:
        fcntl.flock(one, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError) as caught:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    assert failure_reason(caught.value) is FailureReason.IN_USE


def test_a_socket_without_data_is_not_in_use():
    one, other = socket.socketpair()
    with one, other:
        one.setblocking(False)
        with pytest.raises(BlockingIOError) as caught:
            one.recv(1)

        with pytest.raises(BlockingIOError) as of_block:
            one.recv(len("block"))

    assert failure_reason(caught.value) is FailureReason.RAISED
    assert failure_reason(of_block.value) is FailureReason.RAISED
    # As of a fork without a free process.
    assert failure_reason(raised(BlockingIOError(errno.EAGAIN, "try"))) is FailureReason.RAISED
    assert failure_reason(BlockingIOError()) is FailureReason.RAISED


def test_the_detail_says_what_and_where_in_the_users_code():
    detail = detail_of(raised(ValueError("boom")), root=Path(__file__).parent)

    assert detail.startswith("ValueError: boom (test_failure_reason.py:")


def test_a_place_outside_of_the_users_code_is_left_out():
    assert detail_of(raised(ValueError("boom")), root=Path("/elsewhere")) == "ValueError: boom"


def test_an_error_without_words_is_its_name():
    assert detail_of(KeyboardInterrupt(), root=Path("/")) == "KeyboardInterrupt"


def test_the_harness_speaks_for_itself():
    error = UnmeasurableError(FailureReason.NO_DEVICE, "no GPU")

    assert detail_of(error, root=Path("/")) == str(error) == "no GPU"


def test_the_folder_of_the_checkout_is_left_out_of_the_words():
    error = OSError("no such file: /tmp/x/head/data/a.bin")

    assert detail_of(error, root=Path("/tmp/x/head")) == "OSError: no such file: data/a.bin"


def test_a_long_text_is_cut():
    assert len(detail_of(ValueError("x" * 10_000), root=Path("/r"))) == 2000


def test_an_error_that_cannot_say_its_words_is_still_an_answer():
    assert text_of(MuteError()) == "(its text is not available)"
