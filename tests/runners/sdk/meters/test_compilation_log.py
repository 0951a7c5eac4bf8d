"""What compilers say, read from messages that they wrote and from real compilations."""

import importlib
import json
import logging
import sys
from types import SimpleNamespace

import pytest

from perfledger.compile_record import CompilationKind
from perfledger.meters.compilation_log import (
    GRAPH_BREAKS,
    MAX_REASON,
    REDEFINED,
    graph_break_rows,
    recompilation_rows,
    recorded_messages,
    retrace_rows,
    write_record,
)
from perfledger.meters.jax_clock import JaxMeter
from perfledger.meters.torch_clock import TorchMeter
from perfledger.records import Device

BREAK = """Graph break in user code at {root}/model.py:6
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call:

Call to `torch._dynamo.graph_break()`
  Explanation: User-inserted graph break. Message: None
  Hint: Remove the call.
"""
NO_EXPLANATION = "Graph break in user code at /site/lib.py:8\nGraph Break Reason: a generator\n"
TYPES = """TRACING CACHE MISS at {root}/model.py:8:11 (step):
  for model defined at {root}/model.py:3
  all previously seen cache keys differ. For the closest previous key:
  different input types:
  * at x, now f32[{now},8] and before f32[3,8]
  * at y, now f32[] and before f32[]{{weak_type=True}}"""
UNSEEN = """TRACING CACHE MISS at {root}/model.py:7:4 (step):
  never seen function:
    <lambda> id=139953192806944 defined at {root}/model.py:7"""


def test_a_graph_break_has_its_line_and_the_explanation(tmp_path):
    message = BREAK.format(root=tmp_path)

    (own, foreign) = graph_break_rows([message, "something else", NO_EXPLANATION], root=tmp_path)

    assert own == {
        "kind": "graph break",
        "function": "",
        "path": "model.py",
        "line": 6,
        "reason": "User-inserted graph break. Message: None",
        "count": 1,
    }
    assert (foreign["path"], foreign["reason"]) == ("", "a generator")


def test_a_guard_that_failed_is_the_reason_of_a_recompilation(tmp_path):
    def metric(reason):
        return SimpleNamespace(
            co_name="forward",
            co_filename=f"{tmp_path}/model.py",
            co_firstlineno=11,
            recompile_reason=reason,
        )

    (row,) = recompilation_rows(
        [
            metric(None),
            metric("0/0: tensor 'x' size mismatch at index 0. expected 3, actual 4"),
            metric("0/1: L['n'] == 3  # return x * n  # model.py:12 in forward"),
            SimpleNamespace(),
        ],
        root=tmp_path,
    )

    assert (row["function"], row["path"], row["line"], row["count"]) == (
        "forward",
        "model.py",
        11,
        2,
    )
    assert row["reason"] == "tensor 'x' size mismatch at index 0. expected 3, actual 4"


def test_a_retrace_has_the_arguments_that_differ(tmp_path):
    messages = [TYPES.format(root=tmp_path, now=number) for number in (4, 5)]

    (row,) = retrace_rows(messages, root=tmp_path)

    assert (row["function"], row["path"], row["line"], row["count"]) == ("model", "model.py", 8, 2)
    assert row["reason"] == (
        "at x, now f32[4,8] and before f32[3,8]; at y, now f32[] and before f32[]{weak_type=True}"
    )


def test_a_function_that_is_new_each_time_is_told_and_one_that_is_new_once_is_not(tmp_path):
    message = UNSEEN.format(root=tmp_path)

    assert retrace_rows([message], root=tmp_path) == []
    (row,) = retrace_rows([message] * 3, root=tmp_path)
    assert (row["function"], row["reason"], row["count"]) == ("<lambda>", REDEFINED, 3)


def test_a_function_and_its_gradient_of_one_name_are_no_retrace_at_the_start(tmp_path):
    start = CompilationKind.START_RETRACE
    unseen, again = UNSEEN.format(root=tmp_path), TYPES.format(root=tmp_path, now=4)
    again = again.replace("for model", "for <lambda>").replace("model.py:8:", "model.py:7:")

    (row,) = retrace_rows([unseen, unseen, again], root=tmp_path, kind=start)

    assert (row["kind"], row["function"], row["count"]) == (start, "<lambda>", 1)
    assert str(row["reason"]).startswith("at x, now f32[4,8]")
    reasons = [row["reason"] for row in retrace_rows([unseen, unseen, again], root=tmp_path)]
    assert reasons == [row["reason"], REDEFINED]


def test_a_reason_names_no_folder_and_has_a_limit(tmp_path):
    message = (
        "Graph break in user code at /a/b.py:1\nGraph Break Reason: in /home/me/b.py " + "x" * 999
    )

    (row,) = graph_break_rows([message], root=tmp_path)

    assert row["reason"] == ("in b.py " + "x" * 999)[:MAX_REASON]


def test_a_logger_is_as_it_was_afterwards_and_nobody_else_hears_of_its_messages(caplog):
    logger = logging.getLogger(GRAPH_BREAKS[0])
    before = (logger.level, logger.propagate, [*logger.handlers])

    with recorded_messages(GRAPH_BREAKS) as recorder:
        logger.debug("at %s", "once")

    assert recorder.messages == ["at once"]
    assert (logger.level, logger.propagate, [*logger.handlers]) == before
    assert caplog.messages == []


def test_a_record_has_all_its_parts(tmp_path):
    path = write_record(tmp_path / "lines.json", compilations=[{"kind": "retrace"}])

    assert json.loads(path.read_text(encoding="utf-8")) == {
        "calls": [],
        "peak_tensors": [],
        "compilations": [{"kind": "retrace"}],
    }


def module_of(folder, name, text):
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


COMPILED = """
import torch

def model(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()

compiled = torch.compile(model, backend="eager", dynamic=False)
doubled = torch.compile(lambda x: x * 2, backend="eager", dynamic=False)
"""


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_torch_says_why_it_breaks_a_graph_and_compiles_again(torch, tmp_path):
    model = module_of(tmp_path, "compiled_model_of_a_test", COMPILED)
    meter = TorchMeter(torch, Device.CPU)
    with meter.compilation_log():
        for size in (3, 4, 5):
            model.doubled(torch.ones(size))
        model.compiled(torch.ones(4))

        path = meter.lines(lambda: torch.ones(3).sum(), tmp_path, tmp_path / "lines.json")

    assert path is not None
    rows = json.loads(path.read_text(encoding="utf-8"))["compilations"]
    own = {row["kind"]: row for row in rows if row["path"] == "compiled_model_of_a_test.py"}
    assert own["graph break"]["line"] == 6
    assert "graph break" in own["graph break"]["reason"]
    assert own["recompilation"]["line"] == 10
    assert own["recompilation"]["count"] == 2
    assert "size mismatch" in own["recompilation"]["reason"]


RETRACED = """
import itertools
import jax

@jax.jit
def model(x):
    return x.sum()

sizes = itertools.count(3)

def retraced():
    return model(jax.numpy.ones(next(sizes)))

def kept():
    return model(jax.numpy.ones(3))
"""


@pytest.mark.slow
def test_jax_says_which_argument_makes_it_trace_again(tmp_path):
    jax = pytest.importorskip("jax")
    model = module_of(tmp_path, "retraced_model_of_a_test", RETRACED)
    meter = JaxMeter(jax, Device.CPU)
    model.kept()

    assert meter.lines(model.kept, tmp_path, tmp_path / "kept.json") is None
    path = meter.lines(model.retraced, tmp_path, tmp_path / "lines.json")

    assert path is not None
    (row,) = json.loads(path.read_text(encoding="utf-8"))["compilations"]
    assert (row["function"], row["line"]) == ("model", 12)
    assert row["reason"].startswith("at x, now f32[4] and before f32[3]")
    assert not jax.config.jax_explain_cache_misses


@pytest.mark.slow
def test_jax_says_what_it_traced_again_before_the_measured_steps(tmp_path):
    jax = pytest.importorskip("jax")
    text = RETRACED.replace("model", "early_model")
    module = module_of(tmp_path, "early_retraced_model_of_a_test", text)
    meter = JaxMeter(jax, Device.CPU)

    with meter.compilation_log():
        module.kept()
        module.retraced()  # of the same shape
        module.retraced()
        path = meter.lines(module.kept, tmp_path, tmp_path / "lines.json")
        module.retraced()

    assert path is not None
    rows = json.loads(path.read_text(encoding="utf-8"))["compilations"]
    (row,) = [row for row in rows if row["function"] == "early_model"]
    assert (row["kind"], row["line"], row["count"]) == ("retrace at the start", 12, 1)
    assert row["reason"].startswith("at x, now f32[4] and before f32[3]")


@pytest.mark.slow
def test_a_user_who_asked_jax_to_explain_its_traces_is_still_told_them(tmp_path):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_explain_cache_misses", True)
    try:
        JaxMeter(jax, Device.CPU).lines(lambda: None, tmp_path, tmp_path / "lines.json")

        assert jax.config.jax_explain_cache_misses
    finally:
        jax.config.update("jax_explain_cache_misses", False)


@pytest.mark.slow
def test_a_step_that_fails_while_it_is_watched_has_no_record(tmp_path):
    jax = pytest.importorskip("jax")

    assert (
        JaxMeter(jax, Device.CPU).lines(lambda: 1 // 0, tmp_path, tmp_path / "lines.json") is None
    )
