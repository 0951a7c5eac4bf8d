"""Runs the tutorial as it is written."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?ms)^```sh\n(.*?)^```$")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.slow(ci_only=True)
def test_the_tutorial_ends_with_a_comment_on_the_regression(tmp_path):
    install, *blocks = BLOCK.findall(TUTORIAL)
    # What pip installs stands in this environment already, and ports may be taken.
    stand_in = next(line for line in install.splitlines() if line.startswith("STAND_IN="))
    script = "\n".join(
        ["set -e -o pipefail", f"cd {ROOT}", stand_in, f"cd {tmp_path}/clone", *blocks]
    )
    for port in ("8901", "8765"):
        script = script.replace(port, free_port())
    (tmp_path / "clone").mkdir()
    identity = {
        f"GIT_{who}_{what}": "a@b.example"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }

    done = subprocess.run(
        ["bash", "-c", script],
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "PERFLEDGER_LOCK_FOLDER": str(tmp_path),
            **identity,
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "benchmarks.example:square_roots" in done.stdout
    comment = done.stdout[done.stdout.index("<!-- perfledger") :]
    # Beside other load the headline leads with CPU time if that grew by less.
    assert re.search(r"`benchmarks\.example:square_roots`(: CPU)?[^\n]* (slower|higher) ", comment)
