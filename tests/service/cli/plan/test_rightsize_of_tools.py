"""`perfledger plan rightsize` on results of other tools, in the shape in which they write them."""

import json

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.errors import UsageError

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


# As Perf Analyzer reports requests of four inferences each, by 2 and 4 clients. Made up.
BATCHED = (
    "Concurrency,Inferences/Second,Client Send,p50 latency,p95 latency,p99 latency,Avg latency,"
    "Max GPU Memory Usage\n"
    "2,400,1,19000,22000,25000,20000,GPU-aa:20000000000;\n"
    "4,640,1,24000,29000,33000,25000,GPU-aa:20000000000;\n"
)


@pytest.fixture
def run(tmp_path):
    def run(device, text, *words):
        path = tmp_path / "result"
        path.write_text(text)
        arguments = ["plan", "rightsize", f"{device}={path}", *words]
        done = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"}, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return " ".join(done.stdout.split())

    return run


@pytest.mark.slow
def test_an_aiperf_export_has_its_load_and_failures(run):
    export = {
        "request_throughput": {"unit": "requests/sec", "avg": 50.0},
        "request_latency": {"unit": "ms", "p50": 150.0, "p95": 180.0, "p99": 200.0},
        "request_count": {"unit": "requests", "avg": 995.0},
        "error_request_count": {"unit": "requests", "avg": 5.0},
        "input_config": {"loadgen": {"concurrency": 8}},
    }

    text = run("L40S", json.dumps(export), "--p99", "2s", "--request-rate", "30")

    assert "L40S, 8 concurrent: measured in closed loop only" in text
    assert "result: 5 requests failed: the times exclude them." in text


@pytest.mark.slow
def test_a_measurement_with_even_arrivals_may_not_suffice_for_random_ones(run):
    rates = (
        "Request Rate,Inferences/Second,p50 latency,p95 latency,p99 latency\n"
        "20,20,10000,12000,13000\n40,40,10000,13000,15000\n60,60,11000,15000,18000\n"
    )
    words = ("--p99", "80ms", "--request-rate", "30")

    even = run("L40S", rates, *words)
    random = run("L40S@poisson", rates, *words)

    assert "Undecided: no configuration certainly meets this P99" in even
    assert "if requests arrive evenly, as they were measured" in even
    assert "unless --request-distribution=poisson was set" in even
    assert "Take 1 x L40S" in random
    assert "even times" not in random


@pytest.mark.slow
def test_a_batch_on_the_command_line_is_that_of_the_options(run):
    words = ("--p99", "300ms", "--request-rate", "600", "--format", "json")

    document = json.loads(run("L40S@batch:4", BATCHED, *words))

    first = document["options"][0]
    assert first["batch"] == 4
    assert first["most_per_second"] / first["replicas"] == pytest.approx(640, rel=0.1)


@pytest.mark.slow
def test_memory_that_perf_analyzer_saw_keeps_slices_from_a_device(run):
    text = run("1/4xL40S@batch:4", BATCHED, "--p99", "300ms", "--request-rate", "600")

    assert "one of 4 time slices: needs more memory than the device has" in text


@pytest.mark.slow
def test_a_server_that_streams_until_after_the_last_arrival_has_kept_up(run):
    words = ("--p99", "500ms", "--request-rate", "8", "--latency-metric", "ttft")

    text = run("4xL40S", json.dumps(STREAMED), *words)

    assert "Nothing that was measured" not in text
    assert "4 x L40S" in text


@pytest.mark.slow
def test_a_result_of_nothing_but_overload_says_so(run):
    overloaded = STREAMED | {"request_throughput": 2.0, "duration": 150.0}

    text = run(
        "L40S",
        json.dumps(overloaded),
        "--p99",
        "1s",
        "--request-rate",
        "2",
        "--latency-metric",
        "ttft",
    )

    assert "No measured configuration meets this P99" in text
    assert "vllm on L40S: overloaded at every rate; measure" in text


@pytest.mark.slow
def test_the_configuration_of_a_model_is_named(run):
    table = (
        "Model,Batch,Concurrency,Model Config Path,Instance Group,Max Batch Size,"
        "Satisfies Constraints,Throughput (infer/sec),p99 Latency (ms)\n"
        "resnet,1,4,resnet_config_1,1:GPU,8,Yes,400.0,12.0\n"
        "resnet,1,4,resnet_config_2,2:GPU,8,Yes,700.0,7.0\n"
    )

    text = run("L40S", table, "--p99", "40ms", "--request-rate", "400")

    assert "of resnet_config_2 for" in text
    assert "throughput resnet_config_1" in text


@pytest.mark.slow
def test_a_long_configuration_name_is_complete_in_a_narrow_table(run):
    table = (
        "Model,Batch,Concurrency,Model Config Path,Throughput (infer/sec),p99 Latency (ms)\n"
        "r,1,4,resnet50_libtorch_config_1,400.0,12.0\nr,1,4,resnet50_libtorch_config_2,700.0,7.0\n"
    )

    partition = run("L40S", table, "--p99", "40ms", "--request-rate", "400").partition("L40S of")[0]

    assert "…" not in partition


# With vLLM's default percentiles: P99 only, of the first token and between tokens.
DEFAULT_VLLM = STREAMED | {"median_itl_ms": 13.6, "p99_itl_ms": 20.0}
WORDS = ("--p99", "200ms", "--request-rate", "140")


@pytest.mark.slow
def test_default_percentiles_of_vllm_are_enough_for_the_first_token(run):
    text = run("H100-80GB", json.dumps(DEFAULT_VLLM), *WORDS, "--latency-metric", "ttft")

    assert "2 to 16 replicas are open; measure one replica at 24/s, its share among 7." in text
    assert "17 x H100-80GB (17 replicas)" in text
    assert "and 10 more; --format json has all" in text


@pytest.mark.slow
def test_programs_get_the_whole_open_range(run):
    words = (*WORDS, "--latency-metric", "ttft", "--format", "json")

    options = json.loads(run("H100-80GB", json.dumps(DEFAULT_VLLM), *words))["options"]

    assert sorted(row["replicas"] for row in options if row["is_open"]) == list(range(2, 17))


@pytest.mark.slow
def test_a_file_without_the_metric_names_those_that_it_has(tmp_path):
    path = tmp_path / "result"
    path.write_text(json.dumps(DEFAULT_VLLM))

    with pytest.raises(UsageError, match="choose --latency-metric itl, tpot, ttft, which it has"):
        CliRunner().invoke(
            app, ["plan", "rightsize", f"L40S={path}", *WORDS], catch_exceptions=False
        )
