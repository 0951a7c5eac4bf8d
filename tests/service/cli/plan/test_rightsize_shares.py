"""What binds a size, and shares of a device, as `perfledger plan rightsize` says them."""

import json
import math

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app

SHARES = (0.2, 0.4, 0.55, 0.7, 0.8, 0.88)
GIB = 2**30
ASKED = ("--p99", "100ms", "--request-rate", "100")


def points(capacity, *, batch=1, gib=None):
    """Those of M/M/1, made up: a request's time is exponential with the rate that is left over."""
    for rate in (share * capacity for share in SHARES):
        scale = 1 / (capacity - rate)
        yield {
            "mode": "open",
            "concurrency": None,
            "offered_per_second": rate,
            "batch": batch,
            "completed": 2_000_000,
            "seconds": 60.0,
            "throughput_per_second": rate,
            "latency_p50_s": scale * math.log(2),
            "latency_p95_s": scale * math.log(20),
            "latency_p99_s": scale * math.log(100),
            "latency_p99_low_s": None,
            "latency_p99_high_s": None,
            "memory_bytes": None if gib is None else gib * GIB,
        }


def closed(clients, *, served, p99_s):
    (first, *_) = points(100.0)
    return first | {
        "mode": "closed",
        "concurrency": clients,
        "offered_per_second": None,
        "throughput_per_second": served,
        "latency_p50_s": clients / served,
        "latency_p95_s": p99_s,
        "latency_p99_s": p99_s,
    }


@pytest.fixture
def written(tmp_path):
    def written(name, device, *load_points, **values):
        whole_fields = {"version": 1, "workload": "m:f", "device": device, "devices": 1} | values
        path = tmp_path / name
        path.write_text(json.dumps(whole_fields | {"points": load_points}))
        return path

    return written


@pytest.fixture
def run():
    def run(*words):
        arguments = ["plan", "rightsize", *map(str, words)]
        done = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"}, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return " ".join(done.stdout.split())

    return run


@pytest.mark.slow(ci_only=True)
def test_shares_are_priced_by_complete_devices_and_named(written, run):
    part = "NVIDIA A100-SXM4-80GB MIG 3g.40gb"
    paths = (
        written("part", part, *points(110.0)),
        written("whole", "NVIDIA A100-SXM4-80GB", *points(130.0)),
    )

    text = run(*paths, *ASKED, "--purchase-option", "p4de.24xlarge/on_demand")

    # Two of 110 keep 0.1 s up to 63.9 a second each, and one device has two such parts; a whole
    # one keeps it up to 83.9.
    assert f"Take 1 x A100-80GB (2 replicas of {part}) for" in text
    assert "2 x A100-80GB" in text


@pytest.mark.slow
def test_a_share_is_not_limited_by_the_memory_of_the_full_device(written, run):
    part = "NVIDIA A100-SXM4-80GB MIG 3g.40gb"

    text = run(written("part", part, *points(110.0, gib=39)), *ASKED)

    assert "more memory" not in text


@pytest.mark.slow
def test_memory_that_limits_the_slices_of_a_device_is_the_binding_limit(written, run):
    path = written("slice", "L40S", *points(60.0, gib=15))

    text = run(f"1/4x={path}", f"1/2x={path}", *ASKED)

    assert "9 replicas of 1/2 of L40S" in text
    assert "(memory)" in text
    assert (
        "m:f on L40S, batch 1, one of 4 time slices: needs more memory than the device has" in text
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "headroom", "says"),
    [
        ("90", "0", ("(2 replicas)", "(latency)")),
        ("90", "30", ("(3 replicas)", "(headroom)")),
        ("20", "20", ("(1 replica)", "(smallest)")),
    ],
)
def test_headroom_takes_more_and_what_binds_is_named(written, run, rate, headroom, says):
    path = written("curve", "H100-80GB", *points(100.0))

    text = run(path, "--p99", "100ms", "--request-rate", rate, "--headroom-percent", headroom)

    assert all(words in text for words in says)


@pytest.mark.slow
def test_throughput_binds_where_the_promise_is_long(written, run):
    path = written("curve", "H100-80GB", *points(100.0))

    text = run(path, "--p99", "2s", "--request-rate", "200", "--headroom-percent", "10")

    assert "(3 replicas)" in text
    assert "(throughput)" in text


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(("rate", "batch"), [(2000, 8), (20, 1)])
def test_a_batch_is_chosen_where_enough_requests_come_to_fill_it(written, run, rate, batch):
    path = written("curve", "H100-80GB", *points(100.0), *points(80.0, batch=8))

    document = json.loads(
        run(path, "--p99", "200ms", "--request-rate", rate, "--format", "json").replace("\n", " ")
    )

    assert document["verdict"] == "decided"
    assert document["options"][0]["batch"] == batch


@pytest.mark.slow
def test_the_concurrency_of_a_closed_loop_is_chosen_and_named(written, run):
    loops = (closed(1, served=50.0, p99_s=0.03), closed(16, served=200.0, p99_s=0.09))

    words = ("--p99", "150ms", "--request-rate", "100", "--format", "json")
    document = json.loads(run(written("loops", "L40S", *loops), *words))

    assert document["options"][0]["concurrency"] == 16
    assert document["options"][0]["is_screening"]


@pytest.mark.slow(ci_only=True)
def test_replicas_of_several_servers_are_not_taken_for_those_of_one(written, run):
    one = written("one", "H100-80GB", *points(100.0))
    four = written("four", "H100-80GB", *points(300.0), servers=4)

    text = run(one, four, *ASKED)

    assert "Take 1 x H100-80GB (1 replica)" in text
    predicted = "H100-80GB, 4 servers: predicted from the other points, the P99 of each of 6 points"
    assert predicted in text
    assert "smallest 4 servers" in text
    document = json.loads(run(one, four, *ASKED, "--format", "json"))
    assert [row["servers_per_replica"] for row in document["options"]] == [4, 1]


@pytest.mark.slow
def test_what_an_open_choice_asks_for_can_be_typed(written, run):
    noisy = [point | {"completed": 4000} for point in points(100.0, batch=2)]
    path = written("curve", "H100-80GB", *noisy, workload="b.w:f[size=3]", servers=2)

    text = run(path, "--p99", "142ms", "--request-rate", "200", "--headroom-percent", "0")

    assert "to decide: perfledger bench load 'b.w:f[size=3]' --request-rate" in text
    assert "--batch 2 --servers 2 --save-curve FILE" in text
