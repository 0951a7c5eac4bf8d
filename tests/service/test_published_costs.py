"""Published figures of others, from their published inputs, through our own commands."""

import json

import pytest

from perfledger_service.errors import UsageError


@pytest.fixture
def overrides(tmp_path):
    """Write overrides in which inputs are certain and an option or two have a price."""

    def write(parameters, *tables):
        text = "".join(
            f'[[parameter]]\nname = "{name}"\nlow = {value}\nmode = {value}\nhigh = {value}\n'
            'unit = "as published"\nas_of = 2025-05-23\nsource = "as published"\n'
            for name, value in parameters.items()
        )
        path = tmp_path / "overrides.toml"
        path.write_text(text + "".join(tables), encoding="utf-8")
        return path

    return write


def price(sku, per_hour, *, model="on_demand", term="", accelerator="H100-80GB", count=8):
    return (
        f'[[price]]\nprovider = "aws"\nsku = "{sku}"\nregion = "us-east-1"\n'
        f'accelerator = "{accelerator}"\ncount = {count}\nmodel = "{model}"\nterm = "{term}"\n'
        f'per_hour = {per_hour}\nas_of = 2025-05-23\nsource = "as published"\n'
    )


# Lenovo Press LP2225, "On-Premise vs Cloud: Generative AI Total Cost of Ownership", 2025-05-23: a
# ThinkSystem SR675 V3 with 8 H100 NVL for 833,806 USD that costs 0.87 USD an hour to run, against
# p5.48xlarge; capital without interest, resale, network, staff or room.
# https://lenovopress.lenovo.com/lp2225-on-premise-vs-cloud-generative-ai-total-cost-of-ownership
LENOVO = {
    "sr675_price": 833806,
    "sr675_power": 5.8,  # kW, at 0.15 USD a kWh
    "electricity_us_industrial": 0.15,
    "depreciation_years": 5,
    "average_load_power_fraction": 1,
    "pue_enterprise": 1,
} | dict.fromkeys(
    (
        "network_share_of_capex",
        "storage_share_of_capex",
        "spares_pool",
        "residual_value_60m",
        "support_contract",
        "idle_power_server_fraction",
        "colo_price",
        "staff_fte_per_8gpu_node_small",
        "wacc",
    ),
    0,
)
SR675 = (
    '[[server]]\noption = "onprem-SR675"\naccelerator = "H100-80GB"\naccelerators = 8\n'
    'price = "sr675_price"\nmax_power = "sr675_power"\n'
)


@pytest.fixture
def lenovo(run, overrides):
    path = overrides(
        LENOVO,
        SR675,
        price("p5.48xlarge", 98.32),
        price("p5.48xlarge", 77.43, model="reserved", term="1y_no_upfront"),
        price("p5.48xlarge", 53.95, model="reserved", term="3y_no_upfront"),
    )

    def owned(use):
        words = ("tco", "onprem-SR675", "--use", use, "--overrides", path, "--format", "json")
        return json.loads(run("cost", *words))

    return owned


@pytest.mark.parametrize(
    ("option", "hours"),
    [
        ("aws:p5.48xlarge/on_demand", 8_556),
        ("aws:p5.48xlarge/reserved/1y_no_upfront", 10_891),
        ("aws:p5.48xlarge/reserved/3y_no_upfront", 15_709),
    ],
)
def test_lenovos_hours_until_owning_has_paid_itself(lenovo, option, hours):
    rents = {rent["option"]: rent for rent in lenovo(100)["in_place_of"]}

    assert rents[option]["payback_hours"] == pytest.approx(hours, abs=1)
    assert rents[option]["payback_years"] == pytest.approx(hours / 8760, abs=1e-4)


def test_lenovos_hours_are_the_same_however_many_of_a_day_are_used(lenovo):
    rents = {rent["option"]: rent for rent in lenovo(100 * 8 / 24)["in_place_of"]}

    found = rents["aws:p5.48xlarge/on_demand"]
    assert found["payback_hours"] == pytest.approx(8_556, abs=1)
    assert found["payback_years"] == pytest.approx(2.93, abs=0.01)  # "2.9 years" at 8 hours a day


def test_lenovos_five_years_cost_871_912_and_save_3_434_504(lenovo):
    found = lenovo(100)

    rents = {rent["option"]: rent for rent in found["in_place_of"]}
    assert 5 * sum(part["mode"] for part in found["usd_per_year"]) == pytest.approx(871_912, abs=1)
    assert rents["aws:p5.48xlarge/on_demand"]["npv_usd"] == pytest.approx(3_434_504, abs=1)


# Patterson et al., "Carbon Emissions and Large Neural Network Training", arXiv:2104.10350, table 4:
# chips, days, measured watts of a chip with its host, PUE, kg of CO2 a kWh; MWh, gross tonnes. The
# days are rounded in the table: 3.1 may be 3.15, which is what the tolerance is for.
PATTERSON = [
    ("Evolved Transformer search", 200, 6.8, 208, 1.10, 0.431, 7.5, 3.2),
    ("T5", 512, 20, 310, 1.12, 0.545, 85.7, 46.7),
    ("Meena", 1024, 30, 289, 1.09, 0.415, 232, 96.4),
    ("GShard-600B", 1024, 3.1, 288, 1.09, 0.201, 24.1, 4.8),
    ("Switch Transformer", 1024, 27, 245, 1.10, 0.403, 179, 72.2),
    ("GPT-3", 10000, 14.8, 330, 1.10, 0.429, 1287, 552.1),
]


@pytest.mark.parametrize("row", PATTERSON, ids=[row[0] for row in PATTERSON])
def test_energy_and_carbon_of_google_and_openais_trainings(run, row):
    _, chips, days, watts, pue, factor, mwh, tonnes = row
    grid = ("--pue", pue, "--location-kg", factor, "--format", "json")
    found = json.loads(run("cost", "energy", f"{chips}x{days}d", "--watts", watts, *grid))

    assert found["energy_kwh"] / 1000 == pytest.approx(mwh, rel=0.01)
    assert found["location_kg"] / 1000 == pytest.approx(tonnes, rel=0.01)
    assert found["market_kg"] is None


def test_gross_and_net_of_a_data_centre_are_location_and_market(run):
    """GShard-600B of the same table: 0.201 kg gross and 0.177 kg net a kWh, 4.8 and 4.3 tonnes."""
    factors = ("--location-kg", 0.201, "--market-kg", 0.177)
    words = ("1024x3.1d", "--watts", 288, "--pue", 1.09, *factors, "--format", "json")
    found = json.loads(run("cost", "energy", *words))

    assert found["location_kg"] / 1000 == pytest.approx(4.8, rel=0.015)
    assert found["market_kg"] / 1000 == pytest.approx(4.3, rel=0.02)


# Touvron et al., "LLaMA", arXiv:2302.13971, table 15: A100-80GB at 400 W, PUE 1.1, 0.385 kg a kWh;
# in whole MWh and tonnes.
LLAMA = [
    ("OPT-175B", 809_472, 356, 137),
    ("BLOOM-175B", 1_082_880, 475, 183),
    ("LLaMA-7B", 82_432, 36, 14),
    ("LLaMA-13B", 135_168, 59, 23),
    ("LLaMA-33B", 530_432, 233, 90),
    ("LLaMA-65B", 1_022_362, 449, 173),
]


@pytest.mark.parametrize(
    ("hours", "mwh", "tonnes"), [row[1:] for row in LLAMA], ids=[row[0] for row in LLAMA]
)
def test_energy_and_carbon_of_metas_trainings(run, hours, mwh, tonnes):
    words = ("--watts", 400, "--pue", 1.1, "--location-kg", 0.385, "--format", "json")
    found = json.loads(run("cost", "energy", hours, *words))

    assert found["energy_kwh"] / 1000 == pytest.approx(mwh, rel=0.01)
    assert found["location_kg"] / 1000 == pytest.approx(tonnes, rel=0.01)


def test_a_training_that_is_priced_has_its_energy_and_carbon_too(run, overrides):
    """LLaMA-65B once more, as a piece of work: 2048 A100s in servers of 8 with 400 W for each."""
    path = overrides(
        {"max_power_8xA100": 3.2, "average_load_power_fraction": 1, "pue_hyperscale": 1.1}
    )
    given = ("--train", "2048xA100-80GB=499.2h", "--location-kg", 0.385, "--overrides", path)
    options = json.loads(run("cost", "compare", *given, "--format", "json"))["options"]

    cloud = next(each for each in options if each["name"].startswith("aws:"))
    carbon = cloud["piece_footprint"]["carbon"]
    assert carbon["energy_kwh"] / 1000 == pytest.approx(449, abs=1)
    assert carbon["location_kg"] / 1000 == pytest.approx(173, abs=1)
    shown = " ".join(run("cost", "compare", *given).split())
    assert "Energy of a training to target on A100-80GB, cloud: 449," in shown


@pytest.mark.parametrize(
    ("hours", "usd"), [(2_664_000, 5.328e6), (119_000, 0.238e6), (2_788_000, 5.576e6)]
)
def test_what_deepseek_v3_cost_at_two_dollars_an_hour(run, overrides, hours, usd):
    """DeepSeek-V3 Technical Report, arXiv:2412.19437, table 1: 2048 H800, 2 USD an hour of one."""
    path = overrides({}, price("h800", 2, accelerator="H800", count=1))
    given = ("--train", f"2048xH800={hours / 2048}h", "--overrides", path, "--format", "json")
    (option,) = json.loads(run("cost", "compare", "--use", 100, *given))["options"]

    assert option["work"]["p50_usd"] == pytest.approx(usd, rel=1e-9)


# MLPerf Training v3.0 (2023), Dell XE9680 with 8 H100, minutes to the target, as scored from the
# submitter's logs; p5.48xlarge at AWS's rates before and after June 2025.
@pytest.mark.parametrize(
    ("minutes", "per_hour", "usd"),
    [(5.264, 98.32, 8.626), (5.264, 55.04, 4.829), (13.410, 55.04, 12.301)],
)
def test_an_mlperf_result_costs_its_time_at_the_instances_rate(
    run, overrides, minutes, per_hour, usd
):
    path = overrides({}, price("p5.48xlarge", per_hour))
    given = ("--train", f"8xH100-80GB={minutes}m", "--overrides", path, "--format", "json")
    options = json.loads(run("cost", "compare", "--use", 100, *given))["options"]

    (found,) = (each for each in options if each["name"] == "aws:p5.48xlarge/on_demand")
    assert found["work"]["p50_usd"] == pytest.approx(usd, abs=0.001)


@pytest.fixture
def aws(overrides):
    """AWS's illustrative prices; see `tests/cost_models/test_coverage.py`."""
    one = {"accelerator": "none", "count": 1}
    plan = {"model": "savings_plan", **one}
    return overrides(
        {},
        *(price(sku, usd, **one) for sku, usd in (("r5.4xlarge", 1.0), ("m5.24xlarge", 10.0))),
        price("r5.4xlarge", 0.7, term="1y_partial_upfront_compute", **plan),
        price("r5.4xlarge", 0.6, term="1y_partial_upfront", **plan),
        price("m5.24xlarge", 8.2, term="1y_partial_upfront_compute", **plan),
        price("r5.4xlarge", 0.6, model="reserved", term="1y_no_upfront", **one),
    )


def test_aws_scenario_2_by_the_command(run, aws):
    used = ("--used", "4xr5.4xlarge", "--used", "1xm5.24xlarge")
    plan = ("--plan", "2@1y_partial_upfront_compute", "--overrides", aws)
    found = json.loads(run("cost", "cover", *used, *plan, "--format", "json"))

    r5, m5 = found["charges"]
    assert float(r5["on_demand_usd"]) == pytest.approx(1.14, abs=0.005)
    assert (float(m5["on_demand_usd"]), float(found["unused_usd"])) == (10, 0)
    assert float(found["total_usd"]) == pytest.approx(2 + 1.143 + 10, abs=0.001)


def test_a_table_of_hours_is_billed_hour_by_hour(run, aws, tmp_path):
    table = tmp_path / "usage.csv"
    table.write_text(
        "hour,sku,quantity\n2026-10-01T00,r5.4xlarge,4\n2026-10-01T01,r5.4xlarge,1\n",
        encoding="utf-8",
    )
    held = ("--plan", "r5:1.2@1y_partial_upfront", "--reserved", "1xr5.4xlarge@1y_no_upfront")
    shown = " ".join(run("cost", "cover", table, *held, "--overrides", aws).split())

    assert "What 2 hours are billed" in shown
    assert "r5.4xlarge 5.00 2.00 2.00 1.00 1.00" in shown
    assert "3.60 USD committed to, 66.7% of it used; 1.20 USD covered nothing" in shown
    assert "together 4.60 USD; all on demand 5.00 USD: 0.40 USD saved" in shown


def test_hours_without_usage_pay_for_the_commitment(run, aws):
    plan = ("--plan", "0.7@1y_partial_upfront_compute", "--overrides", aws)
    words = ("--used", "1xr5.4xlarge", "--hours", "730", *plan, "--format", "json")
    found = json.loads(run("cost", "cover", *words))

    assert float(found["total_usd"]) == 511
    assert float(found["unused_usd"]) == pytest.approx(510.3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give a table"),
        (("--used", "r5"), "how many of what"),
        (("--used", "1xnothing"), "no price for"),
        (("--used", "1xr5.4xlarge", "--plan", "much"), "USD an hour and the term"),
        (("--used", "1xr5.4xlarge", "--plan", "2@9y"), "covers nothing"),
        (("--used", "1xr5.4xlarge", "--plan", "0@1y_partial_upfront"), "above zero"),
        (("--used", "1xr5.4xlarge", "--reserved", "r5"), "for how long"),
        (("--used", "1xr5.4xlarge", "--hours", "0"), "at least the 1"),
    ],
)
def test_what_cannot_be_covered_is_an_error(run, aws, words, said):
    with pytest.raises(UsageError, match=said):
        run("cost", "cover", *words, "--overrides", aws)


@pytest.mark.parametrize(
    "text",
    [
        "hour,sku\n1,r5.4xlarge\n",
        "hour,sku,quantity\n1,r5.4xlarge,-1\n",
        "hour,sku,quantity\n1,r5.4xlarge,NaN\n",
        "hour,sku,quantity\n1,r5.4xlarge,1e999999\n",
        "hour,sku,quantity\n1,r5.4xlarge\n",
        "",
    ],
)
def test_a_table_of_hours_that_is_none_is_an_error(run, aws, tmp_path, text):
    table = tmp_path / "usage.csv"
    table.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=r"usage\.csv"):
        run("cost", "cover", table, "--overrides", aws)


def test_coverage_is_written_as_csv(run, aws):
    used = ("--used", "1.5xr5.4xlarge", "--used", "0.5xr5.4xlarge")
    shown = run("cost", "cover", *used, "--overrides", aws, "--format", "csv")

    header, row = shown.splitlines()
    assert header.split(",")[:4] == ["name", "quantity", "reserved", "planned"]
    assert row.startswith("r5.4xlarge,2.0,0,0")


def test_what_was_assumed_of_energy_is_said(run):
    shown = " ".join(run("cost", "energy", "8x5.3h", "--watts", "700").split())

    assert "42.4 accelerator-hours" in shown
    assert "CO2 unknown by market" in shown
    assert "Assumed: PUE 1.11 (pue hyperscale)" in shown


@pytest.mark.parametrize("hours", ["", "8x", "x5h", "5m", "1e99", "-3", "8xH100"])
def test_hours_that_are_none_are_an_error(run, hours):
    with pytest.raises(UsageError, match="accelerator-hours"):
        run("cost", "energy", "--watts", "700", "--", hours)
