import shlex
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from perfledger_runners.launchers.command_template import (
    MAX_TEMPLATE_WORD,
    MAX_TEMPLATE_WORDS,
    CommandTemplate,
)
from perfledger_runners.launchers.launcher import LauncherError, Submission

WORDS = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1)


def test_a_template_says_where_the_command_goes(make_submission, tmp_path):
    submission = make_submission(command=("perfledger", "check", "--base=a b"))

    words = ("docker", "run", "--name={name}", "-v{folder}:/src", "{command}")
    assert CommandTemplate.of(words).fill(submission) == [
        "docker",
        "run",
        "--name=perfledger-1",
        f"-v{tmp_path}:/src",
        "perfledger",
        "check",
        "--base=a b",
    ]
    remote = ("ssh", "gpu7", "cd {folder} && {shell_command} > {log}")
    assert CommandTemplate.of(remote).fill(submission)[2] == (
        f"cd {tmp_path} && perfledger check '--base=a b' > {submission.log}"
    )
    assert CommandTemplate.of_cancel(("docker", "kill", "{name}")).fill_name("x") == [
        "docker",
        "kill",
        "x",
    ]


@given(command=WORDS)
def test_no_word_of_a_command_becomes_another_word_or_a_placeholder(command):
    hostile = ["{name}", "$(id)", "; rm -rf /", "{command}", "{log}", *command]
    files = {"folder": Path(), "log": Path("log"), "bundle": Path("bundle")}
    submission = Submission(name="x", command=tuple(hostile), environment={}, **files)

    assert CommandTemplate.of(("run", "{command}")).fill(submission) == ["run", *hostile]
    quoted = CommandTemplate.of(("sh", "-c", "{shell_command}")).fill(submission)[2]
    assert shlex.split(quoted) == hostile


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "names no program"),
        (("", "{command}"), "names no program"),
        (("ssh", "gpu7"), "where the check's command goes"),
        (("ssh", "--{command}"), "stands for several words"),
        (("ssh", "{command}", "{token}"), "unknown {token}"),
        (("ssh", "{command}", "a\0b"), "NUL"),
        (("{command}",) * (MAX_TEMPLATE_WORDS + 1), "put a longer command"),
        (("{command}", "x" * (MAX_TEMPLATE_WORD + 1)), "put a longer command"),
    ],
)
def test_a_template_that_cannot_be_is_refused(words, problem):
    with pytest.raises(LauncherError, match=problem):
        CommandTemplate.of(words)


def test_a_cancel_command_knows_only_the_name():
    with pytest.raises(LauncherError, match=r"`cancel` has an unknown \{bundle\}"):
        CommandTemplate.of_cancel(("rm", "{bundle}"))
