from dataclasses import replace

from perfledger_service.rendering.server.pages.admin import why_job_waits, why_upload_waits
from perfledger_service.values.upload_views import UploadStatus
from tests.service.rendering.check.page.service_pages import waiting_view

WAITING = waiting_view(str)


def test_why_an_upload_waits_is_its_reason_or_its_status():
    failed, received = WAITING.uploads
    judged = replace(received, status=UploadStatus.JUDGED)

    assert why_upload_waits(failed) == "GitHub answered 403"
    assert why_upload_waits(received) == "waits to be judged"
    assert why_upload_waits(judged) == "waits to be posted"
    assert (failed.may_retry, received.may_retry) == (True, False)


def test_why_a_job_waits_names_its_runner_or_the_machines_that_it_needs():
    [job] = WAITING.jobs

    assert why_job_waits(job) == "waits for a runner of cuda:*; before: the lease ended"
    assert why_job_waits(replace(job, reason="")) == "waits for a runner of cuda:*"
    assert why_job_waits(replace(job, runner="box-1")) == "box-1 works on it"
