"""`perfledger fleet utilization` as a user runs it, on exports that are made up here."""

import csv
import json
from functools import partial
from xml.etree import ElementTree

import pytest

from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.usecases.fleet.utilization import mig_parts
from perfledger_service.usecases.inputs.files import read_bytes

T0 = 1_790_000_000
STEP = 600
STEPS = 8 * 24 * 6
MODEL = "NVIDIA A100-SXM4-80GB"


@pytest.fixture
def run(run):
    return partial(run, "fleet", "utilization")


def series(metric, device, share, **labels):
    labels = {"__name__": metric, "UUID": device, "modelName": MODEL, **labels}
    values = [[T0 + STEP * at, str(share(at))] for at in range(STEPS) if share(at) is not None]
    return {"metric": labels, "values": values}


@pytest.fixture
def export(tmp_path):
    """Eight days: a team that looks busy, one that stops after half, a notebook, a free device."""
    busy = {"namespace": "ads", "pod": "serve-0"}
    idle = {"namespace": "nlp", "pod": "[red]train-0"}
    small = {"namespace": "lab", "pod": "notebook"}
    util, active, used = ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_FB_USED")
    result = [
        series(util, "GPU-1", lambda _: 91, **busy),
        series(active, "GPU-1", lambda _: 0.156, **busy),
        series(util, "GPU-2", lambda at: 80 if at < STEPS / 2 else 0, **idle),
        series(util, "GPU-3", lambda at: None if 5 < at < 9 else 8, **small),
        series(active, "GPU-3", lambda _: 0.04, **small),
        series(used, "GPU-3", lambda _: 6000, **small),
        series(util, "GPU-4", lambda _: 0),
    ]
    path = tmp_path / "range.json"
    path.write_text(json.dumps({"data": {"resultType": "matrix", "result": result}}))
    return path


def test_the_table_of_owners_fits_eighty_columns(run, export):
    output = run(export, "--group-by", "namespace")

    assert "range.json: 4 devices, 8.0 days" in output
    assert "(nobody)" in output
    assert "steady" in output
    assert max(map(len, output.splitlines())) <= 80


def test_the_sentences_say_what_to_do_with_the_evidence(run, export):
    text = " ".join(run(export).split())

    assert "34.8 % of 767.5 known device-hours were in use by GPU-util." in text
    assert "0.5 more are unknown: utilization is " in text
    assert (
        "Without 96 h allocated to jobs without work and 192 h not allocated, 55.6 % is rea" in text
    )
    assert "nlp/[red]train-0: 96 h on 1 device (at least 95.5), GPU-util at most" in text
    assert "ads/serve-0: GPU-util 91.0 %, SM-active 15.6 % over 192 h" in text
    assert f"lab/notebook: 1g.10gb of {MODEL}; SM-active P99 4.0 %" in text
    assert "unknown" in text


def test_the_default_dcgm_fields_reveal_misleading_gpu_utilization(run, tmp_path):
    held_fields = {"namespace": "ads", "pod": "serve-0"}
    result = [
        series("DCGM_FI_DEV_GPU_UTIL", "GPU-1", lambda _: 91, **held_fields),
        series("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "GPU-1", lambda _: 0.156, **held_fields),
    ]
    path = tmp_path / "range.json"
    path.write_text(json.dumps({"data": {"resultType": "matrix", "result": result}}))

    text = " ".join(run(path).split())

    assert "range.json: 1 device, 8.0 days" in text
    assert "ads/serve-0: GPU-util 91.0 %, engine-active 15.6 % over 192 h" in text


def test_a_target_has_its_price_with_where_that_is_from(run, export):
    text = " ".join(
        run(export, "--target-percent", 50, "--purchase-option", "p5.48xlarge/on_demand").split()
    )

    assert "The same work at 50 % takes 233." in text
    assert "these cost 1,610 USD at AWS p5.48xlarge, on demand (" in text
    assert "2026-" in text
    assert "Freed hours save cash only if they are paid by the hour" in text


def test_freed_hours_of_an_owned_device_are_capacity_and_no_cash(run, export):
    text = " ".join(run(export, "--purchase-option", "onprem-8xH100").split())

    assert "paid for anyway at On-premises 8xH100 at 40 % use: capacity, no cash" in text


def test_hours_cost_what_the_organisations_own_prices_say(run, export, own_prices):
    option = ("--purchase-option", "p5.48xlarge/savings_plan/3y_no_upfront")

    document = json.loads(run(export, *option, "--overrides", own_prices, "--json"))

    assert document["target"]["rate_source"].endswith("quote 815")


def test_above_the_target_nothing_is_to_be_freed(run, export):
    assert "nothing to free" in run(export, "--target-percent", 30)


def test_figures_are_written_as_json(run, export):
    document = json.loads(
        run(export, "--format", "json", "--purchase-option", "p5.48xlarge/on_demand")
    )

    assert document["format"] == "perfledger-utilization"
    assert document["total"]["signals"]["sm_active"] == pytest.approx((0.156 + 0.04) / 2)
    assert {each["owner"] for each in document["owners"]} == {"ads", "nlp", "lab", "(nobody)"}
    assert document["idle_jobs"][0]["owner"]["job"] == "[red]train-0"
    assert document["idle_jobs"][0]["busy_at_most"] < 0.01
    assert document["misleading_gpu_util"][0]["hours_apart"] == pytest.approx(192 * (0.91 - 0.156))
    assert document["mig_candidates"][0]["part"]["name"] == "1g.10gb"
    assert float(document["target"]["freed_usd"]) > 0
    assert len(document["hours_of_week"]) == 168


def test_the_keys_of_the_json_are_those_of_its_version_in_their_order(run, export):
    document = json.loads(run(export, "--format", "json"))

    assert " ".join(document["target"]) == (
        "target freed_hours idle_hours free_hours reached years rate freed_hours_a_year freed_usd "
        "freed_usd_ends rate_as_of rate_source"
    )
    assert " ".join(document["idle_jobs"][0]) == (
        "owner signal device_hours least_hours stretches devices highest samples busy_at_most "
        "memory start end"
    )
    assert " ".join(document["misleading_gpu_util"][0]) == (
        "owner device_hours gpu_util sm_active tensor_active engine_active hours_apart"
    )
    assert " ".join(document["mig_candidates"][0]) == (
        "owner model part device_hours memory activity signal freed_hours"
    )


def test_figures_are_written_as_csv(run, export):
    rows = {
        row["owner"]: row for row in csv.DictReader(run(export, "--format", "csv").splitlines())
    }

    assert float(rows["nlp"]["idle_hours"]) == pytest.approx(96)
    assert rows["nlp"]["signals_sm_active"] == ""
    assert float(rows["ads"]["mean"]) == pytest.approx(0.91)
    assert float(rows["lab"]["missing_hours"]) == pytest.approx(0.5)


def test_the_picture_is_valid_and_escapes_foreign_text(run, export):
    hostile = export.rename(export.parent / "<b>&.json")
    hostile.write_text(hostile.read_text().replace("notebook", "<script>"))

    output = run(hostile, "--format", "svg", "--group-by", "job")

    assert ElementTree.fromstring(output).tag.endswith("svg")
    assert "<script>" not in output


@pytest.mark.slow
def test_many_holders_are_counted(run, tmp_path):
    result = [
        series("DCGM_FI_DEV_GPU_UTIL", f"GPU-{at}", lambda _: 0, namespace="n", pod=f"p{at:02}")
        for at in range(24)
    ]
    path = tmp_path / "range.json"
    path.write_text(json.dumps({"data": {"resultType": "matrix", "result": result}}))

    output = run(path, "--group-by", "job")

    assert "and 4 more" in output
    assert "and 16 more; --format json has all" in output
    assert "nothing is left" in output
    assert "and 8 more" in run(path, "--group-by", "job", "--format", "svg")


def test_accounting_gives_an_upper_limit_of_use(run, tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|JobName|Account|Start|End|AllocTRES|TRESUsageInTot\n"
        "7|t|nlp|2026-10-01T00:00:00|2026-10-01T04:00:00|gres/gpu=2|\n"
        "7.0|t|nlp|2026-10-01T00:00:00|2026-10-01T04:00:00||gres/gpuutil=60\n"
    )

    text = " ".join(run(path).split())

    assert "<30.0 % of 8 known device-hours" in text
    assert "takes at least 4.571 fewer device-hours" in text
    assert "No idle periods are known" in text
    assert "at most 30.0 %" in run(path, "--format", "svg")


def test_samples_outside_0_to_1_and_owners_without_the_signal_are_noted(run, tmp_path):
    result = [
        series("DCGM_FI_DEV_GPU_UTIL", "GPU-1", lambda at: 50 if at else 2147483632),
        series("DCGM_FI_PROF_SM_ACTIVE", "GPU-2", lambda _: 0.5, namespace="n", pod="p"),
    ]
    path = tmp_path / "range.json"
    path.write_text(json.dumps({"data": {"resultType": "matrix", "result": result}}))

    output = run(path)

    assert "1 sample is not a share" in output
    assert "unknown" in output
    assert "not known" in run(path, "--format", "svg")


def test_parts_are_named_as_nvidia_names_them():
    models = [
        MODEL,
        "NVIDIA A100-SXM4-40GB",
        "NVIDIA H100 80GB HBM3",
        "NVIDIA H200",
        "NVIDIA L4",
        "x",
    ]

    parts = mig_parts(models)

    assert {model: [part.name for part in result] for model, result in parts.items()} == {
        MODEL: ["1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb"],
        "NVIDIA A100-SXM4-40GB": ["1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb"],
        "NVIDIA H100 80GB HBM3": ["1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb"],
        "NVIDIA H200": ["1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb"],
    }
    assert parts[MODEL][0].multiprocessors == pytest.approx(14 / 108)
    assert parts["NVIDIA H200"][0].multiprocessors == 0.12
    assert parts[MODEL][1].occupied == 0.25


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("none.json",), NotFoundError, "none.json"),
        (("EXPORT", "--target-percent", "170"), UsageError, "a target of 170 % is not"),
        (("EXPORT", "--signal", "tensor_active"), UsageError, "no file has"),
        (("EXPORT", "--purchase-option", "p9/on_demand"), UsageError, "p9"),
        (("EXPORT", "EXPORT"), UsageError, "appears twice"),
        (("FOLDER",), UsageError, "is a folder: give a file"),
    ],
)
def test_a_usage_error_says_why(run, export, words, error, message):
    known_fields = {"EXPORT": export, "FOLDER": export.parent}

    with pytest.raises(error, match=message):
        run(*(known_fields.get(word, word) for word in words))


def test_a_file_that_is_too_large_is_not_read(export):
    with pytest.raises(TooLargeError, match="larger than 10 bytes"):
        read_bytes(export, most_bytes=10)
