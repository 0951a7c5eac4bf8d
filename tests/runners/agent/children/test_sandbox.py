"""Sandboxes of children: the default one is Debian's bubblewrap with real namespaces."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from perfledger.measuring.core_use import TOO_SHORT
from perfledger.records import FailureReason
from perfledger_runners.children.child_process import run_request
from perfledger_runners.children.child_variables import child_variables
from perfledger_runners.children.harness import prepare_harness
from perfledger_runners.children.protocol_parser import FailedMessage, RunMessage
from perfledger_runners.children.sandbox import (
    Sandbox,
    SandboxError,
    SandboxPaths,
    exit_status,
    find_sandbox,
)

PYTHON = Path(sys.executable)
PROBE = """
import os, signal, socket, subprocess
from pathlib import Path
def tell(name, act):
    try:
        print(name, act())
    except Exception as error:
        print(name, type(error).__name__)
@perfledger.workload()
def probe():
    here = Path.cwd()
    tell("home", lambda: [*Path.home().glob("secret")])
    tell("own_home", lambda: (Path.home() / "made").write_text("x"))
    tell("git", lambda: [*(here.parent / "theirs" / ".git").glob("*")])
    tell("other", lambda: (here.parent / "other").exists())
    tell("network", lambda: socket.create_connection(("192.0.2.1", 9), 600))
    tell("system", lambda: Path("/etc/perfledger-probe").write_text(""))
    tell("run", lambda: [*Path("/run").iterdir()])
    tell("processes", lambda: len([*Path("/proc").glob("[0-9]*")]) < 5)
    tell("checkout", lambda: (here / "made").write_text("x"))
    tell("temporary", lambda: Path("/tmp/perfledger-made").write_text("x"))
    tell("devices", lambda: (Path("/dev/null").exists(), Path("/dev/mem").exists()))
    def step():
        subprocess.run(["true"])
        return sum(range(10_000))
    return step
@perfledger.workload()
def killed():
    os.kill(os.getpid(), signal.SIGKILL)
@perfledger.workload()
def daemon():
    subprocess.Popen(["sleep", "86387"], start_new_session=True)
    return lambda: None
"""
IDS = tuple(f"benchmarks.odd:{name}" for name in ("probe", "killed", "daemon"))


@pytest.fixture
def sandboxed(bwrap, interpreter):
    """Return a function that prepares a harness with the default sandbox."""
    return partial(prepare_harness, interpreter, sandbox=bwrap.name)


@pytest.fixture
def outcome(tmp_path, sandboxed, write_benchmarks, request_for, users_repository):
    """Run the workloads above in the default sandbox; return the messages and the folder."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret").write_text("canary")
    (tmp_path / "other").mkdir()
    users_repository(tmp_path / "theirs")
    root = write_benchmarks(tmp_path / "checkout", odd=PROBE)
    environment = os.environ | {"HOME": str(home)}
    with sandboxed(environment=environment) as harness:
        messages = tuple(run_request(harness, request_for(root, IDS, is_interleaved=True)))
    return messages, tmp_path


@pytest.mark.slow
def test_a_child_in_the_default_sandbox_sees_its_side_alone_and_is_measured(outcome):
    messages, folder = outcome

    (ended, *_) = [each for each in messages if type(each).__name__ == "ChildExit"]
    answers = dict(line.split(" ", 1) for line in ended.log_tail.splitlines()[:11])
    assert answers == {
        "home": "[]",
        "own_home": "1",
        "git": "[]",
        "other": "False",
        "network": "OSError",
        "system": "OSError",
        "run": "[]",
        "processes": "True",
        "checkout": "1",
        "temporary": "1",
        "devices": "(True, False)",
    }
    assert (folder / "checkout" / "made").read_text() == "x"
    assert not Path("/tmp/perfledger-made").exists()


@pytest.mark.slow
def test_samples_signals_and_daemons_are_as_outside(outcome):
    messages, _ = outcome

    runs = {each.workload: each for each in messages if isinstance(each, RunMessage)}
    failures = {each.workload: each for each in messages if isinstance(each, FailedMessage)}
    assert set(runs) == {IDS[0], IDS[2]}
    run = runs[IDS[0]]
    assert "step_time_p50" in run.samples
    assert ("cpu_time" in run.samples) == (TOO_SHORT not in run.left_out)
    assert failures[IDS[1]].reason is FailureReason.KILLED
    assert failures[IDS[1]].detail.startswith("SIGKILL")
    sleepers = subprocess.run(["pgrep", "-fx", "sleep 86387"], capture_output=True, check=False)
    assert sleepers.stdout == b""


def test_without_a_setting_there_is_no_sandbox():
    assert find_sandbox(" ", PYTHON, {}) is None


def test_a_sandbox_that_is_not_installed_is_named():
    with pytest.raises(SandboxError, match="needs no-such-jail, which is not installed: install"):
        find_sandbox("no-such-jail --all", PYTHON, {})


def test_a_sandbox_that_cannot_run_python_is_refused_with_its_own_words(tmp_path):
    broken = tmp_path / "jail"
    broken.write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    broken.chmod(0o755)

    with pytest.raises(SandboxError, match=r"no namespaces here\): allow unprivileged user"):
        find_sandbox(str(broken), PYTHON, child_variables(os.environ))


def test_an_interpreter_that_does_not_answer_is_refused():
    with pytest.raises(SandboxError, match="does not name its folders"):
        find_sandbox("env", Path("/bin/false"), {})


def test_any_command_can_go_before_the_interpreter(tmp_path):
    sandbox = find_sandbox("env HERE={checkout}", PYTHON, child_variables(os.environ))

    command = sandbox.command(SandboxPaths(private=tmp_path, checkout=Path("/checkout")))

    assert command == ["env", "HERE=/checkout"]


def options(words, kind):
    return [words[at + 1] for at, word in enumerate(words) if word == kind]


def test_the_default_shows_what_is_needed_and_hides_the_rest(tmp_path):
    home, checkout = tmp_path / "home", tmp_path / "checkout"
    (checkout / ".git").mkdir(parents=True)
    home.mkdir()
    sandbox = Sandbox(
        words=("bwrap", "{default}", "--share-net"),
        home=home,
        readable=(home / ".venv", Path("/usr"), home),
    )
    paths = SandboxPaths(
        private=tmp_path / "private",
        checkout=checkout,
        writable=(tmp_path / "traces",),
        readable=(home / "sdk",),
        hidden=(checkout / ".git", home / "absent"),
    )

    words = sandbox.command(paths)

    assert (words[0], words[-1]) == ("bwrap", "--share-net")
    assert options(words, "--ro-bind") == ["/", str(home / ".venv"), str(home / "sdk")]
    assert options(words, "--bind")[-2:] == [str(checkout), str(tmp_path / "traces")]
    assert options(words, "--tmpfs")[-1] == str(checkout / ".git")
    assert options(words, "--chdir") == [str(checkout)]
    assert (tmp_path / "private" / "home").is_dir()
    other = sandbox.command(replace(paths, private=tmp_path / "other"))
    assert options(other, "--bind")[:2] == [
        str(tmp_path / "other" / each)
        for each in ("tmp", "home")  # home is below the other
    ]


@pytest.mark.parametrize(
    ("status", "expected"), [(0, 0), (3, 3), (137, -9), (139, -11), (-9, -9), (255, 255)]
)
def test_a_signal_is_a_signal_also_if_the_sandbox_reports_it(status, expected):
    assert exit_status(status) == expected


@pytest.mark.slow
@pytest.mark.parametrize("home", ["/", "/no/such/home", "/usr/../usr/share"])
def test_python_runs_whatever_the_home_folder_is(home, bwrap):
    assert find_sandbox(bwrap.name, PYTHON, {"PATH": os.environ["PATH"], "HOME": home})


def test_a_home_folder_behind_a_link_is_hidden_where_it_is(tmp_path):
    home, link = tmp_path / "disk" / "home", tmp_path / "link"
    home.mkdir(parents=True)
    link.symlink_to(home)
    sandbox = Sandbox(words=("{default}",), home=link, readable=(link / ".venv",))

    words = sandbox.command(SandboxPaths(private=tmp_path / "private", checkout=link / "checkout"))

    assert words[words.index(str(tmp_path / "private" / "home")) + 1] == str(home)
    assert options(words, "--ro-bind") == ["/", str(home / ".venv")]
    assert options(words, "--bind")[-1] == str(home / "checkout")
