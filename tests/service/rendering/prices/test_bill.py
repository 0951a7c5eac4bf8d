from datetime import UTC, datetime
from decimal import Decimal

import pytest

from perfledger_cost_models.billing.focus import Bill
from perfledger_service.rendering.layout.writers import json_values, to_markdown
from perfledger_service.rendering.prices.bill import bill_document


@pytest.fixture
def formats_of():
    def formats_of(unlisted=(), unknown_providers=(), unread_units=()):
        usd = Decimal(100)
        bill = Bill(
            start=datetime(2026, 10, 1, tzinfo=UTC),
            end=datetime(2026, 11, 1, tzinfo=UTC),
            usage=(),
            unused={},
            other_usd=usd,
            unlisted=dict(unlisted),
            unknown_providers=dict(unknown_providers),
            unread_units=dict(unread_units),
            effective_usd=usd,
            billed_usd=usd,
            list_usd=None,
            contracted_usd=None,
            rows=3,
            rates=(),
            gap=None,
        )
        document = bill_document(bill)
        return json_values(document), " ".join(to_markdown(document).split())

    return formats_of


def test_the_cost_of_instances_with_unknown_accelerators_is_said(formats_of):
    values, text = formats_of({"p3.8xlarge": Decimal("12.5"), "g3.4xlarge": Decimal(2)})

    assert (
        "14.50 USD of everything else is for instances whose accelerators the price sheet does "
        "not list: g3.4xlarge, p3.8xlarge"
    ) in text
    assert set(values["unlisted"]) == {"p3.8xlarge", "g3.4xlarge"}


def test_the_cost_of_providers_without_known_instances_is_said(formats_of):
    values, text = formats_of(unknown_providers={"CoreWeave": Decimal(40), "*Oracle*": Decimal(2)})

    assert "42.00 USD of everything else is charged by the hour by providers" in text
    assert "their accelerators are not counted: `*Oracle*`, CoreWeave" in text
    assert set(values["unknown_providers"]) == {"CoreWeave", "*Oracle*"}


def test_the_cost_of_accelerators_in_unread_units_is_said(formats_of):
    values, text = formats_of(unread_units={"GPU Hours": Decimal(42)})

    assert (
        "42.00 USD of everything else is for accelerators billed in units other than time" in text
    )
    assert text.endswith("not counted: GPU Hours")
    assert set(values["unread_units"]) == {"GPU Hours"}


def test_a_bill_without_them_says_nothing_of_them(formats_of):
    values, text = formats_of()

    assert "does not list" not in text
    assert "providers" not in text
    assert values["unlisted"] == values["unknown_providers"] == {}
