import json

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.errors import UsageError

# GPT-3's shape (Brown et al. 2020) and PaLM's formula: 6 N + 12 L H Q T FLOPs a token.
GPT3 = (
    *("--parameters", "174.6e9", "--layers", "96", "--heads", "96"),
    *("--head-size", "128", "--context-length", "2048"),
)
FLOPS_A_TOKEN = 6 * 174.6e9 + 12 * 96 * 96 * 128 * 2048


@pytest.fixture
def mfu():
    def mfu(*arguments):
        done = CliRunner().invoke(app, ["trace", "mfu", *arguments], env={"COLUMNS": "100"})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0
        return done.stdout.replace("\u00a0", " ")

    return mfu


@pytest.fixture
def figures(mfu):
    def figures(*arguments):
        document = json.loads(mfu(*arguments, "--format", "json"))
        return {one["name"]: one["value"] for one in document["figures"]}

    return figures


def test_a_transformers_mfu_is_palms(figures):
    values = figures(
        *(
            "--step-seconds",
            "2",
            "--units-per-step",
            "1e5",
            "--devices",
            "1024",
            "--accelerator",
            "a100-sxm4-80gb",
            *GPT3,
        )
    )

    assert values["mfu"] == pytest.approx(1e5 * FLOPS_A_TOKEN / 2 / (1024 * 312e12))
    assert values["throughput"] == 5e4
    assert values["achieved_flops"] == pytest.approx(1e5 * FLOPS_A_TOKEN / 2)
    assert "hfu" not in values


def test_recomputed_work_is_in_hfu_only(figures):
    values = figures(
        *(
            "--step-seconds",
            "1",
            "--model-flops",
            "3e14",
            "--recomputed-flops",
            "1e14",
            "--accelerator",
            "a100-sxm4-80gb",
        )
    )

    assert values["mfu"] == pytest.approx(3 / 3.12)
    assert values["hfu"] == pytest.approx(4 / 3.12)


def test_a_utilization_above_one_has_a_warning(mfu):
    step = ("--step-seconds", "1", "--accelerator", "a100-sxm4-80gb", "--format", "json")

    above, below = (json.loads(mfu(*step, "--model-flops", flops)) for flops in ("4e14", "3e14"))

    assert any("no device exceeds" in note for note in above["notes"])
    assert below["notes"] == []


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (("--one-device-seconds", "0.9"), "scaling_eff_weak", 0.9),
        (("--one-device-seconds", "6.0", "--strong-scaling"), "scaling_eff_strong", 0.75),
        (("--units-per-step", "800", "--energy-joules", "400"), "perf_per_watt", 2.0),
    ],
)
def test_a_figure_follows_from_the_given_values(figures, arguments, name, value):
    assert figures("--step-seconds", "1", "--devices", "8", *arguments)[name] == pytest.approx(
        value
    )


def test_strong_scaling_needs_the_time_on_one_device(mfu):
    with pytest.raises(UsageError, match=r"--strong-scaling: .* --one-device-seconds"):
        mfu("--step-seconds", "1", "--strong-scaling")


def test_figures_are_shown_with_their_formulas(mfu):
    text = mfu("--step-seconds", "0.5", "--model-flops", "78e12", "--accelerator", "a100-sxm4-80gb")

    assert "a step of 500 ms (as given) on 1 x a100-sxm4-80gb, 312 TFLOP/s each" in text
    assert "MFU" in text
    assert "50.0 %" in text
    assert "PaLM" in text


@pytest.mark.parametrize(
    ("device", "limit"),
    [
        ("t4", "the clock it reached is unknown: no peak, no roofline"),
        ("NVIDIA A100-PCIE-40GB", "limited to 250 W"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "scaled to MIG 1g.5gb"),
    ],
)
def test_a_device_below_its_peak_has_a_note(mfu, device, limit):
    step = (
        "--step-seconds",
        "1",
        "--model-flops",
        "1e12",
        "--accelerator",
        device,
        "--dtype",
        "float16",
    )
    document = json.loads(mfu(*step, "--format", "json"))

    assert limit in document["notes"][0]


def test_a_board_that_is_held_back_has_the_peak_of_the_clock_that_it_reached(mfu):
    step = (
        "--step-seconds",
        "1",
        "--model-flops",
        "1e12",
        "--dtype",
        "float16",
        "--format",
        "json",
    )

    unknown, known_document = (
        json.loads(mfu(*step, "--accelerator", "t4", *clock))
        for clock in ((), ("--clock-mhz", "795"))
    )

    assert unknown["peak_flops_per_second"] is None
    assert "--clock-mhz" in unknown["notes"][-1]
    assert known_document["peak_flops_per_second"] == 32.5e12


def test_markdown_has_a_row_a_figure(mfu):
    text = mfu("--step-seconds", "0.5", "--units-per-step", "10", "--format", "markdown")

    assert "| throughput | 20 1/s | items / step time |" in text, text
    assert "without a known device there is no peak" in text.lower()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "give the step's time"),
        (("--step-seconds", "0"), "--step-seconds 0: give the time of a step in seconds, above 0"),
        (("--step-seconds", "nan"), "--step-seconds NaN: give the time"),
        (("--step-seconds", "1", "--units-per-step", "inf"), "items_per_step"),
        (("--step-seconds", "1", "--one-device-seconds", "0"), "step_seconds"),
        (("--step-seconds", "1", "--layers", "3"), "need --parameters"),
        (("--step-seconds", "1", "--parameters", "1e9"), "give --units-per-step"),
        (
            (
                "--step-seconds",
                "1",
                "--units-per-step",
                "5",
                "--model-flops",
                "1",
                "--parameters",
                "1",
            ),
            "either --model-flops",
        ),
        (
            ("--step-seconds", "1", "--accelerator", "H9000"),
            "no device is named 'H9000'.*similar name.*choose from",
        ),
        (
            ("--step-seconds", "1", "--accelerator", "H100"),
            "may be h100-sxm5-80gb or h100-pcie-80gb or h100-nvl",
        ),
        (
            ("--step-seconds", "1", "--accelerator", "NVIDIA H100 80GB HBM3 MIG 3g.40gb"),
            "multiprocessors",
        ),
        (
            ("--step-seconds", "1", "--accelerator", "h100-nvl", "--clock-mhz", "900"),
            "slowed by their power limit",
        ),
        (
            ("--step-seconds", "1", "--accelerator", "t4", "--clock-mhz", "0"),
            "give a value above 0",
        ),
        (
            ("--step-seconds", "1", "--accelerator", "a100-sxm4-80gb", "--dtype", "int3"),
            "no dense peak",
        ),
        (
            ("--step-seconds", "1", "--accelerator", "t4"),
            "no dense peak of t4 is known for 'bfloat16'",
        ),
    ],
)
def test_a_usage_error_says_why(mfu, arguments, complaint):
    with pytest.raises(UsageError, match=complaint):
        mfu(*arguments)
