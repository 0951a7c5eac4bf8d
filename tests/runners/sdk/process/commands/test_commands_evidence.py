"""What a run says of its step's result and time."""

import pytest

from perfledger.protocol import Command

HEADER = "import perfledger\n"
BUSY = """
import time
import perfledger
@perfledger.workload()
def busy():
    def step():
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass
    return step
"""


def workload(body, *, name="work", arguments=""):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{HEADER}@perfledger.workload({arguments})\ndef {name}():\n{lines}\n"


CHECKED = workload(
    "return lambda: {'loss': 1.5, 'steps': [1, 2]}",
    arguments="check=lambda result: result, check_tolerance=0.01",
)


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        pytest.param(
            CHECKED,
            {
                "result": "finite",
                "answer": {"loss": 1.5, "steps.0": 1, "steps.1": 2},
                "tolerance": 0.01,
            },
            id="its own check answers",
        ),
        pytest.param(workload("return lambda: float('nan')"), {"result": "not finite"}, id="NaN"),
        pytest.param(
            workload("return lambda: (x for x in ())"), {"result": "not ready"}, id="lazy"
        ),
        pytest.param(workload("return lambda: None"), {"result": "", "answer": {}}, id="nothing"),
    ],
)
def test_a_run_says_what_its_step_returned(write, send_command, text, evidence):
    answer = send_command(write({"benchmarks/work.py": text}), Command.MEASURE)

    (run,) = answer.of("run")
    assert evidence.items() <= run["evidence"].items()
    assert run["evidence"]["steps_per_reading"] >= 1
    assert run["evidence"]["empty_step_s"] > 0


@pytest.mark.torch
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return lambda: torch.ones(3, device='meta')", id="meta device"),
        pytest.param(
            "layer = torch.nn.Linear(2, 2, device='meta')\n"
            "return lambda: {'loss': 1.0, 'weight': layer.weight}",
            id="beside a number",
        ),
        pytest.param(
            "from torch._subclasses.fake_tensor import FakeTensorMode\n"
            "def step():\n    with FakeTensorMode():\n        return torch.ones(3)\nreturn step",
            id="fake tensor",
        ),
        pytest.param(
            "import jax\nreturn lambda: jax.eval_shape(abs, jax.ShapeDtypeStruct((3,), 'float32'))",
            id="JAX, which only traces",
        ),
    ],
)
def test_a_tensor_that_has_a_shape_alone_has_no_data(write, run_child, body):
    root = write({"bench.py": "import torch\n" + workload(body, arguments="framework='host'")})

    answer = run_child(root, Command.MEASURE, paths=("bench.py",), workloads=("bench:work",))

    assert answer.about("bench:work")["evidence"]["result"] == "no data"


@pytest.mark.slow(ci_only=True)
def test_a_step_that_takes_longer_is_not_held_against_an_empty_one(write, send_command):
    answer = send_command(write({"benchmarks/busy.py": BUSY}), Command.MEASURE)

    (run,) = answer.of("run")
    assert run["evidence"]["steps_per_reading"] == 1
    assert run["evidence"]["empty_step_s"] is None


def test_a_check_that_fails_fails_its_workload(write, send_command):
    text = workload("return lambda: 1", arguments="check=lambda result: result / 0")

    answer = send_command(write({"benchmarks/work.py": text}), Command.MEASURE)

    (failure,) = answer.of("failed")
    assert (failure["reason"], failure["detail"][:17]) == ("raised", "ZeroDivisionError")
