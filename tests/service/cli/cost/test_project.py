"""`perfledger cost project` as a user runs it; the bundles are made up."""

import csv
import json
from dataclasses import replace
from io import StringIO
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import Device, Machine, Side
from perfledger.step_work import BYTES, FLOPS, Count, CountedWork, StepWork
from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.usecases.cost.project import MAX_DECLARED_BYTES

A100 = Machine(
    device=Device.CUDA,
    model="NVIDIA A100-SXM4-80GB",
    memory_bytes=85_000_000_000,
    cpu_model="Test CPU",
)
DECLARED = """
[[workload]]
name = "{name}"
unit = "tokens"
[[workload.arithmetic]]
dtypes = ["bfloat16"]
flops = 1.8e9
source = "6 N"
"""
ON_A100 = ("--source-accelerator", "A100-80GB")


def counted(*, flops=1e12):
    counts = (
        Count(name=FLOPS, unit="FLOP", value=flops, source="FlopCounterMode"),
        Count(name=BYTES, unit="B", value=4e9, source="unfused"),
    )
    return CountedWork(workload="gpt:step", side=Side.HEAD, work=StepWork(counts=counts))


IDLE = Profile(
    workload="gpt:step",
    side=Side.HEAD,
    tool="torch.profiler",
    steps=1,
    step_seconds=0.02,
    operations=(
        Operation(name="gemm", bucket=Bucket.COMPUTE, seconds=0.015, count=1),
        Operation(name="python", bucket=Bucket.CPU, seconds=0.005, count=1),
    ),
)


@pytest.fixture
def run():
    def run(*words, code=0):
        done = CliRunner().invoke(app, ["cost", "project", *map(str, words)], env={"COLUMNS": "80"})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.stdout
        return done.stdout

    return run


@pytest.fixture
def declared(tmp_path):
    def declared(*names):
        path = tmp_path / "workloads.toml"
        path.write_text("".join(DECLARED.format(name=name) for name in names))
        return path

    return declared


@pytest.fixture
def bundle_file(make_bundle, tmp_path):
    def bundle_file(**values):
        path = tmp_path / "bundle.json"
        values = {"machine": A100, "work": (counted(),)} | values
        path.write_text(make_bundle(ratio=1.0, **values).to_json())
        return path

    return bundle_file


def test_a_benchmark_is_projected_with_its_interval_and_its_sources(run):
    output = run("training/bert", *ON_A100)

    assert "training/bert, projected from A100-80GB, not measured" in output
    assert "H100-80GB" in output
    assert "times as fast" in output
    assert "TPU-v4" in output
    assert "(assumed)" in output
    assert "there is no cost" in " ".join(output.split())
    assert max(map(len, output.splitlines())) <= 80


def test_with_a_speed_every_option_has_a_price(run):
    document = json.loads(
        run(
            *("training/bert", *ON_A100, "--target-accelerator", "h100-sxm5-80gb"),
            *("--units-per-second", 400, "--format", "json"),
        )
    )

    (device,) = document["devices"]
    assert document["provenance"] == device["provenance"] == "projected"
    assert [cost["option"] for cost in document["costs"]] == [
        "onprem-8xH100",
        "p5.48xlarge/on_demand",
    ]
    listed = document["costs"][1]
    assert listed["provenance"] == "projected"
    rate = float(listed["usd_per_device_hour"])
    expected = rate / (400 * device["speed"] * 3600 / 1e6)
    assert float(listed["usd_per_million_units"]) == pytest.approx(expected)
    assert device["low"] < device["speed"] < device["high"]


def test_an_accelerator_beside_the_standard_ones_has_its_prices_on_demand(run):
    output = run(
        "training/resnet", *ON_A100, "--target-accelerator", "L4", "--units-per-second", 3000
    )

    assert "on demand" in output


def test_a_device_may_be_called_as_it_calls_itself(run):
    names = ("h100-sxm5-80gb", "H100-80GB", "nvidia h100 80gb hbm3")

    outputs = {run("training/resnet", *ON_A100, "--target-accelerator", name) for name in names}

    assert len(outputs) == 1


def test_a_device_without_a_peak_has_no_value_and_says_why(run):
    document = json.loads(
        run(
            "inference/resnet50",
            *ON_A100,
            "--target-accelerator",
            "v100-pcie-16gb",
            "--format",
            "json",
        )
    )

    (device,) = document["devices"]
    assert device["reason"] == "v100-pcie-16gb has no published peak for int8"
    assert device["speed"] is None
    assert document["costs"] == []


def test_a_declared_workload_is_projected(run, declared):
    output = run(declared("gpt:step"), *ON_A100, "--units-per-second", "1e5")

    assert "gpt:step, projected from A100-80GB" in output
    assert "Declared on A100-80GB: 100,000 tokens a second" in output
    assert "A unit takes 1.80" in output


def test_one_of_several_workloads_must_be_chosen(run, declared):
    path = declared("a", "b")

    with pytest.raises(
        NotFoundError, match=r"choose a workload of .*/workloads\.toml with --workload: a, b"
    ):
        run(path, *ON_A100)
    assert "b, projected" in run(path, *ON_A100, "--workload", "b")


def test_csv_has_a_row_for_each_option_and_no_formula(run, declared):
    path = declared("=cmd()")

    output = run(path, *ON_A100, "--units-per-second", 100, "--format", "csv")

    rows = list(csv.DictReader(StringIO(output)))
    assert {row["provenance"] for row in rows} == {"projected"}
    assert {row["workload"] for row in rows} == {"'=cmd()"}
    costs = [row for row in rows if row["table"] == "costs"]
    assert [row["device"] for row in costs] == ["H100-80GB", "H100-80GB", "TPU-v4"]
    assert all(float(row["usd_per_million_units"]) > 0 for row in costs)


def test_a_table_says_why_there_is_no_figure(run):
    text = " ".join(
        run("inference/resnet50", *ON_A100, "--target-accelerator", "v100-pcie-16gb").split()
    )

    assert "v100-pcie-16gb not known v100-pcie-16gb has no published peak for int8" in text


def test_every_figure_of_a_workload_is_shown_with_its_source(run):
    messages = " ".join(run("training/dlrm_dcnv2", *ON_A100).split())
    waiting = " ".join(run("training/rnnt", *ON_A100).split())

    assert "of all_to_all over 8: 26 pooled rows" in messages
    assert "the same on every device (assumed): 1435 steps" in waiting


def test_csv_says_why_there_is_no_figure(run):
    output = run(
        "inference/resnet50", *ON_A100, "--target-accelerator", "v100-pcie-16gb", "--format", "csv"
    )

    (row,) = csv.DictReader(StringIO(output))
    assert (row["speed"], row["option"]) == ("", "")
    assert "no published peak" in row["reason"]


def test_the_picture_is_well_formed_and_escapes_names(run, declared, tmp_path):
    output = tmp_path / "projection.svg"

    run(declared("<script>"), *ON_A100, "--format", "svg", "--output", output)

    text = output.read_text()
    assert "<script>" not in text
    root = ElementTree.fromstring(text)
    assert len([each for each in root.iter() if each.get("class") == "fill blue"]) == 2


def test_the_picture_names_devices_that_are_not_known(run):
    output = run(
        "inference/resnet50", *ON_A100, "--target-accelerator", "v100-pcie-16gb", "--format", "svg"
    )

    assert "unknown: v100-pcie-16gb" in output


def test_a_bundle_says_itself_where_it_ran_and_how_fast(run, bundle_file):
    document = json.loads(run(bundle_file(), "--format", "json"))

    assert (document["source"], document["source_provenance"]) == ("A100-80GB", "measured")
    low, middle, high = document["source_units_per_second"]
    assert low <= middle <= high
    assert middle == pytest.approx(100, rel=0.01)
    assert [each["device"] for each in document["devices"]] == ["H100-80GB", "TPU-v4"]
    assert document["workload"]["fixed"] is None
    assert document["devices"][0]["unexplained"] == pytest.approx(0.41, abs=0.02)


def test_time_that_the_roofline_does_not_explain_is_shown(run, bundle_file):
    text = " ".join(run(bundle_file()).split())

    assert "of the time on A100-80GB is not explained by its roofline, and may be host time" in text


def test_a_profile_gives_the_hosts_share(run, bundle_file):
    document = json.loads(run(bundle_file(profiles=(IDLE,)), "--format", "json"))

    assert document["workload"]["fixed"]["seconds"] == pytest.approx(0.0025, rel=0.01)
    assert "25.0 %" in document["workload"]["fixed"]["source"]


def test_a_profile_of_the_base_does_not_describe_the_head(run, bundle_file):
    base = replace(IDLE, side=Side.BASE)

    document = json.loads(run(bundle_file(profiles=(base,)), "--format", "json"))

    assert document["workload"]["fixed"] is None


def test_the_type_that_a_bundle_computes_in_is_given(run, bundle_file):
    document = json.loads(
        run(bundle_file(), "--dtype", "tf32", "--target-accelerator", "TPU-v4", "--format", "json")
    )

    assert document["devices"][0]["reason"] == "tpu-v4 has no published peak for tf32"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"work": ()}, "was not counted"),
        ({"work": (counted(flops=1e-40),)}, "flops is"),
        ({"work": (counted(flops=0.0),)}, "was not counted"),
        ({"runs": ()}, "was not measured"),
        ({"machine": replace(A100, count=8)}, "8 devices"),
        ({"machine": Machine(device=Device.CPU, model="Test CPU")}, "CPU"),
        ({"machine": replace(A100, model="NVIDIA Z80")}, "Z80"),
        ({"workloads": ("gpt:step", "gpt:other")}, "--workload"),
    ],
)
def test_a_bundle_that_cannot_be_projected_says_why(run, bundle_file, values, problem):
    with pytest.raises(UsageError, match=problem):
        run(bundle_file(**values))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("training/bert",), "--source-accelerator"),
        (("training/bert", "--source-accelerator", "Z80"), "a100-sxm4-80gb"),
        (("training/bert", *ON_A100, "--target-accelerator", "Z80"), "a100-sxm4-80gb"),
        (("training/bert", *ON_A100, "--units-per-second", "0"), "above 0"),
        (("training/bert", *ON_A100, "--units-per-second", "nan"), "above 0"),
        (("training/bert", *ON_A100, "--dtype", "int8"), "for bundles"),
        (("bundle.json", *ON_A100), "already has a device"),
        (
            ("nothing.json",),
            "nothing.json is neither a file nor a packaged benchmark: choose from training/bert",
        ),
        (("nothing.toml", *ON_A100), "nothing.toml"),
    ],
)
def test_a_usage_error_names_the_choices(run, words, problem):
    with pytest.raises(UsageError, match=problem):
        run(*words)


def test_a_file_that_is_too_large_is_not_read(run, tmp_path):
    path = tmp_path / "workloads.toml"
    with path.open("wb") as file:
        file.truncate(MAX_DECLARED_BYTES + 1)

    with pytest.raises(TooLargeError, match="split"):
        run(path, *ON_A100)


def test_a_file_that_is_not_text_is_an_error(run, tmp_path):
    path = tmp_path / "workloads.toml"
    path.write_bytes(b"\xff")

    with pytest.raises(UsageError, match="is not UTF-8 text"):
        run(path, *ON_A100)


def test_less_power_is_a_slower_device_that_no_result_checks(run):
    words = ("training/bert", *ON_A100, "--target-accelerator", "H100-80GB")

    (own,) = json.loads(run(*words, "--json"))["devices"]
    (limited,) = json.loads(run(*words, "--power-limit", "350", "--json"))["devices"]

    assert limited["device"] == "H100-80GB at 350 W"
    assert limited["speed"] < own["speed"]
    assert own["is_calibrated"]
    assert not limited["is_calibrated"]


@pytest.mark.parametrize(
    ("device", "watts", "problem"),
    [
        ("H100-80GB", "701", "700 W"),
        ("H100-80GB", "349", "half of its 700 W"),
        ("H100-80GB", "0", "700 W"),
        ("H100-80GB", "5e-324", "half of its 700 W"),
        ("TPU-v5e", "200", "unknown"),
    ],
)
def test_a_power_limit_is_below_the_boards_power_and_not_far(run, device, watts, problem):
    words = ("training/bert", *ON_A100, "--target-accelerator", device)

    with pytest.raises(UsageError, match=problem):
        run(*words, "--power-limit", watts)
