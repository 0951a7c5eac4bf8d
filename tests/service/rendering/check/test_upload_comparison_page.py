"""The page that compares two checks: its sides, results and texts of users."""

import json
from datetime import UTC, datetime

from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_service.rendering.check.upload_comparison_page import (
    MAX_RESULTS,
    compare_page,
    compare_page_document,
)
from perfledger_service.rendering.layout.writers import to_json
from perfledger_service.values.check_options import CheckOptions
from perfledger_service.values.comparison_view import (
    ComparedUpload,
    ComparisonView,
    UploadComparison,
)


def comparison(*verdicts):
    sides = [
        ComparedUpload(
            upload_id=digit * 32,
            sha=digit * 40,
            subject="<b>bold</b>",
            machine_class="cuda:NVIDIA H100:1",
            pull_request=7,
            measured_at=datetime(2026, 11, 20, tzinfo=UTC),
            machine=Machine(device=Device.CUDA, model="NVIDIA H100"),
            options=CheckOptions(),
        )
        for digit in "ab"
    ]
    view = ComparisonView(
        base="a", head="b", alpha=0.05, margin=0.01, floor=0.005, assumed="", verdicts=verdicts
    )
    return UploadComparison(repository="acme/models", base=sides[0], head=sides[1], view=view)


def verdict(workload, outcome, *, reason=""):
    return Verdict(
        workload=workload,
        metric=STEP_TIME,
        outcome=outcome,
        estimate=None,
        adjusted_p=1.0,
        is_warning=False,
        reason=reason,
    )


def test_what_cannot_be_compared_says_why():
    page = compare_page(
        "acme/models",
        comparison(verdict("a:<i>", Outcome.NOT_MEASURED, reason="A ran on X, B on Y")),
    )

    assert "No metric was measured by both checks" in page
    assert "A ran on X, B on Y" in page
    assert "<i>" not in page
    assert "<b>bold" not in page


def test_results_beyond_the_limit_are_counted():
    verdicts = [verdict(f"w{n}:step", Outcome.UNDECIDED) for n in range(MAX_RESULTS + 2)]

    assert "and 2 more" in compare_page("acme/models", comparison(*verdicts))


def test_a_result_without_an_interval_says_why():
    reason = "1 A and 3 B runs: each side needs 4"
    view = comparison(verdict("gpt:step", Outcome.UNDECIDED, reason=reason))
    document = json.loads(to_json(compare_page_document(view)))

    assert reason in compare_page("acme/models", view)
    assert ">Note</th>" in compare_page("acme/models", view)
    assert document["results"][0]["missing"] == reason
    assert document["results"][0]["change"] is None
