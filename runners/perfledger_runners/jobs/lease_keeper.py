"""Renews the lease of a job while the runner works on it."""

import threading
from types import TracebackType
from typing import Self

from perfledger_runners.bundles.service_requests import ServiceRequestError
from perfledger_runners.jobs.service_queue import JobLostError, ServiceJobs

# Share of a lease's time, so that a few heartbeats may be lost before it ends.
HEARTBEATS = 4


class LeaseKeeper:
    """Context with a thread that sends heartbeats for one job.

    A service that does not answer is asked again; the work continues, since the first result
    counts.
    """

    def __init__(self, jobs: ServiceJobs, job_id: str, lease: str, *, lease_s: float) -> None:
        self._jobs, self._job_id, self._lease = jobs, job_id, lease
        self._lease_s = lease_s
        self._is_over = threading.Event()
        self._is_lost = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeats", daemon=True)

    @property
    def is_lost(self) -> bool:
        """Return whether the service said that the job is no longer this runner's."""
        return self._is_lost.is_set()

    def __enter__(self) -> Self:
        """Start the heartbeats."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the heartbeats, after one in progress."""
        self._is_over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._is_over.wait(self._lease_s / HEARTBEATS):
            try:
                self._jobs.renew(self._job_id, self._lease, lease_s=self._lease_s)
            except JobLostError:
                self._is_lost.set()
                return
            except ServiceRequestError:
                continue
