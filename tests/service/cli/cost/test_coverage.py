import json

import pytest

from perfledger_service.errors import UsageError


def test_a_plan_covers_what_it_pays_for_and_the_rest_is_on_demand(run):
    words = ("cost", "coverage", "--usage", "4xp5.48xlarge", "--total-hours", 730)

    document = json.loads(run(*words, "--savings-plan", "p5:60@1y_all_upfront", "--json"))

    assert document["hours"] == 730
    assert float(document["on_demand_usd"]) > 0


def test_hours_without_usage_are_counted_in_full(run, tmp_path):
    path = tmp_path / "hours.csv"
    path.write_text("hour,sku,quantity\n0,p5.48xlarge,2\n1,p5.48xlarge,1\n")

    output = run("cost", "coverage", path, "--savings-plan", "p5:60@1y_all_upfront")

    assert "2 h" in " ".join(output.split()).replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "--usage 4xp5.48xlarge"),
        (("--usage", "1xnothing"), "no price for"),
        (("--usage", "4xp5.48xlarge", "--savings-plan", "much"), "USD an hour and the term"),
    ],
)
def test_what_cannot_be_billed_says_why(run, words, reason):
    with pytest.raises(UsageError, match=reason):
        run("cost", "coverage", *words)
