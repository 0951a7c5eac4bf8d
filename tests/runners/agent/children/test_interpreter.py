import sys
from pathlib import Path

import pytest

from perfledger_runners.children.interpreter import InterpreterError, find_python


def fake_python(path, words):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{words}\n")
    path.chmod(0o755)
    return path


def test_the_interpreter_that_runs_perfledger_is_the_last_resort(tmp_path):
    interpreter = find_python(tmp_path)

    assert (interpreter.path, interpreter.version) == (Path(sys.executable), sys.version_info[:3])


def test_a_virtual_environment_in_the_repository_comes_before_it(tmp_path):
    python = fake_python(tmp_path / ".venv" / "bin" / "python", "printf 3.13.1")

    interpreter = find_python(tmp_path)

    assert (interpreter.path, interpreter.version) == (python, (3, 13, 1))


def test_a_link_is_kept_for_it_is_what_makes_a_virtual_environment(tmp_path):
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    link = tmp_path / ".venv" / "bin" / "python"
    link.symlink_to(sys.executable)

    assert find_python(tmp_path).path == link


def test_the_configured_one_comes_first_and_is_below_the_repository(tmp_path):
    fake_python(tmp_path / ".venv" / "bin" / "python", "printf 3.13.1")
    python = fake_python(tmp_path / "tools" / "py", "printf 3.12.0")

    assert find_python(tmp_path, "tools/py").path == python


def test_a_home_folder_that_there_is_not_is_an_answer(tmp_path):
    with pytest.raises(InterpreterError, match="~no-such-user/py names no home folder here: set"):
        find_python(tmp_path, "~no-such-user/py")


def test_one_that_is_too_old_says_so(tmp_path):
    fake_python(tmp_path / "old", "printf 3.10.14")

    with pytest.raises(
        InterpreterError, match=r"old is Python 3.10.14, which is too old.* 3.11 or newer$"
    ):
        find_python(tmp_path, "old")


def test_the_oldest_that_will_do_does(tmp_path):
    fake_python(tmp_path / "py", "printf 3.11.0")

    assert find_python(tmp_path, "py").version == (3, 11, 0)


@pytest.mark.parametrize("words", ["exit 1", "echo hello", "printf 3.12"])
def test_what_is_no_python_is_named_in_the_error(tmp_path, words):
    fake_python(tmp_path / "py", words)

    with pytest.raises(InterpreterError, match="py is not a working Python interpreter"):
        find_python(tmp_path, "py")


def test_a_configured_one_that_is_not_there_is_an_error_not_a_fallback(tmp_path):
    with pytest.raises(InterpreterError, match="No such file"):
        find_python(tmp_path, "nowhere/python")
