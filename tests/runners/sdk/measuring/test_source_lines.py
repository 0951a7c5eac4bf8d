"""Tracebacks read no file; whatever takes its text does."""

import inspect
import linecache
import os
import traceback

import pytest

from perfledger.measuring.source_lines import keep_lines
from perfledger.process.loaded_packages import PackageRecorder

SOURCE = "import traceback\n\n\ndef stack():\n    return traceback.format_stack()\n"


@pytest.fixture
def module(tmp_path, unread):
    path = tmp_path / "watched.py"
    path.write_text(SOURCE)
    code = compile(SOURCE, str(path), "exec")
    unread(path)
    keep_lines(tmp_path, ["watched.py", "missing.py"])
    names = {"__name__": "watched"}
    exec(code, names)
    yield path, names["stack"]
    linecache.cache.pop(str(path), None)


@pytest.fixture
def unread():
    """Return a function that makes a file one that was never read."""
    return lambda path: os.utime(path, ns=(0, path.stat().st_mtime_ns))


def is_read(path):
    return path.stat().st_atime_ns != 0


def test_a_traceback_has_the_line_and_reads_no_file(module):
    path, stack = module

    assert "return traceback.format_stack()" in stack()[-1]
    assert "def stack" in linecache.getline(str(path), 4)
    assert not is_read(path)


@pytest.mark.parametrize(
    "take",
    [
        lambda _, stack: inspect.getsource(stack),
        lambda path, _: "".join(linecache.getlines(str(path))),
        lambda path, _: linecache.getlines(str(path))[1:],
        lambda path, _: list(linecache.getlines(str(path))),
        lambda path, _: path.read_text(),
    ],
    ids=["getsource", "join", "slice", "list", "file"],
)
def test_the_text_of_a_file_is_read(module, take):
    path, stack = module

    assert "".join(take(path, stack)) in SOURCE
    assert is_read(path)


def test_a_file_that_is_no_source_is_not_kept(tmp_path):
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\0")

    keep_lines(tmp_path, ["binary.py"])

    assert traceback.format_exc()


def test_the_digest_of_a_module_leaves_no_trace(module, tmp_path):
    path, _ = module
    recorder = PackageRecorder((), own_folders=[tmp_path], repository=tmp_path)

    assert recorder._digest(str(path))
    assert not is_read(path)
