import os
from pathlib import Path

import pytest

from perfledger_runners.environments.build import BuildError, run_build


@pytest.fixture
def build(tmp_path):
    """Return a function that runs a command in an empty checkout."""
    (tmp_path / "checkout").mkdir()

    def run(command, timeout_s=600.0, **variables):
        run_build(
            command,
            checkout=tmp_path / "checkout",
            environment={"PATH": os.environ["PATH"], **variables},
            log=tmp_path / "log",
            timeout_s=timeout_s,
        )
        return (tmp_path / "log").read_text()

    return run


def test_a_build_runs_in_its_checkout_with_its_variables(build):
    assert build('echo "$GREETING" > made; pwd', GREETING="hello").endswith("/checkout\n")


def test_a_failed_build_says_its_status_and_what_it_printed_last(build):
    with pytest.raises(
        BuildError, match="`echo no compiler >&2; exit 7` failed: exit status 7"
    ) as e:
        build("echo no compiler >&2; exit 7")

    assert e.value.output == "no compiler\n"
    assert not e.value.has_hung


def test_the_kept_output_of_a_talkative_build_is_its_end(build):
    with pytest.raises(BuildError) as caught:
        build("yes x | head -n 100000; echo at last; exit 1")

    assert caught.value.output.endswith("x\nat last\n")
    assert len(caught.value.output) <= 16 * 1024


def test_a_build_that_does_not_end_is_killed_with_its_processes(build, tmp_path):
    daemon = tmp_path / "checkout" / "daemon"
    process = ""
    for limit_s in (0.5, 5, 50, 500):  # a busy machine may not have started the daemon by then
        with pytest.raises(BuildError, match=rf"it did not end within {limit_s} s") as caught:
            build("(setsid sleep 3600 & echo $! > daemon); exec sleep 3600", timeout_s=limit_s)
        assert caught.value.has_hung
        process = daemon.read_text().strip() if daemon.exists() else ""
        if process:
            break

    assert process
    assert "sleep" not in _command(process)


def test_a_build_leaves_no_processes_when_it_succeeds(build, tmp_path):
    build("(setsid sleep 3600 & echo $! > daemon)")

    process = (tmp_path / "checkout" / "daemon").read_text().strip()
    assert "sleep" not in _command(process)


def _command(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""
