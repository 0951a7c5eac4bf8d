from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from perfledger_service.github.request_counts import RequestCounts
from perfledger_service.store.maintenance.service_counts import ServiceCounts
from perfledger_service.values.report import Conclusion
from perfledger_service.values.upload_views import UploadStatus
from perfledger_service.web.metrics.registry import ServiceCollector

COUNTS = ServiceCounts(
    uploads={},
    checks={Conclusion.FAILURE: 3},
    imports={UploadStatus.JUDGED: 8},
    waiting=2,
    oldest_waiting_s=7.5,
    jobs={},
    held_leases=4,
    expired_leases=5,
    database_bytes=6,
)


def samples_of(counts, *, is_launched=True):
    collector = ServiceCollector(
        lambda: counts, github=RequestCounts(), is_launched=lambda: is_launched
    )
    registry = CollectorRegistry()
    registry.register(collector)
    text = generate_latest(registry).decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_each_count_is_a_metric():
    samples = samples_of(COUNTS)

    assert samples["perfledger_checks", "failure"] == 3
    assert samples["perfledger_imports", "judged"] == 8
    assert samples["perfledger_uploads_waiting",] == 2
    assert samples["perfledger_oldest_waiting_upload_seconds",] == 7.5
    assert samples["perfledger_job_leases", "held"] == 4
    assert samples["perfledger_job_leases", "expired"] == 5
    assert samples["perfledger_database_bytes",] == 6


def test_what_never_happened_is_zero_from_the_start():
    samples = samples_of(None, is_launched=False)

    assert samples["perfledger_github_requests_total", "POST", "no_answer"] == 0
    assert samples["perfledger_workflow_running",] == 0
    assert samples["perfledger_database_up",] == 0
    assert ("perfledger_database_bytes",) not in samples
