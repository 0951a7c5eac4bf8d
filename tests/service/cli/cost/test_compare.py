"""`perfledger cost` as a user runs it."""

import json
from xml.etree import ElementTree

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_service.errors import NotFoundError, UsageError


@pytest.mark.slow(ci_only=True)
def test_hours_are_compared_with_the_cheapest_first(run):
    options = json.loads(run("cost", "compare", "--allocated-percent", "70", "--format", "json"))[
        "options"
    ]

    medians = [float(option["p50_usd"]) for option in options]
    assert medians == sorted(medians)
    assert sum(option["chance_cheapest"] or 0 for option in options) == pytest.approx(1)
    by_name = {option["name"]: option for option in options}
    assert by_name["aws:p5.48xlarge/on_demand"]["break_even"]["p50"] == pytest.approx(
        0.43, abs=0.01
    )
    assert by_name["onprem-8xH100"]["break_even"] is None


@pytest.mark.slow(ci_only=True)
def test_the_table_names_assumptions_and_stale_prices(run):
    text = " ".join(run("cost", "compare").split())

    assert "Assumed, not measured: storage, share of the servers' price" in text
    assert "capacity block prices are valid for 30 days" in text


def test_an_accelerator_that_nobody_owns_has_no_break_even(run):
    options = json.loads(run("cost", "compare", "--accelerator", "TPU-v4", "--format", "json"))[
        "options"
    ]

    assert {option["name"] for option in options} >= {"gcp:tpu-v4/on_demand", "gcp:tpu-v4/spot"}
    assert all(option["break_even"] is None for option in options)


@pytest.mark.slow(ci_only=True)
def test_markdown_has_a_row_for_each_option(run):
    output = run("cost", "compare", "--at", "on-prem,p5", "--format", "markdown")

    row = next(line for line in output.splitlines() if "`aws:p5.48xlarge/on_demand`" in line)
    assert row.startswith("| `aws:p5.48xlarge/on_demand` | 6.88 |")
    assert "| 42\N{NO-BREAK SPACE}% |" in row
    assert "as of `2026-11-09` |" in row


@pytest.mark.slow(ci_only=True)
def test_every_accelerator_on_the_sheet_can_be_compared(run):
    for accelerator in sorted({price.accelerator for price in packaged_sheet().prices}):
        trusted = [
            price
            for price in packaged_sheet().prices
            if price.accelerator == accelerator and price.is_trusted
        ]
        if trusted:
            run("cost", "compare", "--accelerator", accelerator)


def test_an_accelerator_without_a_price_says_which_there_are(run):
    with pytest.raises(NotFoundError, match="A100-40GB"):
        run("cost", "compare", "--accelerator", "Z80")


@pytest.mark.parametrize("use", ["0", "101", "nan"])
def test_a_use_is_a_share_of_the_hours(run, use):
    with pytest.raises(UsageError, match="above 0"):
        run("cost", "compare", "--allocated-percent", use)


@pytest.mark.slow(ci_only=True)
def test_speeds_give_the_cost_of_a_million_tokens_on_all_accelerators(run):
    words = ("--throughput", "8xH100-80GB=32000", "--throughput", "TPU-v4=2000", "--unit", "tokens")
    document = json.loads(run("cost", "compare", *words, "--format", "json"))

    by_name = {option["name"]: option for option in document["options"]}
    assert document["piece"] == "a million tokens"
    work = by_name["aws:p5.48xlarge/on_demand"]["work"]
    assert float(work["p50_usd"]) == pytest.approx(6.88 / (4000 * 3600 / 1e6), rel=1e-5)
    assert {option["accelerator"] for option in document["options"]} == {"H100-80GB", "TPU-v4"}
    chances = [option["work"]["chance_cheapest"] for option in document["options"]]
    assert sum(chance for chance in chances if chance is not None) == pytest.approx(1)


@pytest.mark.slow(ci_only=True)
def test_a_step_and_an_inference_cost_what_their_closed_forms_say(run):
    def usd(*words):
        options = json.loads(run("cost", "compare", *words, "--format", "json"))["options"]
        return next(
            float(option["work"]["mode_usd"])
            for option in options
            if option["name"] == "aws:p5.48xlarge/on_demand"
        )

    assert usd("--step-seconds", "8xH100-80GB=0.45") == pytest.approx(55.04 * 0.45 / 3600, rel=1e-5)
    assert usd("--queries-per-second", "H100-80GB=42") == pytest.approx(6.88 / (42 * 3.6), rel=1e-5)


LOG = """:::MLLOG {"namespace": "", "time_ms": 1000, "event_type": "INTERVAL_START", \
"key": "run_start", "value": null, "metadata": {}}
:::MLLOG {"namespace": "", "time_ms": 316840, "event_type": "INTERVAL_END", \
"key": "run_stop", "value": null, "metadata": {"status": "%s"}}
"""


@pytest.mark.slow
def test_a_training_costs_the_time_of_its_log(run, tmp_path):
    log = tmp_path / "bert.log"
    log.write_text(LOG % "success")

    document = json.loads(
        run("cost", "compare", "--time-to-train", f"8xH100-80GB={log}", "--format", "json")
    )

    option = next(o for o in document["options"] if o["name"] == "aws:p5.48xlarge/on_demand")
    assert float(option["work"]["mode_usd"]) == pytest.approx(55.04 * 315.84 / 3600, rel=1e-5)


@pytest.mark.slow
def test_a_training_that_reached_no_target_has_no_cost(run, tmp_path):
    log = tmp_path / "bert.log"
    log.write_text(LOG % "aborted")

    with pytest.raises(UsageError, match="no time to train"):
        run("cost", "compare", "--time-to-train", f"8xH100-80GB={log}")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--throughput", "fast"), "ACCELERATOR=VALUE"),
        (("--throughput", "H100-80GB=fast"), "neither a number"),
        (("--throughput", "H100-80GB=3:2:1"), "in this order"),
        (("--throughput", "H100-80GB=0"), "above zero"),
        (("--throughput", "H100-80GB=nan"), "above zero|order"),
        (("--throughput", "H100-80GB=1", "--step-seconds", "H100-80GB=1"), "one of"),
        (("--step-seconds", "H100-80GB=1", "--step-seconds", "8xH100-80GB=1"), "one for each"),
        (("--time-to-train", "H100-80GB=nothing.log"), "neither a log nor a time"),
        (("--interruptions-per-hour", "0.1"), "both"),
        (("--years", "4"), "3 or 5"),
        (("--availability-percent", "0"), "availability"),
    ],
)
def test_an_unusable_option_is_refused(run, words, reason):
    with pytest.raises(UsageError, match=reason):
        run("cost", "compare", *words)


@pytest.mark.slow(ci_only=True)
def test_interruptions_raise_the_cost_of_spot_and_a_fallback_raises_it_more(run):
    def usd(*words):
        words = ("--at", "a3-highgpu-8g", *words, "--format", "json")
        options = json.loads(run("cost", "compare", *words))["options"]
        return next(
            float(option["p50_usd"])
            for option in options
            if option["name"] == "gcp:a3-highgpu-8g/spot"
        )

    often = ("--interruptions-per-hour", "0.1", "--checkpoint-seconds", "180")
    assert "with a checkpoint every 0.967 h" in " ".join(run("cost", "compare", *often).split())
    assert usd() < usd(*often) < usd(*often, "--fallback-percent", "10")
    assert usd(*often) == usd(*often, "--restart-seconds", "300")
    assert usd(*often) < usd(*often, "--restart-seconds", "330")


def test_a_job_that_does_not_fit_into_a_days_block_pays_for_two(run):
    def usd(hours):
        words = ("--job-hours", hours, "--format", "json")
        return next(
            float(option["p50_usd"])
            for option in json.loads(run("cost", "compare", *words))["options"]
            if option["name"] == "aws:p5.48xlarge/capacity_block/prepaid_24h"
        )

    assert usd(23.5) == pytest.approx(41.53 / 8 * 24 / 23.5, rel=1e-5)
    assert usd(24) == pytest.approx(41.53 / 8 * 2)


@pytest.mark.slow(ci_only=True)
def test_a_rumoured_price_wins_no_draw(run):
    document = json.loads(run("cost", "compare", "--format", "json"))

    rumour = next(o for o in document["options"] if o["name"] == "azure:ND H100 v5 spot/spot")
    assert rumour["chance_cheapest"] is None
    assert any("ND H100 v5 spot" in words for words in document["assumed"])


@pytest.mark.slow(ci_only=True)
def test_every_family_that_is_named_is_in_one_table(run):
    rows = run("cost", "compare", "--accelerator", "all", "--format", "csv").splitlines()

    for name in (
        "p4d.24xlarge",
        "p4de.24xlarge",
        "p5.48xlarge",
        "p5e.48xlarge",
        "p5en.48xlarge",
        "a2-ultragpu-8g",
        "a3-highgpu-8g",
        "ND96asr_v4",
        "ND96isr_H100_v5",
        "tpu-v4",
        "tpu-v5e",
        "tpu-v5p",
        "tpu-v6e",
    ):
        assert any(name in row for row in rows), name


@pytest.mark.slow(ci_only=True)
def test_energy_and_carbon_are_known_by_location_and_unknown_by_market(run):
    text = " ".join(run("cost", "compare").split())

    assert "CO2 0.381 kg location-based, unknown market-based" in text
    known_text = " ".join(run("cost", "compare", "--market-kg-per-kwh", "0.1").split())
    assert "kg market-based" in known_text


@pytest.mark.slow(ci_only=True)
def test_youngs_and_dalys_intervals_stand_beside_the_best_one(run):
    """Once a day and 5 minutes a save: sqrt(2 * 5 min * 1440 min) is two hours (Young 1974)."""
    text = " ".join(
        run(
            "cost", "compare", "--interruptions-per-hour", 1 / 24, "--checkpoint-seconds", 300
        ).split()
    )

    assert "with a checkpoint every 1.94 h" in text
    assert "(Young's formula: 2 h, Daly's: 1.94 h)" in text


@pytest.mark.slow(ci_only=True)
def test_the_drawing_is_one_svg_that_loads_and_runs_nothing(run):
    for words in (("compare",), ("tco",)):
        output = run("cost", *words, "--format", "svg")
        root = ElementTree.fromstring(output)
        assert root.tag.endswith("svg")
        assert "script" not in output
        assert "http" not in output.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("form", ["table", "markdown", "json", "csv", "svg"])
@pytest.mark.parametrize("command", ["compare", "tco"])
def test_every_format_names_the_assumptions(run, command, form):
    text = " ".join(run("cost", command, "--format", form).split())

    assert "cost of one employee" in text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--allocated-percent", "0.01"), "0.1 % at least"),
        (("--job-hours", "nan"), "a job of NaN hours"),
        (("--job-hours", "-1"), "a job of -1 hours"),
        (
            (
                "--fallback-percent",
                "200",
                "--interruptions-per-hour",
                "0.1",
                "--checkpoint-seconds",
                "120",
            ),
            "a fallback of 200 %",
        ),
    ],
)
def test_a_figure_that_cannot_be_is_refused(run, words, text):
    with pytest.raises(UsageError, match=text):
        run("cost", "compare", *words)


@pytest.mark.parametrize(
    ("words", "lacks"),
    [
        (("--unit", "tokens"), "--throughput"),
        (("--training-overhead", "1.1"), "--time-to-train"),
        (("--workload", "gpt:*"), "--bundle"),
        (("--restart-seconds", "1200"), "--interruptions-per-hour"),
        (("--fallback-percent", "10"), "--interruptions-per-hour"),
    ],
)
def test_an_option_without_effect_is_refused(run, words, lacks):
    with pytest.raises(UsageError, match=lacks):
        run("cost", "compare", *words)


@pytest.mark.slow(ci_only=True)
def test_an_unknown_figure_is_named_once(run):
    cut, block = sorted(json.loads(run("cost", "compare", "--format", "json"))["unknown"])[::-1]

    assert cut.startswith("aws:p5.48xlarge/reserved/3y_(pre-cut): the term")
    assert block.startswith("aws:p5.48xlarge/capacity_block/prepaid: its price of 2024-12-31")


def test_region_and_date_stand_beside_each_rank_and_a_day_of_reading_is_named(run):
    text = " ".join(run("cost", "compare", "--accelerator", "TPU-v5e").split())
    document = json.loads(run("cost", "compare", "--accelerator", "TPU-v5e", "--json"))

    assert text.count("us-central1, read on 2026-11-20, list date unknown") == 3
    assert {each["is_read_date"] for each in document["options"]} == {True}


@pytest.mark.slow(ci_only=True)
def test_a_price_that_states_its_day_has_it_beside_its_rank(run):
    text = " ".join(run("cost", "compare", "--at", "on-prem,p5").split())

    assert text.count("us-east-1, as of 2026-11-09") == 3  # the answer, its hour, and owning


@pytest.mark.slow(ci_only=True)
def test_people_see_the_cheapest_of_each_purchase_mode_unless_they_ask_for_all(run):
    form = ("--format", "markdown")
    few, every = (run("cost", "compare", *words, *form) for words in ((), ("--all",)))
    document = json.loads(run("cost", "compare", "--json"))

    rows = [f"\n| `{option['name']}" for option in document["options"]]
    assert sum(row in few for row in rows) < 10 < len(rows)
    assert all(row in every for row in rows)
    assert "purchase mode; `--all` shows" in few
    assert "purchase mode; `--all` shows" not in every


def test_an_unknown_price_at_a_place_is_said_to_be_unknown(run):
    text = " ".join(run("cost", "compare", "--at", "p4d").split())

    assert "Unknown: aws:p4d.24xlarge/savings_plan/3y" in text


def test_places_without_any_known_price_are_refused_with_the_reason(run):
    with pytest.raises(NotFoundError, match="searched until"):
        run("cost", "compare", "--at", "p4d.24xlarge/savings_plan/1y")
