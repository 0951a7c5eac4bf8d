"""`perfledger cost rightsize` on results of other tools, in the shape in which they write them."""

import json

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app

# As `vllm bench serve` saves it: seconds until the last of 300 requests has its last token, which
# is 6.8 s after its first; all came within 30 s. The figures are made up.
STREAMED = {
    "backend": "vllm",
    "request_rate": 10.0,
    "max_concurrency": None,
    "duration": 36.8,
    "completed": 300,
    "total_output_tokens": 150_000,
    "request_throughput": 8.15,
    "median_ttft_ms": 50.0,
    "p99_ttft_ms": 90.0,
    "median_tpot_ms": 13.6,
    "p99_tpot_ms": 17.0,
}


@pytest.fixture
def run(tmp_path):
    def run(device, text, *words):
        path = tmp_path / "result"
        path.write_text(text)
        arguments = ["cost", "rightsize", f"{device}={path}", *words]
        done = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"}, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return " ".join(done.stdout.split())

    return run


@pytest.mark.slow
def test_a_server_that_streams_until_after_the_last_arrival_has_kept_up(run):
    words = ("--p99", "500ms", "--rate", "8", "--latency", "ttft")

    shown = run("4xL40S", json.dumps(STREAMED), *words)

    assert "Nothing that was measured" not in shown
    assert "4 x L40S" in shown


@pytest.mark.slow
def test_a_result_of_nothing_but_overload_says_so(run):
    overloaded = STREAMED | {"request_throughput": 2.0, "duration": 150.0}

    shown = run("L40S", json.dumps(overloaded), "--p99", "1s", "--rate", "2", "--latency", "ttft")

    assert "Nothing that was measured keeps this P99" in shown
    assert "vllm on L40S: more came than was served at every rate; measure less." in shown


@pytest.mark.slow
def test_which_configuration_of_a_model_is_meant_is_said(run):
    table = (
        "Model,Batch,Concurrency,Model Config Path,Instance Group,Max Batch Size,"
        "Satisfies Constraints,Throughput (infer/sec),p99 Latency (ms)\n"
        "resnet,1,4,resnet_config_1,1:GPU,8,Yes,400.0,12.0\n"
        "resnet,1,4,resnet_config_2,2:GPU,8,Yes,700.0,7.0\n"
    )

    shown = run("L40S", table, "--p99", "40ms", "--rate", "400")

    assert "of resnet_config_2 for" in shown
