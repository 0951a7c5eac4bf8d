"""The pull requests of the demo compute what main computes: a slowdown is not a bug.

Each side is a process of its own, for each has a package named models; torch is imported once, by
the process that they are forked from.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow(ci_only=True), pytest.mark.torch]

COMPUTE = """
import json, os, sys
import torch._dynamo  # the optimizer's: imported once

def outputs(folder):
    sys.path.insert(0, folder)
    from benchmarks.torch_gpt import train_step
    from benchmarks.torch_resnet import inference
    step = train_step("cpu", batch=2, context=16, width=16, heads=2, layers=2)
    logits = inference("cpu", batch=2, size=8, width=4, layers=2)()
    return {"losses": [float(step()) for _ in range(4)], "logits": logits.tolist()}

for folder in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        print(json.dumps(outputs(folder)), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory, examples, demo):
    """What main and the branches slow and innocent compute, in this order."""
    folder = tmp_path_factory.mktemp("sides")
    sides = [shutil.copytree(examples / "repository", folder / "main")]
    for branch in demo.demo_repository.BRANCHES:
        side = shutil.copytree(examples / "repository", folder / branch.name)
        sides.append(shutil.copytree(branch.overlay, side, dirs_exist_ok=True))
    done = subprocess.run(
        (sys.executable, "-P", "-c", COMPUTE, *sides),
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(examples.parent / "runners")},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_slow_branch_learns_the_same(outputs):
    main, slow, _ = (each["losses"] for each in outputs)

    assert slow == pytest.approx(main, rel=1e-5)
    assert main[-1] != main[0]


def test_the_innocent_branch_answers_the_same_to_the_last_bit(outputs):
    main, _, innocent = (each["logits"] for each in outputs)

    assert innocent == main
    assert len(main) == 2
