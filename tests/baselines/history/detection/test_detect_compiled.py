"""With and without a compiler a history is the same, to the last bit."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_baselines.history.detection.detect import detect

pytestmark = pytest.mark.slow

# A series a line in, its history out, by a process that finds no compiler.
PLAIN = """
import json, sys
sys.modules["numba"] = None
from perfledger_baselines.history.detection.detect import detect
for line in sys.stdin:
    print(detect(json.loads(line)), flush=True)
"""


@pytest.fixture(scope="module")
def detect_plainly():
    """Return a function that searches a series in a process without a compiler."""
    with subprocess.Popen(
        [sys.executable, "-c", PLAIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child_input, answers = child.stdin, child.stdout

        def search(values):
            child_input.write(json.dumps(values) + "\n")
            child_input.flush()
            return answers.readline().rstrip("\n")

        yield search


@pytest.mark.slow(ci_only=True)
@settings(deadline=None)
@given(
    seed=st.integers(0, 10_000),
    step=st.tuples(st.integers(4, 200), st.sampled_from([-0.05, -0.01, 0.0, 0.02, 0.1])),
    dependence=st.sampled_from([0.0, 0.6]),
    gap=st.integers(0, 20),
)
def test_numba_changes_no_answer(make, detect_plainly, *, seed, step, dependence, gap):
    pytest.importorskip("numba", reason="numba is not installed: compiled kernels go untested")
    noise = make.noise(step[0] + 60, seed=seed, dependence=dependence)
    values = make.series(noise, [step]).tolist()
    values[5:5] = [float("nan")] * gap

    assert str(detect(values)) == detect_plainly(values)
