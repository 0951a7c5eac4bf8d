import pytest
from hypothesis import given, strategies as st

from perfledger_runners.launchers.kubernetes.api_records import (
    MAX_DETAIL_TEXT,
    KubernetesJob,
    PodList,
    decode_record,
    detail_text,
)
from perfledger_runners.launchers.launcher import LauncherError

HOSTILE = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"\xff",
    b'{"metadata": ' + b"[" * 100_000,
    b'{"metadata": {"name": 1}}',
    b'{"metadata": {}, "status": {"conditions": [{"status": "True"}]}}',
    b'{"metadata": {}, "spec": {"suspend": "no"}}',
    b'{"metadata": {}} and more',
]


@pytest.mark.parametrize("data", HOSTILE)
def test_an_answer_that_is_no_job_is_an_error(data):
    with pytest.raises(LauncherError, match="did not answer with a KubernetesJob"):
        decode_record(data, KubernetesJob)


def test_nulls_and_unknown_fields_are_left_out():
    data = b'{"metadata": {"x": 1}, "status": {"conditions": null}, "kind": "Job"}'
    job = decode_record(data, KubernetesJob)

    assert job.condition("Failed") is None
    assert not job.is_being_deleted
    assert decode_record(b'{"items": null}', PodList).items is None


@given(st.lists(st.none() | st.text(), max_size=3))
def test_what_a_cluster_says_is_one_short_line_without_control_characters(parts):
    text = detail_text(*parts)

    assert len(text) <= MAX_DETAIL_TEXT
    assert text.isprintable()
