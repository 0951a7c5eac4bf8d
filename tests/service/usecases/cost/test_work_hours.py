"""Published costs of trainings, from their published inputs."""

import json

import pytest


@pytest.mark.slow(ci_only=True)
def test_a_training_that_is_priced_has_its_energy_and_carbon_too(run, overrides):
    """LLaMA-65B once more, as a piece of work: 2048 A100s in servers of 8 with 400 W for each."""
    path = overrides(
        {"max_power_8xA100": 3.2, "average_load_power_fraction": 1, "pue_hyperscale": 1.1}
    )
    arguments = (
        "--time-to-train",
        "2048xA100-80GB=499.2h",
        "--location-kg-per-kwh",
        0.385,
        "--overrides",
        path,
    )
    options = json.loads(run("cost", "compare", *arguments, "--format", "json"))["options"]

    cloud = next(each for each in options if each["name"].startswith("aws:"))
    carbon = cloud["piece_footprint"]
    assert carbon["energy_kwh"] / 1000 == pytest.approx(449, abs=1)
    assert carbon["location_kg"] / 1000 == pytest.approx(173, abs=1)
    text = " ".join(run("cost", "compare", *arguments).split())
    assert "Energy of a training to target on A100-80GB, cloud: 449," in text


@pytest.mark.parametrize(
    ("hours", "usd"), [(2_664_000, 5.328e6), (119_000, 0.238e6), (2_788_000, 5.576e6)]
)
def test_what_deepseek_v3_cost_at_two_dollars_an_hour(run, overrides, hours, usd, price_table):
    """DeepSeek-V3 Technical Report, arXiv:2412.19437, table 1: 2048 H800, 2 USD an hour of one."""
    path = overrides({}, price_table("h800", 2, accelerator="H800", count=1))
    arguments = (
        "--time-to-train",
        f"2048xH800={hours / 2048}h",
        "--overrides",
        path,
        "--format",
        "json",
    )
    (option,) = json.loads(run("cost", "compare", "--allocated-percent", 100, *arguments))[
        "options"
    ]

    assert float(option["work"]["p50_usd"]) == pytest.approx(usd, rel=1e-9)


@pytest.fixture
def priced_at(overrides, price_table):
    """Write overrides with one price of p5.48xlarge."""
    return lambda per_hour: overrides({}, price_table("p5.48xlarge", per_hour))


# MLPerf Training v3.0 (2023), Dell XE9680 with 8 H100, minutes to the target, as scored from the
# submitter's logs; p5.48xlarge at AWS's rates before and after June 2025.
@pytest.mark.parametrize(
    ("minutes", "per_hour", "usd"),
    [(5.264, 98.32, 8.626), (5.264, 55.04, 4.829), (13.410, 55.04, 12.301)],
)
def test_an_mlperf_result_costs_its_time_at_the_instances_rate(
    run, priced_at, minutes, per_hour, usd
):
    path = priced_at(per_hour)
    arguments = (
        "--time-to-train",
        f"8xH100-80GB={minutes}m",
        "--overrides",
        path,
        "--format",
        "json",
    )
    options = json.loads(run("cost", "compare", "--allocated-percent", 100, *arguments))["options"]

    (option,) = (each for each in options if each["name"] == "aws:p5.48xlarge/on_demand")
    assert float(option["work"]["p50_usd"]) == pytest.approx(usd, abs=0.001)
