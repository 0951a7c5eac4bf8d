"""`perfledger plan rightsize` as a user runs it, on load curves that are made up."""

import csv
import json
import math
from functools import partial
from xml.etree import ElementTree

import pytest

from perfledger_service.errors import NotFoundError, UsageError

SHARES = (0.2, 0.4, 0.55, 0.7, 0.8, 0.88)


def p99(rate, capacity):
    return math.log(100) / (capacity - rate)


def document(capacity, device, completed=2_000_000, workload="serve[red]", **values):
    points = []
    for share in SHARES:
        seconds = p99(share * capacity, capacity)
        points.append(
            {
                "mode": "open",
                "concurrency": None,
                "offered_per_second": share * capacity,
                "batch": 1,
                "completed": completed,
                "seconds": 60.0,
                "throughput_per_second": share * capacity,
                "latency_p50_s": seconds * math.log(2) / math.log(100),
                "latency_p95_s": seconds * math.log(20) / math.log(100),
                "latency_p99_s": seconds,
                "latency_p99_low_s": None,
                "latency_p99_high_s": None,
                "memory_bytes": None,
            }
        )
    whole_fields = {
        "version": 1,
        "workload": workload,
        "device": device,
        "devices": 1,
        "points": points,
    }
    return json.dumps(whole_fields | values)


@pytest.fixture
def run(run):
    return partial(run, "plan", "rightsize")


@pytest.fixture
def curves(tmp_path):
    paths = tmp_path / "h100.json", tmp_path / "a100.json"
    paths[0].write_text(document(100.0, "NVIDIA H100 80GB HBM3"))
    paths[1].write_text(document(60.0, "NVIDIA A100-SXM4-80GB"))
    return paths


ASKED = ("--p99", "100ms", "--request-rate", 100)


@pytest.mark.slow(ci_only=True)
def test_the_answer_is_a_sentence_with_its_price_and_what_binds(run, curves):
    text = " ".join(run(*curves, *ASKED, "--purchase-option", "p5.4xlarge/on_demand").split())

    assert "100 requests a second, P99 at most 100 ms; planned for 120" in text
    assert "Take 3 x H100-80GB (3 replicas) for 20.64 USD an hour" in text
    assert "(headroom)" in text
    assert "no price for this device" in text
    assert "at most" in text.partition("predicted from the other points")[2]


@pytest.mark.slow(ci_only=True)
def test_the_table_fits_a_terminal(run, curves):
    output = run(*curves, *ASKED)

    assert max(map(len, output.splitlines())) <= 80


def test_a_server_of_eight_devices_is_paid_by_the_eight(run, curves):
    text = " ".join(run(curves[0], *ASKED, "--purchase-option", "p5.48xlarge/on_demand").split())

    assert "3 x H100-80GB (3 replicas) for 55.04 USD an hour, 8 paid for" in text


def test_an_owned_server_is_paid_by_the_device(run, curves):
    text = " ".join(run(curves[0], *ASKED, "--purchase-option", "onprem-8xH100").split())

    assert "On-premises 8xH100" in text
    assert "paid for" not in text


@pytest.mark.slow
def test_an_open_choice_says_what_to_measure(run, tmp_path):
    path = tmp_path / "curve.json"
    path.write_text(document(100.0, "H100-80GB", completed=4000))
    limit = f"{1000 * p99(60.0, 100.0) * 1.03:.1f}ms"
    text = " ".join(run(path, "--p99", limit, "--request-rate", 100).split())

    assert "Undecided: " in text
    assert "Measure one replica in open loop at" in text


@pytest.mark.slow(ci_only=True)
def test_options_are_written_as_json(run, curves):
    found_document = json.loads(run(*curves, *ASKED, "--format", "json"))

    assert (found_document["format"], found_document["version"]) == ("perfledger-sizes", 1)
    assert found_document["verdict"] == "decided"
    best = found_document["options"][0]
    assert float(best["usd_per_hour"]) > 0
    assert best["p99_low_s"] <= best["p99_s"] <= best["p99_high_s"] <= 0.1
    assert best["bound_by"] in {"latency", "headroom"}


@pytest.mark.slow
def test_options_are_written_as_csv(run, curves):
    rows = list(csv.DictReader(run(*curves, *ASKED, "--format", "csv").splitlines()))

    assert [row["is_open"] for row in rows] == ["false"] * len(rows)
    assert {row["devices_per_replica"] for row in rows} == {"1"}


@pytest.mark.slow(ci_only=True)
def test_the_picture_is_valid_and_has_the_latency_objective(run, curves):
    output = run(*curves, *ASKED, "--format", "svg")

    words = "".join(ElementTree.fromstring(output).itertext())
    assert "promised: 100" in words
    assert "<script" not in output


@pytest.mark.slow
def test_one_of_several_time_slices_is_priced_as_its_share(run, tmp_path):
    path = tmp_path / "slice.json"
    path.write_text(document(100.0, "H100-80GB"))
    words = (f"1/4x={path}", *ASKED, "--purchase-option", "p5.4xlarge/on_demand")
    text = " ".join(run(*words).split())

    assert "Take 1 x H100-80GB (3 replicas of 1/4 of H100-80GB) for 6.88 USD" in text


@pytest.mark.slow
def test_results_of_vllm_are_read_with_their_device_and_load(run, tmp_path):
    results = [
        {
            "request_rate": share * 100.0,
            "max_concurrency": None,
            "duration": 60.0,
            "completed": 2_000_000,
            "request_throughput": share * 100.0,
            "p99_e2el_ms": 1000 * p99(share * 100.0, 100.0),
            "p95_e2el_ms": 1000 * p99(share * 100.0, 100.0) * math.log(20) / math.log(100),
            "p99_ttft_ms": 10.0,
        }
        for share in SHARES
    ]
    path = tmp_path / "vllm.json"
    path.write_text("\n".join(map(json.dumps, results)))
    words = (f"2xH100-80GB={path}", *ASKED, "--purchase-option", "p5.4xlarge/on_demand")
    text = " ".join(run(*words).split())

    assert "Take 6 x H100-80GB (3 replicas) for 41.28 USD" in text


@pytest.mark.slow
def test_a_report_of_perf_analyzer_is_a_screening_by_concurrency(run, tmp_path):
    path = tmp_path / "perf.csv"
    path.write_text(
        "Concurrency,Inferences/Second,Client Send,p50 latency,p95 latency,p99 latency\n"
        "1,90,1,11000,12000,13000\n4,200,1,19500,22000,25000\n"
    )
    text = " ".join(run(f"L40S={path}", *ASKED).split())

    assert "L40S" in text
    assert "M/G/k (screening)" in text


@pytest.mark.slow
def test_tables_of_model_analyzer_have_a_batch(run, tmp_path):
    path = tmp_path / "metrics-model-inference.csv"
    path.write_text(
        "Model,Batch,Concurrency,Model Config Path,Throughput (infer/sec),p99 Latency (ms)\n"
        "resnet,4,2,resnet_i0,800.0,11.0\n"
    )
    found_document = json.loads(run(f"L40S={path}", *ASKED, "--format", "json"))

    rows = found_document["options"]
    assert {(row["workload"], row["batch"], row["concurrency"]) for row in rows} == {
        ("resnet_i0", 4, 2)
    }


@pytest.mark.slow(ci_only=True)
def test_the_objective_may_be_another_latency(run, tmp_path):
    path = tmp_path / "vllm.json"
    result = {"max_concurrency": 4, "request_throughput": 50.0, "p99_ttft_ms": 20.0}
    path.write_text(json.dumps(result))
    found_document = json.loads(
        run(f"L40S={path}", *ASKED, "--latency-metric", "ttft", "--format", "json")
    )

    assert found_document["options"][0]["concurrency"] == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("none.json", *ASKED), NotFoundError, "none.json"),
        (("VLLM", *ASKED), UsageError, "does not name its device"),
        (("L40S=BROKEN", *ASKED), UsageError, "the format of .* is not supported"),
        (("CURVE", "--p99", "fast", "--request-rate", "1"), UsageError, "80ms or 1.5s"),
        (("CURVE", "--p99", "0ms", "--request-rate", "1"), UsageError, "80ms or 1.5s"),
        (("CURVE", "--p99", "1s", "--request-rate", "nan"), UsageError, "the rate is nan"),
        (("CURVE", *ASKED, "--headroom-percent", "-1"), UsageError, "the headroom is -1 %"),
        (("CURVE", *ASKED, "--purchase-option", "p9/on_demand"), NotFoundError, "p9"),
        ((*["CURVE"] * 100, *ASKED), UsageError, "use 1 to 300"),
    ],
)
def test_a_usage_error_says_why(run, tmp_path, words, error, message):
    files = {"CURVE": document(100.0, "H100-80GB"), "BROKEN": "broken"}
    files["VLLM"] = json.dumps({"request_throughput": 50.0, "p99_e2el_ms": 20.0})
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    values = []
    for word in map(str, words):
        prefix, _, name = word.rpartition("=")
        path = str(tmp_path / name) if name in files else name
        values.append(f"{prefix}={path}" if prefix else path)

    with pytest.raises(error, match=message):
        run(*values)
