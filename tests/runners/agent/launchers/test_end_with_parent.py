import os
import subprocess
import sys

from perfledger_runners.launchers.local_processes import END_WITH_PARENT


def start(*words):
    command = [sys.executable, "-I", "-S", str(END_WITH_PARENT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_becomes_the_program_with_its_words_as_they_are():
    done = start(str(os.getpid()), "printf", "%s|", "a b", "$(id)", "-c")

    assert (done.returncode, done.stdout) == (0, "a b|$(id)|-c|")


def test_a_program_that_does_not_start_is_named():
    done = start(str(os.getpid()), "/dev/null")

    assert done.returncode == 127
    assert done.stderr.startswith("/dev/null does not start: ")


def test_without_its_parent_nothing_starts():
    assert start("1", "echo", "started").stdout == ""
