"""Takes jobs from a service's queue, keeps their leases and returns their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError

import msgspec

from perfledger_runners.bundles.service_requests import ServiceRequestError, request_service
from perfledger_runners.bundles.upload import UploadError, UploadReceipt, UrlOpener, upload
from perfledger_runners.jobs.runner_job import MAX_REASON, RunnerJob
from perfledger_runners.safe_text import clean_text

ROUTE = "/api/v1/jobs"
# The service rejects this job from this runner, and asking again does not change that.
GONE_STATUSES = frozenset({404, 409})
# For a result: the service does not store it, whichever runner sends it.
REFUSED_STATUSES = frozenset({400, 404, 409, 413, 422})


class JobLostError(ServiceRequestError):
    """A job that is cancelled, done, or now another runner's."""


@dataclass(frozen=True, slots=True)
class _TakenJob:
    job: RunnerJob | None


_TAKEN_JOB_DECODER = msgspec.json.Decoder(_TakenJob)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceJobs:
    """The queue for runners of the service at `url`; every method raises ServiceRequestError.

    Methods about one job raise JobLostError if this runner no longer has it.
    """

    url: str
    token: str = field(repr=False)
    opener: UrlOpener | None = None

    def take(
        self,
        *,
        runner: str,
        machine_classes: Sequence[str],
        devices: Mapping[str, Sequence[str]] | None = None,
        lease: str,
        lease_s: float,
    ) -> RunnerJob | None:
        """Return the next job of these machine classes, lent under a lease; None if there is none.

        `devices` are the names of the devices that measure each machine class, as far as the runner
        knows them. The same lease again returns the same job.
        """
        message = {
            "runner": runner,
            "machine_classes": list(machine_classes),
            "devices": {name: list(names) for name, names in (devices or {}).items()},
            "lease": lease,
            "lease_s": lease_s,
        }
        answer = self._post("/take", message)
        try:
            return _TAKEN_JOB_DECODER.decode(answer).job
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            msg = f"the service's answer is not a job: {error}"
            raise ServiceRequestError(msg) from error

    def renew(self, job_id: str, lease: str, *, lease_s: float) -> None:
        """Renew a lease from now on."""
        self._post(f"/{job_id}/heartbeat", {"lease": lease, "lease_s": lease_s})

    def finish(self, job_id: str, lease: str, *, reason: str) -> None:
        """End a job that has no bundle."""
        self._post(f"/{job_id}/finish", {"lease": lease, "reason": _sendable(reason)})

    def fail(self, job_id: str, lease: str, *, reason: str, is_final: bool) -> None:
        """Report that a job could not be done."""
        message = {"lease": lease, "reason": _sendable(reason), "is_final": is_final}
        self._post(f"/{job_id}/fail", message)

    def give_back(self, job_id: str, lease: str) -> None:
        """Give a job back."""
        self._post(f"/{job_id}/return", {"lease": lease})

    def send(self, job_id: str, bundle: Path) -> UploadReceipt:
        """Send a job's result and return the receipt; the same bundle again is stored once."""
        try:
            route = f"{ROUTE}/{job_id}/result"
            return upload(bundle, self.url, self.token, route=route, opener=self.opener)
        except UploadError as error:
            kind = JobLostError if _status(error) in REFUSED_STATUSES else ServiceRequestError
            raise kind(str(error)) from error

    def _post(self, path: str, message: Mapping[str, object]) -> bytes:
        try:
            return request_service(
                self.url, self.token, f"{ROUTE}{path}", document=message, opener=self.opener
            )
        except ServiceRequestError as error:
            if _status(error) not in GONE_STATUSES:
                raise
            msg = "the job was cancelled or finished, or another runner has it"
            raise JobLostError(msg) from error


def _sendable(reason: str) -> str:
    """Return a reason, cut to the length that the service accepts."""
    return clean_text(reason[:MAX_REASON])


def _status(error: Exception) -> int | None:
    """Return an error's HTTP status, None without an answer."""
    cause = error.__cause__
    return cause.code if isinstance(cause, HTTPError) else None
