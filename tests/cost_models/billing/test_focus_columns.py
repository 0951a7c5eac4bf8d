"""The columns of a bill: their places, those that are missing, and other datasets."""

import pytest

from perfledger_cost_models.billing.cur2 import REQUIRED as CUR2_REQUIRED
from perfledger_cost_models.billing.focus_columns import COLUMNS, BillError, column_places

FOCUS = (*COLUMNS, "ProviderName")


def test_columns_are_found_in_any_order_and_others_are_not_read():
    header = ["x_Other", "x_Operation", *reversed(FOCUS)]

    places = column_places(header)

    assert {name: header[place] for name, place in places.items()} == {
        name: name for name in (*FOCUS, "x_Operation")
    }


def test_the_columns_of_cur2_are_its_own():
    places = column_places([*CUR2_REQUIRED, "line_item_operation", "EffectiveCost"])

    assert set(places) == {*CUR2_REQUIRED, "line_item_operation"}


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (COLUMNS, r"lacks FOCUS's columns \['ServiceProviderName or ProviderName'\]:"),
        (FOCUS[1:], r"lacks FOCUS's columns \['BillingCurrency'\]:"),
        (("BillingPeriodStatus",), "and is its dataset Billing Period: export Cost and Usage"),
        (("lineItem/LineItemType",), "and is AWS's older Cost and Usage Report: export"),
        (CUR2_REQUIRED[:-1], r"lacks CUR 2.0's columns \['product_instance_type'\]:"),
        ((*FOCUS, "EffectiveCost"), "has the column EffectiveCost twice"),
    ],
)
def test_another_table_is_refused_by_what_it_lacks(header, problem):
    with pytest.raises(BillError, match=problem):
        column_places(header)
