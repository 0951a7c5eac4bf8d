"""The pull requests of the demo compute what main computes: a slowdown is not a bug.

Each side is a real child process, for both have a package named models.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.torch]

GPT_LOSSES = """
import json, torch
from benchmarks.torch_gpt import train_step
step = train_step("cpu", batch=2, context=16, width=16, heads=2, layers=2)
print(json.dumps([float(step()) for _ in range(4)]))
"""
RESNET_LOGITS = """
import json, torch
from benchmarks.torch_resnet import inference
print(json.dumps(inference("cpu", batch=2, size=8, width=4, layers=2)().tolist()))
"""


@pytest.fixture
def outputs(tmp_path, examples):
    """Run a script on main and on a branch's files; return what each printed."""

    def run(script, branch):
        folder = tmp_path / branch.name
        shutil.copytree(examples / "repository", folder)
        before = _printed(script, folder, examples)
        shutil.copytree(branch.overlay, folder, dirs_exist_ok=True)
        return before, _printed(script, folder, examples)

    return run


def _printed(script, folder, examples):
    paths = os.pathsep.join((str(folder), str(examples.parent / "runners")))
    done = subprocess.run(
        (sys.executable, "-P", "-c", script),
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return json.loads(done.stdout)


def test_the_slow_branch_learns_the_same(outputs, demo):
    slow, _ = demo.demo_repository.BRANCHES

    before, after = outputs(GPT_LOSSES, slow)

    assert after == pytest.approx(before, rel=1e-5)
    assert before[-1] != before[0]


def test_the_innocent_branch_answers_the_same_to_the_last_bit(outputs, demo):
    _, innocent = demo.demo_repository.BRANCHES

    before, after = outputs(RESNET_LOGITS, innocent)

    assert after == before
    assert len(before) == 2
