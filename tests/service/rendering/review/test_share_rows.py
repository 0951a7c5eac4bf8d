from dataclasses import replace

from perfledger_cost_models.procurement.hour_shares import HourShare
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.review.share_rows import share_rows, share_sentence


def test_each_share_has_its_definition_its_figure_and_its_source(example):
    rows = {row["share"]: row for row in share_rows(example) if row["source"]}

    assert set(rows) == set(HourShare)
    assert rows["allocated share"]["value"].startswith("80.9")
    assert "71,769 of 88,669 paid H100-80GB hours" in rows["allocated share"]["source"]
    assert "\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}" in rows["busy share"]["value"]


def test_each_source_of_one_share_is_a_row(example):
    utilization = [row for row in share_rows(example) if row["share"] == "commitment utilization"]

    assert [row["source"].partition(":")[0] for row in utilization] == [
        "example",
        "236,286.25 of 254,071.23 USD of H100-80GB commitments were used; bill.csv",
        (
            "32,855 of the 35,328 hours that the supply's 16 H100-80GB devices have in the bill's "
            "days were used; bill.csv / [[supply]] of the plan"
        ),
    ]


def test_what_nobody_told_is_not_known_and_relates_to_nothing(example):
    unknown = replace(example, shares=())

    assert {(row["value"], row["source"]) for row in share_rows(unknown)} == {
        ("not known", number_format.NOTHING)
    }
    assert "Of 100 paid hours" not in share_sentence(unknown)


def test_the_sentence_says_how_much_of_paid_hours_was_busy(example):
    assert "Of 100 paid hours 81 were allocated, and in 53 the device worked." in share_sentence(
        example
    )
