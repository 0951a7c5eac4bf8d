"""`perfledger bench builtin` as a user runs it, and how its result looks."""

import json
import subprocess
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


TOKEN = "pl_0123abcd_" + "s" * 43


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
@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_bundle_of_canaries_is_what_a_service_takes(run, site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *identity, *words], check=True)
    target = {"PERFLEDGER_UPLOAD_TOKEN": TOKEN, "XDG_STATE_HOME": str(tmp_path / "state")}

    run("bench", "builtin", "torch_canaries:memory_copy", "--processes", "2", "--device", "cpu",
        "--repository", "octo/models", "--save-bundle", "canaries.json", **target)  # fmt: skip
    printed = run("upload", "canaries.json", "--upload-url", site.url, **target)

    assert "https://ledger.example/octo/models/machines" in printed
    (device,) = site.get("/api/v1/devices", token=TOKEN).json()["devices"]
    assert (device["kind"], device["canaries"]) == ("cpu", "unknown")


def test_a_folder_that_is_no_clone_is_refused_before_anything_is_measured(
    run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="not in a git work tree"):
        run("bench", "builtin", "--save-bundle", "canaries.json",
            XDG_STATE_HOME=str(tmp_path / "state"))  # fmt: skip


def test_a_repository_without_a_bundle_to_name_it_in_is_refused(run):
    with pytest.raises(UsageError, match="--repository: only a bundle names it"):
        run("bench", "builtin", "--repository", "octo/models")


@pytest.mark.slow(ci_only=True)
def test_a_name_without_a_canary_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(NotFoundError, match=r"no canary nothing .* choose from matmul"):
        run("bench", "builtin", "nothing", "--device", "cpu")
