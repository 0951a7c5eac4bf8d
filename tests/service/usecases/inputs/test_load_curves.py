"""Tests reading load curves from our own files and from results of other tools, all made up."""

import json

import pytest

from perfledger_cost_models.serving.load_curve import LoadMode
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.inputs.load_curves import read_load_curves

pytestmark = pytest.mark.usefixtures("reader_here")

# As `vllm bench serve` saves it: seconds until the last of 300 requests has its last token, which
# is 6.8 s after its first; all came within 30 s.
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
# As `vllm bench serve` saves it without streaming: it does not say at which load.
PLAIN = {"request_throughput": 50.0, "p99_e2el_ms": 20.0}
# As Perf Analyzer reports requests of four inferences each, by 2 and 4 clients.
BATCHED = (
    "Concurrency,Inferences/Second,Client Send,p50 latency,p95 latency,p99 latency,Avg latency,"
    "Max GPU Memory Usage\n"
    "2,400,1,19000,22000,25000,20000,GPU-aa:20000000000;\n"
    "4,640,1,24000,29000,33000,25000,GPU-aa:20000000000;\n"
)
EVEN_RATES = "Request Rate,Inferences/Second,p50 latency,p99 latency\n20,20,10000,13000\n"
POINT = {
    "mode": "open",
    "concurrency": None,
    "offered_per_second": 40.0,
    "batch": 1,
    "completed": 2400,
    "seconds": 60.0,
    "throughput_per_second": 40.0,
    "latency_p50_s": 0.02,
    "latency_p95_s": 0.04,
    "latency_p99_s": 0.06,
    "latency_p99_low_s": None,
    "latency_p99_high_s": None,
    "memory_bytes": None,
}


def ours(**values):
    curve = {"version": 1, "workload": "m:f", "device": "H100-80GB", "devices": 1}
    return json.dumps(curve | {"points": [POINT]} | values)


@pytest.fixture
def read(tmp_path):
    """Read files, each named by what stands before its "=" and given by its content."""

    def read(*files, **options):
        texts = []
        for number, (prefix, content) in enumerate(files):
            path = tmp_path / f"result{number}"
            path.write_text(content if isinstance(content, str) else json.dumps(content))
            texts.append(f"{prefix}={path}" if prefix else str(path))
        return read_load_curves(texts, **options)

    return read


def test_our_own_file_says_everything_itself(read):
    (curve,) = read(("", ours(servers=2)))

    assert (curve.workload, curve.device, curve.devices) == ("m:f", "H100-80GB", 1)
    assert (curve.servers, curve.time_slices, curve.has_even_arrivals) == (2, 1, False)
    (point,) = curve.points
    assert (point.mode, point.offered_per_second) == (LoadMode.OPEN, 40.0)
    assert (point.latency_p99_s, point.completed) == (0.06, 2400)


def test_the_command_line_renames_the_device_and_counts_replicas_of_it(read):
    (several,) = read(("4xL40S", ours()))
    (share,) = read(("1/4xL40S", ours()))
    (counted,) = read(("2x", ours()))

    assert (several.device, several.devices, several.time_slices) == ("L40S", 4, 1)
    assert (share.device, share.devices, share.time_slices) == ("L40S", 1, 4)
    assert (counted.device, counted.devices) == ("H100-80GB", 2)


def test_files_of_one_kind_of_replica_are_one_curve(read):
    other = POINT | {"offered_per_second": 80.0, "throughput_per_second": 80.0}

    same, others = read(("", ours()), ("", ours(points=[other])), ("2xH100-80GB", ours()))

    assert [point.offered_per_second for point in same.points] == [40.0, 80.0]
    assert (same.devices, others.devices) == (1, 2)


def test_a_file_may_have_an_equals_sign_in_its_name(tmp_path):
    path = tmp_path / "run=1.json"
    path.write_text(ours())

    (curve,) = read_load_curves([str(path)])

    assert curve.workload == "m:f"


def test_a_foreign_name_has_nothing_that_a_terminal_obeys(read):
    (curve,) = read(("", ours(workload="m\x1b[31m:f", device="L40S\x07")))

    assert "\x1b" not in curve.workload
    assert "\x07" not in curve.device


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("none.json", "there is no file none.json"),
        ("L40S=none.json", "there is no file none.json"),
    ],
)
def test_a_missing_file_is_named(text, message):
    with pytest.raises(NotFoundError, match=message):
        read_load_curves([text])


@pytest.mark.parametrize(
    "prefix", ["L40S@load:3", "L40S@batch:0", "70000x", "70000xL40S", "1/400xL40S", "@rate:x"]
)
def test_a_prefix_of_another_form_says_how_to_write_it(prefix):
    with pytest.raises(UsageError, match="write FILE, DEVICE=FILE, 2xDEVICE=FILE"):
        read_load_curves([f"{prefix}=result.json"])


@pytest.mark.parametrize("prefix", ["L40S@rate:3", "L40S@batch:2", "L40S@poisson"])
def test_our_own_file_takes_no_load_from_the_command_line(read, prefix):
    with pytest.raises(UsageError, match="contains its loads and batches"):
        read((prefix, ours()))


@pytest.mark.parametrize(
    ("prefix", "content", "message"),
    [
        ("", ours(points=[]), "result0 is not a load curve"),
        ("0x", ours(), "devices"),
        ("", PLAIN, "result0 does not name its device: write DEVICE="),
    ],
)
def test_a_file_that_is_no_curve_is_named(read, prefix, content, message):
    with pytest.raises(UsageError, match=message):
        read((prefix, content))


def test_our_own_file_has_no_other_latency(read):
    with pytest.raises(UsageError, match="has request latencies only: leave --latency-metric ttft"):
        read(("", ours()), latency="ttft")


def test_a_folder_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="is a folder: give a file"):
        read_load_curves([f"L40S={tmp_path}"])


# Other tools' files are read in a process of its own, which takes half a second.


@pytest.mark.slow
def test_a_load_of_the_command_line_goes_before_that_of_the_file(read):
    (closed,) = read(("2xL40S@concurrency:8", PLAIN))
    (rated,) = read(("L40S@rate:60@batch:4", PLAIN))

    (point,) = closed.points
    assert (point.mode, point.concurrency, point.batch) == (LoadMode.CLOSED, 8, 1)
    assert (point.throughput_per_second, point.latency_p99_s) == (50.0, 0.02)
    assert closed.devices == 2
    (point,) = rated.points
    assert (point.mode, point.offered_per_second, point.batch) == (LoadMode.OPEN, 60.0, 4)


@pytest.mark.slow
def test_a_limit_of_clients_is_a_closed_loop_unless_there_is_a_rate(read):
    (closed,) = read(("L40S", PLAIN | {"max_concurrency": 4}))
    (rated,) = read(("L40S", PLAIN | {"max_concurrency": 4, "request_rate": 60.0}))

    assert closed.points[0].concurrency == 4
    assert rated.points[0].offered_per_second == 60.0


@pytest.mark.slow
def test_streaming_after_the_last_arrival_does_not_count_as_falling_behind(read):
    (curve,) = read(("4xL40S", STREAMED), latency="ttft")

    (point,) = curve.points
    assert point.seconds == pytest.approx(30.0)
    assert point.throughput_per_second == pytest.approx(8.15 * 36.8 / 30)
    assert point.latency_p99_s == pytest.approx(0.09)
    assert point.keeps_up


@pytest.mark.slow
def test_inferences_become_requests_with_a_given_batch(read):
    (curve,) = read(("L40S@batch:4", BATCHED))

    assert [point.throughput_per_second for point in curve.points] == [100.0, 160.0]
    assert {point.batch for point in curve.points} == {4}
    assert {point.memory_bytes for point in curve.points} == {20_000_000_000}


@pytest.mark.slow
def test_more_inferences_than_requests_can_be_need_a_batch(read):
    with pytest.raises(UsageError, match=r"400 inferences a second .* give the batch"):
        read(("L40S", BATCHED))


@pytest.mark.slow
def test_a_load_of_which_more_than_one_in_a_hundred_failed_has_no_p99(read):
    with pytest.raises(UsageError, match=r"left out, 11\.0 % of its requests failed, but a P99"):
        read(("L40S", STREAMED | {"failed": 37}), latency="ttft")
    (curve,) = read(("L40S", STREAMED | {"failed": 3}), latency="ttft")

    assert len(curve.points) == 1


@pytest.mark.slow
def test_even_arrivals_are_known_unless_the_user_says_otherwise(read):
    (even,) = read(("L40S", EVEN_RATES))
    (random,) = read(("L40S@poisson", EVEN_RATES))

    assert even.has_even_arrivals
    assert any("--request-distribution=poisson" in note for note in even.notes)
    assert not random.has_even_arrivals
    assert [(each.mode, each.offered_per_second) for each in (*even.points, *random.points)] == [
        (LoadMode.OPEN, 20.0),
        (LoadMode.OPEN, 20.0),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prefix", "content", "message"),
    [
        ("L40S@concurrency:8", BATCHED, "result0 has 2 loads, which it names itself"),
        ("L40S", STREAMED | {"p99_ttft_ms": 40.0}, "result0: latencies"),
        ("L40S", STREAMED | {"p99_ttft_ms": 0.0}, "result0: a load of vllm has no"),
        ("L40S", STREAMED | {"request_rate": "inf"}, "or the load had no limit"),
        ("L40S@rate:10", PLAIN, "result0 has no ttft_p99 with its throughput"),
        (
            "L40S",
            PLAIN | {"p99_ttft_ms": 20.0},
            "result0 does not contain the load that it was measured at",
        ),
        ("L40S", "broken", "the format of .* is not supported"),
    ],
)
def test_a_result_that_cannot_be_used_is_named_with_the_reason(read, prefix, content, message):
    latency = "request_latency" if content == BATCHED else "ttft"

    with pytest.raises(UsageError, match=message):
        read((prefix, content), latency=latency)
