import json

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_text
from perfledger_service.errors import NotFoundError, UsageError

PRICE = ("--input-usd", "1", "--output-usd", "1")


def test_the_break_even_is_the_hour_over_the_price_of_its_tokens(run):
    words = (*PRICE, "--at", "p5.48xlarge/on_demand", "--json")
    document = json.loads(run("cost", "api", *words))

    (option,) = document["options"]
    assert option["tokens_per_second"] == pytest.approx(6.88e6 / 3600)
    assert (option["region"], option["as_of"]) == ("us-east-1", "2026-11-09")


def test_a_committed_hour_that_is_half_used_needs_twice_the_throughput(run):
    def tokens(share):
        words = ("--at", "p5.48xlarge/savings_plan/3y_no_upfront", "--allocated-percent", share)
        (option,) = json.loads(run("cost", "api", *PRICE, *words, "--json"))["options"]
        return option["tokens_per_second"]

    assert tokens("50") == pytest.approx(2 * tokens("100"))


def test_a_replica_of_eight_devices_needs_eight_times_as_much(run):
    words = (*PRICE, "--at", "p5.48xlarge/on_demand")
    text = " ".join(run("cost", "api", *words, "--devices-per-replica", 8).split())

    assert "8 x H100-80GB from 15,289 tokens a second" in text.replace("15,290", "15,289")


@pytest.mark.slow(ci_only=True)
def test_output_tokens_count_by_their_share(run):
    words = ("--input-usd", "0", "--output-usd", "10", "--output-percent", "20", "--json")

    assert json.loads(run("cost", "api", *words))["usd_per_million"] == "2"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--input-usd", "-1", "--output-usd", "1"), UsageError),
        ((*PRICE, "--devices-per-replica", "0"), UsageError),
        ((*PRICE, "--at", "mars"), NotFoundError),
    ],
)
def test_what_cannot_be_compared_is_refused(run, words, error):
    with pytest.raises(error):
        run("cost", "api", *words)


def test_an_option_that_its_age_keeps_from_the_answer_is_named(run, tmp_path):
    sheet = tmp_path / "sheet.csv"
    row = "mine,h8,us,H100-80GB,8,on_demand,,24,3,2025-11-01,2025-11-01,high,a list,,"
    sheet.write_text(f"{packaged_text().splitlines()[0]}\n{row}\n")

    words = (*PRICE, "--at", "on-prem,p5,h8", "--prices", str(sheet))
    text = " ".join(run("cost", "api", *words).split())

    assert "cost less than the API: one H100-80GB" in text
    assert "Over 180 days old, and so not ranked beside younger prices: mine:h8/on_demand." in text
    assert "Unknown: aws:p5.48xlarge/capacity_block/prepaid: its price of 2024-12-31 is" in text
