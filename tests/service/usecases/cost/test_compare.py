"""Owning is compared with every rental option, of whatever accelerator, where the work is known."""

import json

import pytest
from typer.testing import CliRunner

from perfledger_cost_models.prices.packaged_sheet import packaged_text
from perfledger_service.cli.app import app

WORK = (
    "--throughput",
    "8xH100-80GB=3100",
    "--throughput",
    "TPU-v4=155",
    "--allocated-percent",
    "70",
)
BOTH = ("--accelerator", "H100-80GB", "--accelerator", "TPU-v4")
TPU_HOURS = 3100 / 8 / 155  # of a TPU v4, for what an H100 does in an hour


@pytest.fixture
def options():
    def options(*words):
        done = CliRunner().invoke(app, ["cost", "compare", *words, "--format", "json"])
        assert done.exit_code == 0, done.output
        return {each["name"]: each for each in json.loads(done.stdout)["options"]}

    return options


@pytest.mark.slow(ci_only=True)
def test_a_rented_tpu_breaks_even_where_as_dear_an_h100_would(options, tmp_path):
    dear = tmp_path / "dear.toml"
    dear.write_text(
        '[[price]]\nprovider = "aws"\nsku = "p5.48xlarge"\nregion = "us-east-1"\n'
        f'accelerator = "H100-80GB"\ncount = 8\nmodel = "on_demand"\nper_hour = '
        f'{8 * 3.22 * TPU_HOURS}\ncurrency = "USD"\nas_of = 2026-10-01\nsource = "made up"\n'
    )

    found_options = options(*BOTH, *WORK, "--overrides", str(dear))

    tpu, h100 = found_options["gcp:tpu-v4/on_demand"], found_options["aws:p5.48xlarge/on_demand"]
    assert tpu["break_even"]["p50"] == pytest.approx(h100["break_even"]["p50"], rel=1e-9)
    assert tpu["investment"]["npv_p50_usd"] == h100["investment"]["npv_p50_usd"]


@pytest.mark.slow(ci_only=True)
def test_hours_of_different_accelerators_are_not_held_against_each_other(options):
    found_options = options(*BOTH, "--allocated-percent", "70")

    assert found_options["gcp:tpu-v4/on_demand"]["break_even"] is None


@pytest.mark.slow(ci_only=True)
def test_the_server_on_which_the_work_costs_least_is_the_one_to_own(options):
    speeds = (
        "--throughput",
        "8xA100-80GB=1000",
        "--throughput",
        "8xH100-80GB=3100",
        "--throughput",
        "TPU-v4=155",
    )

    both = options(*BOTH, "--accelerator", "A100-80GB", *speeds, "--allocated-percent", "70")
    alone = options(*BOTH, *WORK)

    name = "gcp:tpu-v4/on_demand"
    assert both[name]["break_even"] == alone[name]["break_even"]


BLOCK = """
[[price]]
provider = "mine"
sku = "p5.48xlarge"
region = "us-east-1"
accelerator = "H100-80GB"
count = 8
model = "capacity_block"
term = "prepaid"
per_hour = 8.0
currency = "USD"
as_of = 2024-12-31
source = "a quote"
"""


def test_a_price_of_half_a_year_ago_never_ranks_beside_younger_ones(options, tmp_path):
    quote = tmp_path / "quote.toml"
    quote.write_text(BLOCK)

    found_options = options("--allocated-percent", "100", "--overrides", str(quote))

    blocks = {name: each for name, each in found_options.items() if "capacity_block" in name}
    chances = {name: each["chance_cheapest"] for name, each in blocks.items()}
    assert chances["aws:p5.48xlarge/capacity_block/prepaid_24h"] == 0
    assert chances["mine:p5.48xlarge/capacity_block/prepaid"] == 1  # an own price stays valid


def test_a_block_of_a_price_of_half_a_year_ago_is_no_option():
    """Blocks are repriced within a quarter: one at a price of 2024 cannot be bought."""
    words = ["cost", "compare", "--accelerator", "A100-40GB", "--at", "p4d", "--json", "--all"]

    document = json.loads(CliRunner().invoke(app, words).stdout)

    assert not any("capacity_block" in option["name"] for option in document["options"])
    (block,) = (words for words in document["unknown"] if "capacity_block" in words)
    assert block.startswith("aws:p4d.24xlarge/capacity_block/prepaid: its price of 2024-12-31 is ")
    assert block.endswith(" days old, and blocks are repriced within a quarter")


def test_old_prices_rank_where_there_are_no_younger_ones(tmp_path):
    header = packaged_text().splitlines()[0]
    row = "aws,p9.8xlarge,us-east-1,A30-24GB,8,on_demand,,16.0,2.0,2025-07-20"
    sheet = tmp_path / "old.csv"
    sheet.write_text(f"{header}\n{row},2025-07-20,high,a list,,\n")
    words = ["cost", "compare", "--accelerator", "A30-24GB", "--prices", str(sheet), "--json"]

    done = CliRunner().invoke(app, words)

    (option,) = json.loads(done.stdout)["options"]
    assert option["chance_cheapest"] == 1
    assert option["warnings"]


def test_old_prices_rank_where_no_younger_one_may(tmp_path):
    """Otherwise owning would be called the cheapest because a hearsay price is young."""
    header = packaged_text().splitlines()[0]
    rows = (
        "aws,p9.8xlarge,us-east-1,A30-24GB,8,on_demand,,16.0,2.0,2025-07-20,2025-07-20,high,list,,",
        "gcp,a9.8xlarge,us-east1,A30-24GB,8,on_demand,,8.0,1.0,2026-11-20,2026-11-20,low,rumour,,",
        "gcp,a9.8xlarge,us-east1,A30-24GB,8,spot,,8.0,1.0,2026-11-20,2026-11-20,high,list,,",
    )
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("\n".join((header, *rows)) + "\n")
    words = ["cost", "compare", "--accelerator", "A30-24GB", "--prices", str(sheet), "--json"]

    done = CliRunner().invoke(app, words)

    chances = {each["name"]: each["chance_cheapest"] for each in json.loads(done.stdout)["options"]}
    assert chances == {
        "aws:p9.8xlarge/on_demand": 1,
        "gcp:a9.8xlarge/on_demand": None,
        "gcp:a9.8xlarge/spot": None,
    }


def test_every_option_with_a_price_has_a_break_even_where_the_work_is_known(options):
    found_options = options(*BOTH, *WORK)

    rented = [each for name, each in found_options.items() if not name.startswith("onprem")]
    assert rented
    assert all(each["break_even"] is not None for each in rented)
