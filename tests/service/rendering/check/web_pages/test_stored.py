"""What is stored of an upload, in the order in which it is read."""

from datetime import UTC, datetime

from perfledger.metrics import WorseDirection
from perfledger_service.rendering.history.stored_verdict_rows import stored_groups
from perfledger_service.values.upload_views import UploadStatus, UploadView, VerdictView


def verdict(workload, metric, outcome, *, is_warning=False):
    return VerdictView(
        workload=workload,
        metric=metric,
        unit="s",
        worse=WorseDirection.HIGHER,
        outcome=outcome,
        base=1.0,
        head=1.0,
        change=0.0,
        low=-0.1,
        high=0.1,
        is_warning=is_warning,
        series_id=None,
    )


def test_what_needs_a_reader_stands_first_and_all_else_as_it_was_stored():
    upload = UploadView(
        id="0" * 32,
        repository="acme/models",
        pull_request=7,
        base_sha="a" * 40,
        head_sha="b" * 40,
        head_subject="",
        device_class="cpu:AMD EPYC:1",
        status=UploadStatus.POSTED,
        reason="",
        conclusion="failure",
        headline="",
        created_at=datetime(2026, 11, 22, tzinfo=UTC),
        verdicts=(
            verdict("a:a", "step_time_p50", "unchanged"),
            verdict("b:b", "step_time_p50", "unchanged", is_warning=True),
            verdict("c:c", "step_time_p50", "unchanged"),
            verdict("c:c", "peak_memory", "regressed"),
        ),
    )

    groups = stored_groups(upload)

    assert [name for name, _ in groups] == ["c:c", "b:b", "a:a"]
    assert [row.metric for row in groups[0][1]] == ["peak memory", "step time"]
