"""Turns the service's counts into metrics; labels take their values from fixed sets."""

from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from typing import Final

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from perfledger_service.github.request_counts import RequestCounts, RequestOutcome
from perfledger_service.store.maintenance.service_counts import ServiceCounts
from perfledger_service.usecases.server.metrics import current_counts
from perfledger_service.web.app_state import AppState

GITHUB_METHODS: Final = ("DELETE", "GET", "PATCH", "POST")


class ServiceCollector(Collector):
    """Metrics that are computed when they are scraped.

    `counts` returns the database's counts, None if it does not answer.
    """

    def __init__(
        self,
        counts: Callable[[], ServiceCounts | None],
        *,
        github: RequestCounts | None,
        is_launched: Callable[[], bool],
    ) -> None:
        self._counts = counts
        self._github = github
        self._is_launched = is_launched

    def describe(self) -> Iterator[Metric]:
        """Yield nothing: registering the collector does not read the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; without a database, only those of the process."""
        yield InfoMetricFamily(
            "perfledger_build", "Version of the service", value={"version": version("perfledger")}
        )
        is_launched = float(self._is_launched())
        yield _gauge("workflow_running", "Whether the workflow runs", is_launched)
        if self._github is not None:
            yield from _github_metrics(self._github)
        counts = self._counts()
        yield _gauge("database_up", "Whether the database answers", float(counts is not None))
        if counts is not None:
            yield from _database_metrics(counts)


def metrics_registry(state: AppState) -> CollectorRegistry:
    """Return a registry with the metrics of an application and its process."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(
        ServiceCollector(
            lambda: current_counts(state.engine, now=state.now()),
            github=state.github_requests,
            is_launched=lambda: state.workflow.is_launched,
        )
    )
    return registry


def _database_metrics(counts: ServiceCounts) -> Iterator[Metric]:
    yield _gauges("uploads", "Stored uploads of checks", "status", counts.uploads.items())
    yield _gauges("checks", "Judged checks", "conclusion", counts.checks.items())
    yield _gauges("imports", "Imports of other tools", "status", counts.imports.items())
    yield _gauge("uploads_waiting", "Uploads to judge, or to post again", counts.waiting)
    yield _gauge(
        "oldest_waiting_upload_seconds",
        "Time since the oldest waiting upload arrived",
        counts.oldest_waiting_s,
    )
    yield _gauges("jobs", "Jobs of the queue for runners", "state", counts.jobs.items())
    leases = {"held": counts.held_leases, "expired": counts.expired_leases}
    yield _gauges("job_leases", "Leases of jobs that runners took", "state", leases.items())
    yield _gauge("database_bytes", "Size of the database", counts.database_bytes)


def _github_metrics(github: RequestCounts) -> Iterator[Metric]:
    numbers = github.numbers()
    requests = CounterMetricFamily(
        "perfledger_github_requests",
        "Requests to GitHub; posts are those by POST and PATCH",
        labels=("method", "outcome"),
    )
    for method in GITHUB_METHODS:
        for outcome in RequestOutcome:
            requests.add_metric((method, outcome), numbers.get((method, outcome), 0))
    yield requests
    yield CounterMetricFamily(
        "perfledger_github_rate_limit_waits",
        "Refusals after which requests to GitHub wait",
        value=github.rate_limits,
    )


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(f"perfledger_{name}", meaning, value=value)


def _gauges(name: str, meaning: str, label: str, values: Iterable[tuple[str, int]]) -> Metric:
    family = GaugeMetricFamily(f"perfledger_{name}", meaning, labels=(label,))
    for key, number in values:
        family.add_metric((key,), number)
    return family
