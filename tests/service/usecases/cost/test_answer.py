"""The answer of a comparison against arithmetic on the JSON of the same command."""

import json
from functools import cache

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app

NAMES = ("--at", "on-prem,p4d,p5,tpu-v4")


@pytest.fixture(scope="module")
def compare():
    """Compare in JSON, once for all tests that ask the same; medians are of six digits."""

    @cache
    def compare(*words):
        done = CliRunner().invoke(app, ["cost", "compare", *words, "--json"])
        assert done.exit_code == 0, done.output
        document = json.loads(done.stdout)
        return document["answer"], {
            each["name"]: each | {"p50_usd": float(each["p50_usd"])} for each in document["options"]
        }

    return compare


def own_prices(folder, *rows):
    """Write on-demand prices of H100: name of the machine, USD an hour and accelerator."""
    path = folder / "own.toml"
    path.write_text(
        "".join(
            f'[[price]]\nprovider = "aws"\nsku = "{sku}"\nregion = "us-east-1"\n'
            f'accelerator = "H100-80GB"\ncount = 8\nmodel = "on_demand"\nper_hour = {8 * usd}\n'
            'currency = "USD"\nas_of = 2026-10-01\nsource = "made up"\n'
            for sku, usd in rows
        )
    )
    return ("--overrides", str(path))


@pytest.mark.slow(ci_only=True)
def test_the_cheapest_is_that_of_the_accelerator_that_can_be_owned_and_rented(compare):
    answer, options = compare(*NAMES, "--allocated-percent", "60")

    ranked = {
        name: each["p50_usd"]
        for name, each in options.items()
        if each["accelerator"] == "H100-80GB" and each["chance_cheapest"] is not None
    }
    assert answer["accelerator"] == "H100-80GB"
    assert answer["cheapest"] == min(ranked, key=ranked.__getitem__)
    assert answer["runner_up"] == sorted(ranked, key=ranked.__getitem__)[1]


@pytest.mark.slow(ci_only=True)
def test_another_accelerator_must_keep_the_ratio_of_the_hours(compare):
    answer, options = compare(*NAMES, "--allocated-percent", "60")

    speeds = {each["accelerator"]: each for each in answer["required_speeds"]}
    tpu = options["gcp:tpu-v4/on_demand"]["p50_usd"]
    assert speeds["TPU-v4"]["option"] == "gcp:tpu-v4/on_demand"  # spot has no interruptions
    assert speeds["TPU-v4"]["speed"] == pytest.approx(
        tpu / options[answer["cheapest"]]["p50_usd"], rel=1e-5
    )
    on_demand = options["aws:p5.48xlarge/on_demand"]["p50_usd"]
    assert speeds["TPU-v4"]["speed_to_on_demand"] == pytest.approx(tpu / on_demand, rel=1e-5)
    assert set(speeds) == {"TPU-v4", "A100-40GB", "A100-80GB"}


@pytest.mark.parametrize(
    "share",
    [60, *(pytest.param(share, marks=pytest.mark.slow(ci_only=True)) for share in (40, 80))],
)
def test_at_the_switching_share_the_other_option_is_the_cheapest_and_before_it_is_not(
    compare, share
):
    answer, _ = compare(*NAMES, "--allocated-percent", str(share))

    switches = [each for each in answer["switches"] if each["figure"] == "allocated share"]
    assert switches
    for switch in switches:
        step = 0.01 if switch["value"] < switch["now"] else -0.01
        there, _ = compare(*NAMES, "--allocated-percent", str(100 * switch["value"]))
        before, _ = compare(*NAMES, "--allocated-percent", str(100 * (switch["value"] + step)))
        assert there["cheapest"] == switch["alternative"]
        assert before["cheapest"] == answer["cheapest"]


@pytest.mark.slow(ci_only=True)
def test_at_the_switching_price_both_cost_the_same(compare, tmp_path):
    places = ("--at", "on-prem,p5.48xlarge/on_demand", "--accelerator", "H100-80GB")
    answer, options = compare(*places, "--allocated-percent", "60")
    assert (answer["cheapest"], answer["runner_up"]) == (
        "onprem-8xH100",
        "aws:p5.48xlarge/on_demand",
    )
    (switch,) = [each for each in answer["switches"] if each["figure"].startswith("price of aws")]

    _, cheaper = compare(
        *places,
        "--allocated-percent",
        "60",
        *own_prices(tmp_path, ("p5.48xlarge", switch["value"])),
    )

    assert switch["value"] == pytest.approx(options["onprem-8xH100"]["p50_usd"], rel=1e-5)
    assert cheaper["aws:p5.48xlarge/on_demand"]["p50_usd"] == pytest.approx(
        cheaper["onprem-8xH100"]["p50_usd"], rel=1e-5
    )


@pytest.mark.slow(ci_only=True)
def test_a_price_that_another_option_has_too_is_no_switch(compare):
    # p5.48xlarge and p5.4xlarge cost the same on demand: "6.88 becomes at least 6.88" said nothing.
    answer, options = compare("--at", "on-prem,p5", "--allocated-percent", "40")

    assert (answer["cheapest"], answer["runner_up"]) == (
        "aws:p5.48xlarge/on_demand",
        "aws:p5.4xlarge/on_demand",
    )
    assert options[answer["cheapest"]]["p50_usd"] == options[answer["runner_up"]]["p50_usd"]
    assert not [each for each in answer["switches"] if each["figure"].startswith("price of aws")]


def test_a_single_option_has_nothing_beside_it(compare):
    answer, options = compare("--at", "p4d.24xlarge/on_demand")

    assert set(options) == {answer["cheapest"]}
    assert answer["runner_up"] is None
    assert answer["switches"] == answer["required_speeds"] == []
    assert "the only option of A100-40GB here that can be ranked" in answer["sentences"][0]


def test_options_that_cost_the_same_are_said_to(compare, tmp_path):
    prices = own_prices(tmp_path, ("p5.48xlarge", 6.88), ("p5.96xlarge", 6.88))
    answer, _ = compare("--at", "p5.48xlarge/on_demand,p5.96xlarge/on_demand", *prices)

    assert "as much as on AWS p5.96xlarge on demand" in answer["sentences"][0]


def test_prices_of_low_confidence_and_bare_spot_prices_give_no_answer(compare):
    answer, options = compare("--at", "tpu-v4/spot")

    assert set(options) == {"gcp:tpu-v4/spot"}
    assert answer == {"sentences": [], "accelerator": None}


def test_spot_with_its_interruptions_may_be_the_answer(compare):
    words = ("--interruptions-per-hour", "0.02", "--checkpoint-seconds", "180")
    answer, options = compare("--at", "tpu-v4", *words)

    assert answer["cheapest"] == "gcp:tpu-v4/spot"
    assert options["gcp:tpu-v4/spot"]["chance_cheapest"] == 1


@pytest.mark.parametrize("percent", [10, 50])
def test_spot_partly_on_demand_has_no_switching_price(compare, percent):
    words = ("--interruptions-per-hour", "0.1", "--checkpoint-seconds", "300", "--at", "tpu-v4")
    without, _ = compare(*words)
    answer, _ = compare(*words, "--fallback-percent", str(percent))

    assert [each["figure"] for each in without["switches"]] == [
        "price of gcp:tpu-v4/spot",
        "price of gcp:tpu-v4/on_demand",
    ]
    assert answer["switches"] == []


def test_the_cost_of_owning_changes_the_answer_at_the_rivals_median(compare):
    answer, options = compare(*NAMES, "--allocated-percent", "60")

    (switch,) = [each for each in answer["switches"] if each["figure"] == "cost of owning"]
    rival = next(
        each["p50_usd"]
        for name, each in sorted(options.items(), key=lambda pair: pair[1]["p50_usd"])
        if name.startswith("aws:p5.") and each["chance_cheapest"] is not None
    )
    now = options["onprem-8xH100"]["p50_usd"]
    assert float(switch["now"]) == pytest.approx(now, rel=1e-5)
    assert float(switch["value"]) == pytest.approx(rival, rel=1e-5)


@pytest.mark.slow(ci_only=True)
def test_a_commitment_of_as_many_devices_has_the_chance_that_owning_costs_less(compare):
    places = ("--at", "on-prem,p5.48xlarge/savings_plan/3y_no_upfront")
    answer, options = compare(*places, "--accelerator", "H100-80GB", "--allocated-percent", "60")
    plan = options["aws:p5.48xlarge/savings_plan/3y_no_upfront"]

    assert plan["equal_size_chance"] == pytest.approx(options["onprem-8xH100"]["chance_cheapest"])
    assert "both cost about the same" in answer["sentences"][0]


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (2.0, "than on demand (2.00) at no share"),
        (13.76, "than on demand (13.76) from 2"),
    ],
)
def test_a_break_even_beyond_all_hours_is_none(compare, tmp_path, usd, text):
    prices = own_prices(tmp_path, ("p5.96xlarge", usd))
    places = ("--at", "on-prem,p5.96xlarge", "--accelerator", "H100-80GB")
    answer, _ = compare(*places, "--allocated-percent", "60", *prices)

    assert text in answer["sentences"][0]


def test_a_piece_of_work_needs_no_speed_to_be_kept(compare):
    words = ("--throughput", "8xH100-80GB=32000", "--throughput", "TPU-v4=2000")
    answer, options = compare("--unit", "tokens", *words, "--at", "on-prem,p5,tpu-v4")

    costs = {
        name: float(each["work"]["p50_usd"])
        for name, each in options.items()
        if each["work"]["chance_cheapest"] is not None
    }
    assert answer["cheapest"] == min(costs, key=costs.__getitem__)
    assert answer["required_speeds"] == answer["switches"] == []
    assert "a million tokens costs least" in answer["sentences"][0]
