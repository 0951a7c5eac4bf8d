from dataclasses import replace
from decimal import Decimal
from importlib.resources import files
from math import isqrt

import pytest

from perfledger_cost_models.csv_table import PriceSheetError
from perfledger_cost_models.prices.check import CheckContext, check_sheet
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.plausibility_rules import MAX_PAIRS
from perfledger_cost_models.prices.price_sheet import COLUMNS
from perfledger_cost_models.prices.priced_rows import FindingSeverity

PACKAGED = files("perfledger_cost_models").joinpath("prices.csv").read_text(encoding="utf-8")
SOURCE = "a public price list,"
# Rows that were published like this, with what they really are.
BAD = {
    "a commitment under on demand": (
        "gcp,a3-highgpu-8g,us-central1,H100-80GB,8,on_demand,,43.0662,5.38328,,2026-11-20"
    ),
    "a placeholder": "gcp,tpu-v6e,asia-east1,TPU-v6e,1,on_demand,per chip,700.0,700.0,,2026-11-20",
    "Windows on two": (
        "azure,Standard_NC48ads_A100_v4,eastus,A100-80GB-PCIe,2,on_demand,,9.554,4.777,"
        "2026-11-09,2026-11-20"
    ),
    "Windows on four": (
        "azure,Standard_NC96ads_A100_v4,eastus,A100-80GB-PCIe,4,on_demand,,19.108,4.777,"
        "2026-11-09,2026-11-20"
    ),
    "Windows on an H100": (
        "azure,Standard_NC80adis_H100_v5,eastus,H100-NVL-94GB,2,on_demand,,17.64,8.82,"
        "2026-11-09,2026-11-20"
    ),
}


def sheet_of(*rows, confidence="high"):
    lines = [f"{row},{confidence},{SOURCE}" for row in rows]
    return "\n".join([",".join(COLUMNS), *lines, ""])


def with_rows(*rows, confidence="high"):
    lines = [f"{row},{confidence},{SOURCE}," for row in rows]  # without an address
    return PACKAGED + "\n".join([*lines, ""])


def rules(text, level=FindingSeverity.REJECT):
    return {finding.rule for finding in check_sheet(text, "s").findings if finding.level is level}


def rejected_rows(text):
    return {finding.row for finding in check_sheet(text, "s").rejected}


def test_no_packaged_price_is_rejected():
    check = check_sheet(PACKAGED, "packaged")

    assert check.rejected == ()
    assert len(check.sheet.prices) + len(packaged_sheet().unknown) == check.rows


@pytest.mark.parametrize("row", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("confidence", ["reject", "high"])
def test_a_row_that_was_really_published_wrong_is_rejected_on_its_numbers(row, confidence):
    last = len(PACKAGED.splitlines()) + 1

    assert rejected_rows(with_rows(row, confidence=confidence)) == {last}


def test_all_of_them_at_once_are_rejected_and_no_good_row_is_lost():
    check = check_sheet(with_rows(*BAD.values()), "s")

    assert len({finding.row for finding in check.rejected}) == len(BAD)
    assert check.sheet.prices == packaged_sheet().prices


def test_a_larger_size_tells_on_the_windows_meter_of_a_smaller_one():
    name = "azure,Standard_NC{}ads_A100_v4,eastus,A100-80GB-PCIe"
    linux = f"{name.format(48)},2,on_demand,,7.346,3.673,2026-06-18,"
    windows = f"{name.format(24)},1,on_demand,,4.777,4.777,2026-06-18,"

    assert rules(sheet_of(linux, windows)) == {"Windows meter"}
    assert rejected_rows(sheet_of(linux, windows)) == {3}


def test_a_row_without_a_price_stays_unknown():
    row = "aws,p4d.24xlarge,us-east-1,A100-40GB,8,savings_plan,1y,,,,2026-11-20"
    check = check_sheet(sheet_of(row, confidence="unknown"), "s")

    assert [finding.level for finding in check.findings] == [FindingSeverity.UNKNOWN]
    assert check.sheet.prices == ()


def test_a_price_per_accelerator_alone_is_not_unknown_but_rejected():
    row = "aws,p4d.24xlarge,us-east-1,A100-40GB,8,savings_plan,1y,,5.0,,2026-11-20"

    assert rules(sheet_of(row, confidence="unknown")) == {"reading"}


def test_a_price_of_nothing_is_rejected():
    row = "aws,p5.48xlarge,us-east-1,H100-80GB,8,capacity_block,prepaid,0.00,0.00,,2026-11-20"

    assert rules(sheet_of(row)) == {"reading"}


def test_a_price_without_any_date_is_rejected():
    row = "aws,p5.48xlarge,us-east-1,H100-80GB,8,on_demand,,55.04,6.88,,"

    assert rules(sheet_of(row)) == {"reading"}


def test_a_price_per_accelerator_that_is_not_the_instances_is_rejected():
    row = "aws,p5.48xlarge,us-east-1,H100-80GB,8,on_demand,,55.04,55.04,,2026-11-20"

    assert rules(sheet_of(row)) == {"reading"}


def test_spot_above_on_demand_is_rejected():
    on_demand = "aws,p5.48xlarge,us-east-1,H100-80GB,8,on_demand,,55.04,6.88,,2026-11-20"
    spot = "aws,p5.48xlarge,us-east-1,H100-80GB,8,spot,,56,7,,2026-11-20"

    assert rejected_rows(sheet_of(on_demand, spot)) == {3}


CUT = (
    "aws,p5.48xlarge,us-east-1,H100-80GB,8,on_demand,,98.32,12.29,2025-03-31,",
    "aws,p5.48xlarge,us-east-1,H100-80GB,8,on_demand,,55.04,6.88,2025-06-23,",
)


@pytest.mark.parametrize(
    "row",
    [
        "spot,,60.8,7.6",
        "savings_plan,3y_no_upfront,60.8,7.6",
        "savings_plan,1y_no_upfront,72,9",
    ],
)
def test_what_was_sound_before_a_price_cut_stays(row):
    history = "aws,p5.48xlarge,us-east-1,H100-80GB,8"
    after = f"{history},savings_plan,1y_no_upfront,44,5.5,2025-07-01,"
    before, too_late = f"{history},{row},2024-12-01,", f"{history},{row},2025-07-02,"

    assert not check_sheet(sheet_of(*CUT, after, before), "s").rejected
    assert rejected_rows(sheet_of(*CUT, after, too_late)) == {5}


def test_the_price_of_a_core_is_none_of_a_chip():
    core = "gcp,tpu-v4,us-west9,TPU-v4,1,on_demand,per chip,1.61,1.61,2026-11-20,"
    single = "gcp,tpu-v5e,us-west9,TPU-v5e,1,on_demand,per chip,0.6,0.6,2026-11-20,"

    assert rules(with_rows(core)) == {"chips and cores"}
    assert rules(with_rows(single)) == {"spread over regions"}  # its chip has one core


def test_three_years_that_cost_more_an_hour_than_one_are_rejected():
    rows = (
        "aws,p5.48xlarge,us-east-1,H100-80GB,8,savings_plan,1y_no_upfront,32,4,,2026-11-20",
        "aws,p5.48xlarge,us-east-1,H100-80GB,8,savings_plan,3y_no_upfront,40,5,,2026-11-20",
        "aws,p5.48xlarge,us-east-1,H100-80GB,8,savings_plan,3y_all_upfront,36,4.5,,2026-11-20",
    )

    assert rejected_rows(sheet_of(*rows)) == {3}


def test_a_commitment_above_on_demand_is_rejected():
    on_demand = "aws,p5.48xlarge,us-east-1,H100-80GB,8,on_demand,,55.04,6.88,,2026-11-20"
    plan = "aws,p5.48xlarge,us-east-1,H100-80GB,8,savings_plan,1y_no_upfront,64,8,,2026-11-20"

    assert rejected_rows(sheet_of(on_demand, plan)) == {3}


@pytest.mark.parametrize(
    ("sku", "chips", "is_right"),
    [
        ("tpu-v4-8", 4, True),
        ("tpu-v4-8", 8, False),
        ("v5p-8", 4, True),
        ("v5litepod-8", 8, True),
        ("v6e-8", 4, False),
    ],
)
def test_slices_of_tpus_count_cores_or_chips_by_their_version(sku, chips, is_right):
    usd = Decimal("3.2") * chips
    row = f"gcp,{sku},us-central2,TPU-v4,{chips},on_demand,,{usd},3.2,,2026-11-20"

    assert (rules(sheet_of(row)) == set()) is is_right


def test_the_same_price_twice_is_noted_and_two_prices_of_one_day_are_rejected():
    row = "aws,p5.48xlarge,us-east-1,H100-80GB,8,on_demand,,{},{},2026-07-20,2026-11-20"
    one, other = row.format("55.04", "6.88"), row.format("64", "8")

    assert rules(sheet_of(one, one), FindingSeverity.WARN) == {"duplicate"}
    assert rejected_rows(sheet_of(one, other)) == {2, 3}


def test_between_two_regions_nobody_can_tell_which_is_wrong():
    one = "gcp,a2,us-east5,A100-80GB,8,on_demand,,16,2,,2026-11-20"
    other = "gcp,a2,us-west1,A100-80GB,8,on_demand,,40,5,,2026-11-20"
    check = check_sheet(sheet_of(one, other), "s")

    assert check.rejected == ()
    assert {finding.row for finding in check.findings} == {2, 3}


def test_spot_prices_may_differ_between_regions():
    one = "gcp,a2,us-east5,A100-80GB,8,spot,,8,1,,2026-11-20"
    other = "gcp,a2,us-west1,A100-80GB,8,spot,,20,2.5,,2026-11-20"

    assert check_sheet(sheet_of(one, other), "s").findings == ()


def test_a_price_far_from_the_median_of_its_like_is_noted():
    rows = [
        f"{provider},h100,,H100-80GB,1,on_demand,,{usd},{usd},,2026-11-20"
        for provider, usd in (("a", "3"), ("b", "4"), ("c", "13"))
    ]

    assert rules(sheet_of(*rows), FindingSeverity.WARN) == {"median of its kind"}


def test_sizes_of_a_family_that_differ_are_noted():
    assert "sizes of a family" in rules(PACKAGED, FindingSeverity.WARN)


def test_of_two_sizes_that_differ_each_is_noted_against_the_other():
    rows = (
        "aws,p5.4xlarge,us-east-1,H100-80GB,1,on_demand,,6.88,6.88,2026-07-20,2026-11-20",
        "aws,p5.48xlarge,us-east-1,H100-80GB,8,on_demand,,98.32,12.29,2026-07-20,2026-11-20",
    )

    reasons = [one.reason for one in check_sheet(sheet_of(*rows), "s").findings]

    assert reasons == [
        f"{share} per accelerator from the other size" for share in ("-44 %", "+79 %")
    ]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("us-west-2,H100-80GB,8,on_demand,,6.88,0.86", "6.88 is the price of one of its 8"),
        ("us-east-2,H100-80GB,1,on_demand,,55.04,55.04", "55.04 is the price of 8 of them"),
    ],
)
def test_an_instance_and_an_accelerator_are_told_apart_between_regions(row, text):
    rejected = check_sheet(with_rows(f"aws,p5.48xlarge,{row},2026-11-21,2026-11-21"), "s").rejected

    assert [(one.rule, one.reason) for one in rejected] == [("instance and accelerator", text)]
    assert rejected[0].row == PACKAGED.count("\n") + 1


def sized_text(sku, count, usd, region="r1", model="on_demand"):
    each = Decimal(usd) / count
    return f"aws,{sku},{region},H100-80GB,{count},{model},,{usd},{each},2026-07-20,2026-11-20"


def levels(text):
    return {
        finding.row: finding.level
        for finding in check_sheet(text, "s").findings
        if finding.rule == "instance and accelerator"
    }


def test_of_one_accelerator_and_an_instance_at_one_price_the_others_tell_which_is_wrong():
    couple = sized_text("big8", 8, "32"), sized_text("one1", 1, "32")

    assert levels(sheet_of(*couple)) == {2: FindingSeverity.WARN, 3: FindingSeverity.WARN}
    assert levels(sheet_of(*couple, sized_text("mid4", 4, "16"))) == {3: FindingSeverity.REJECT}
    assert levels(sheet_of(*couple, sized_text("mid4", 4, "100"))) == {2: FindingSeverity.REJECT}


def test_a_mistake_in_each_region_is_rejected_only_where_another_price_tells():
    rows = [
        sized_text(sku, count, usd, region)
        for region, usd in (("r1", "32"), ("r2", "33"))
        for sku, count in (("big8", 8), ("one1", 1))
    ]

    assert levels(sheet_of(*rows)) == dict.fromkeys((2, 3, 4, 5), FindingSeverity.WARN)
    assert levels(sheet_of(*rows, sized_text("mid4", 4, "16"))) == dict.fromkeys(
        (3, 5), FindingSeverity.REJECT
    )


def test_one_figure_in_two_regions_by_chance_rejects_nothing():
    rows = (
        sized_text("big4", 4, "5.672"),
        sized_text("wide1", 1, "4.096"),
        sized_text("slim1", 1, "1.006"),
        sized_text("wide1", 1, "5.672", "r2"),
    )

    assert levels(sheet_of(*rows)) == {2: FindingSeverity.WARN, 5: FindingSeverity.WARN}


def test_spot_prices_of_two_sizes_may_be_one_figure_in_two_regions():
    rows = (
        sized_text("one1", 1, "2", model="spot"),
        sized_text("two2", 2, "2", "r2", model="spot"),
        sized_text("one1", 1, "1.1", "r2", model="spot"),
    )

    assert levels(sheet_of(*rows)) == {}


def test_a_row_that_stands_at_two_others_figure_is_rejected_once_and_they_are_sound():
    rows = [
        *(sized_text("one1", 1, "4", region) for region in ("r1", "r2")),
        *(sized_text("big8", 8, usd, region) for region, usd in (("r1", "32"), ("r2", "4"))),
    ]
    findings = check_sheet(sheet_of(*rows), "s").findings

    assert [(one.row, one.reason) for one in findings] == [(5, "4 is the price of one of its 8")]


def test_of_more_couples_at_one_figure_than_are_compared_none_is_decided():
    rows = [
        sized_text(f"{name}{place}", count, "32")
        for place in range(isqrt(MAX_PAIRS))
        for name, count in (("big", 8), ("one", 1))
    ]

    assert set(levels(sheet_of(*rows[2:], sized_text("mid4", 4, "16"))).values()) == {
        FindingSeverity.REJECT
    }
    assert set(levels(sheet_of(*rows, sized_text("mid4", 4, "16"))).values()) == {
        FindingSeverity.WARN
    }


def test_three_years_at_the_price_of_one_are_noted():
    row = "aws,p5.48xlarge,us-east-1,H100-80GB,8,savings_plan,{}_no_upfront,23.777,2.972125"
    rows = (f"{row.format(term)},2026-08-07,2026-11-20" for term in ("1y", "3y"))

    findings = check_sheet(sheet_of(*rows), "s").findings

    (noted,) = [one for one in findings if one.rule == "commitments by term"]
    assert (noted.level, noted.reason[:25]) == (FindingSeverity.WARN, "3 years cost the same as ")


def test_a_large_step_since_the_last_sheet_has_to_be_approved():
    before = packaged_sheet()
    raised = tuple(
        replace(price, usd_per_hour=price.usd_per_hour * Decimal("1.3")) for price in before.prices
    )
    context = CheckContext(previous=replace(before, prices=raised))
    check = check_sheet(PACKAGED, "s", context=context)

    steps = [finding for finding in check.findings if finding.rule == "step since the last sheet"]
    assert "-23.1 % since" in steps[0].reason
    assert len(steps) > 100


def test_a_small_step_needs_nobody():
    check = check_sheet(PACKAGED, "s", context=CheckContext(previous=packaged_sheet()))

    assert not [
        finding for finding in check.findings if finding.rule == "step since the last sheet"
    ]


def test_another_table_is_no_price_sheet():
    with pytest.raises(PriceSheetError, match="columns"):
        check_sheet("a,b\n1,2\n", "s")
