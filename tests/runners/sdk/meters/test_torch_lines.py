"""Lines of user code that call operators, recorded from real torch steps."""

import importlib.util
import json
import linecache
from collections import Counter
from pathlib import Path

import pytest

from perfledger.meters.torch_lines import record_lines

pytestmark = [pytest.mark.slow, pytest.mark.torch]

MODEL = """
import torch

def attend(query, key):
    scores = query @ key.T
    return torch.softmax(scores, dim=-1)

def make():
    torch.manual_seed(0)
    query = torch.ones(8, 4, requires_grad=True)
    key = torch.ones(8, 4)

    def step():
        attended = attend(query, key)
        loss = attended.square().sum()
        loss.backward()
        return loss.detach()

    return step
"""


@pytest.fixture
def recorded(torch, tmp_path):
    """Return a function that writes a module and records a step of it, as (line's text: rows)."""

    def record(text):
        root = tmp_path / "repository"
        root.mkdir()
        path = root / "model.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("model_of_a_test", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        file = record_lines(
            torch, importlib.import_module, module.make(), root=root, path=tmp_path / "l.json"
        )
        if file is None:
            return None
        rows = json.loads(file.read_text(encoding="utf-8"))["calls"]
        assert {row["path"] for row in rows} <= {"model.py"}
        return {
            (row["operator"], row["is_backward"]): linecache.getline(str(path), row["line"]).strip()
            for row in rows
        }

    return record


@pytest.mark.slow(ci_only=True)
def test_an_operator_has_the_line_that_calls_it(recorded):
    lines = recorded(MODEL)

    assert lines["aten::mm", False] == "scores = query @ key.T"
    assert lines["aten::_softmax", False] == "return torch.softmax(scores, dim=-1)"
    assert lines["aten::sum", False] == "loss = attended.square().sum()"


@pytest.mark.slow(ci_only=True)
def test_an_operator_of_the_backward_pass_has_the_line_of_its_forward_call(recorded):
    lines = recorded(MODEL)

    assert lines["aten::_softmax_backward_data", True] == "return torch.softmax(scores, dim=-1)"
    assert lines["aten::mm", True] == "scores = query @ key.T"


def test_calls_are_counted_by_sizes(torch, tmp_path):
    ones = {size: torch.ones(size, size) for size in (2, 3)}

    def step():
        for size in (2, 3, 3):
            ones[size] @ ones[size]

    file = record_lines(
        torch, importlib.import_module, step, root=Path(__file__).parent, path=tmp_path / "l.json"
    )

    assert file is not None
    rows = json.loads(file.read_text(encoding="utf-8"))["calls"]
    counts = Counter({row["sizes"]: row["calls"] for row in rows if row["operator"] == "aten::mm"})
    assert counts == {"[2,2][2,2]": 1, "[3,3][3,3]": 2}


def test_a_step_that_fails_has_no_lines(recorded):
    assert recorded("def make():\n    return lambda: 1 // 0\n") is None


def test_calls_from_elsewhere_are_left_out(torch, tmp_path):
    ones = torch.ones(4)

    file = record_lines(
        torch, importlib.import_module, lambda: ones + ones, root=tmp_path, path=tmp_path / "l"
    )

    assert file is not None
    assert json.loads(file.read_text(encoding="utf-8"))["calls"] == []
