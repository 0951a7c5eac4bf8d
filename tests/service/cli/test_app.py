import os
import re
import signal
import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app


def test_the_version_is_the_one_of_the_distribution():
    assert CliRunner().invoke(app, ["--version"]).output == f"perfledger {version('perfledger')}\n"


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("perfledger fleet fo", ["forecast"]),
        ("perfledger s", ["server"]),
        ("perfledger plan simulate --sharing m", ["mig"]),
    ],
)
def test_a_shell_completes_groups_commands_and_choices(words, completed):
    shell = {
        "_PERFLEDGER_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }

    done = subprocess.run(
        [sys.executable, "-c", "from perfledger_service.__main__ import main; main()"],
        env=os.environ | shell,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout.split()) == (0, completed)


def test_completion_can_be_shown_and_installed():
    output = CliRunner().invoke(app, ["--help"], prog_name="perfledger").output

    assert re.search(r"--install-completion .*\n  --show-completion ", output)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [(), pytest.param(("--json",), marks=pytest.mark.slow(ci_only=True))]
)
def test_a_result_that_nobody_reads_is_no_regression(options):
    command = ["prices", "list", *options]
    with subprocess.Popen(
        [sys.executable, "-m", "perfledger_service", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        printed = process.stderr.read()

    assert (process.returncode, printed) == (128 + signal.SIGPIPE, b"")
