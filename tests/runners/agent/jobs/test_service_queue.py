import pytest

from perfledger_runners.bundles.service_requests import ServiceRequestError
from perfledger_runners.jobs.runner_job import MAX_REASON
from perfledger_runners.jobs.service_queue import JobLostError

LEASE = "1" * 32
TAKE = {"runner": "box", "machine_classes": ("cpu:A:1",), "lease": LEASE, "lease_s": 120.0}


def test_a_job_is_taken_and_read(queue, jobs, job_document):
    queue.jobs.append(job_document)

    assert jobs.take(**TAKE).id == "1" * 32
    assert jobs.take(**TAKE) is None
    assert queue.requests[0] == ("/take", TAKE | {"machine_classes": ["cpu:A:1"], "devices": {}})


@pytest.mark.parametrize("answer", [{"id": 1}, {"kind": "unknown"}])
def test_an_answer_that_is_no_job_is_refused(queue, jobs, job_document, answer):
    queue.jobs.append(job_document | answer)

    with pytest.raises(ServiceRequestError, match="not a job"):
        jobs.take(**TAKE)


def test_every_end_of_a_job_has_its_route_and_its_words(queue, jobs):
    jobs.renew("j", LEASE, lease_s=9.0)
    jobs.finish("j", LEASE, reason="no change")
    jobs.fail("j", LEASE, reason="no git", is_final=True)
    jobs.give_back("j", LEASE)

    assert queue.requests == [
        ("/j/heartbeat", {"lease": LEASE, "lease_s": 9.0}),
        ("/j/finish", {"lease": LEASE, "reason": "no change"}),
        ("/j/fail", {"lease": LEASE, "reason": "no git", "is_final": True}),
        ("/j/return", {"lease": LEASE}),
    ]


@pytest.mark.parametrize("text", ["x" * 5000, "a\0b" * 1000, "\ud800" * 2000])
def test_a_reason_is_cut_and_cleaned_to_what_the_service_takes(queue, jobs, text):
    jobs.finish("j", LEASE, reason=text)
    jobs.fail("j", LEASE, reason=text, is_final=False)

    for _, message in queue.requests:
        assert len(message["reason"]) == MAX_REASON
        assert "\0" not in message["reason"]
        assert message["reason"].encode()


@pytest.mark.parametrize(("status", "is_lost"), [(404, True), (409, True), (500, False)])
def test_a_lost_job_is_told_from_a_service_in_trouble(queue, jobs, status, is_lost):
    queue.statuses.append(status)

    with pytest.raises(ServiceRequestError) as caught:
        jobs.renew("j", LEASE, lease_s=9.0)
    assert isinstance(caught.value, JobLostError) is is_lost


@pytest.mark.parametrize(("status", "is_lost"), [(400, True), (409, True), (401, False)])
def test_a_result_that_nobody_can_store_is_told_from_a_refused_sender(
    queue, jobs, tmp_path, status, is_lost
):
    bundle = tmp_path / "bundle.json"
    bundle.write_text("{}")
    assert jobs.send("j", bundle).id == "u"
    queue.statuses.append(status)

    with pytest.raises(ServiceRequestError, match="why not") as caught:
        jobs.send("j", bundle)
    assert isinstance(caught.value, JobLostError) is is_lost
    assert {path for path, _ in queue.requests} == {"/j/result"}
