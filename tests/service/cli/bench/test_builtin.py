"""`perfledger bench builtin` as a user runs it, and how its result looks."""

import json
from dataclasses import replace

import pytest

from perfledger.records import Device, Machine
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.rendering.bench.builtin import canaries_document
from perfledger_service.rendering.layout.writers import plain_lines, to_terminal
from perfledger_service.usecases.bench.builtin import CanaryRequest
from perfledger_service.values.doctor_views import CanaryResult, CanaryState, CanaryView

SLOW = CanaryResult(
    name="matmul[dtype=float32,size=8192]",
    framework="torch",
    params={"dtype": "float32", "size": 8192},
    unit="FLOP",
    devices=1,
    device="a GPU",
    per_second=3e13,
    low_per_second=2.9e13,
    high_per_second=3.1e13,
    expected_per_second=6e13,
    state=CanaryState.SLOW,
    basis="0.87 of the peak of float32 of a-gpu",
)
UNKNOWN = replace(
    SLOW, name="gpt_block", unit="tokens", expected_per_second=None, state=CanaryState.UNKNOWN,
    basis="nobody knows",
)  # fmt: skip
FAILED = replace(
    UNKNOWN, name="embedding", per_second=None, state=CanaryState.NOT_MEASURED, basis="hung: late"
)


def plain_text(*results):
    machine = Machine(device=Device.CUDA, model="a GPU")
    view = CanaryView(machine=machine, results=results, findings=())
    text = plain_lines(to_terminal(canaries_document(view)))
    return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())


def test_each_canary_has_its_rate_its_share_and_where_the_expectation_is_from():
    text = plain_text(SLOW, UNKNOWN, FAILED)

    assert "1 slow, 1 unknown, 1 not measured." in text
    assert "30.0 TFLOP/s" in text
    assert "60.0 TFLOP/s" in text
    assert "50.0 %" in text
    assert SLOW.basis in text
    assert "hung: late" in text


def test_the_reason_for_unknown_is_said_once():
    assert plain_text(UNKNOWN, UNKNOWN).count("nobody knows") == 1


def test_few_processes_are_refused():
    with pytest.raises(UsageError, match="--processes 1: give 2"):
        CanaryRequest(processes=1)


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_canary_is_measured_on_the_host_and_its_expectation_is_unknown(
    run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    view = json.loads(
        run("bench", "builtin", "torch_canaries:all_reduce", "--processes", "2", "--device", "cpu",
            "--json")
    )  # fmt: skip

    (canary,) = view["canaries"]
    assert (canary["devices"], canary["state"]) == (2, "unknown")
    assert 0 < canary["low_per_second"] <= canary["per_second"] <= canary["high_per_second"]
    assert canary["expected_per_second"] is None


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_name_without_a_canary_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(NotFoundError, match=r"no canary nothing .* choose of matmul"):
        run("bench", "builtin", "nothing", "--device", "cpu")
