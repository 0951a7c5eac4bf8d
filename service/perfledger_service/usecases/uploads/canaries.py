"""Stores uploaded canaries, which describe a device and are not a check."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from perfledger.bundle import Bundle
from perfledger_service.errors import RefusedError
from perfledger_service.github.actions_tokens import ActionsRun
from perfledger_service.store.database import write_session
from perfledger_service.store.projects import Project, lock_project, use_actions_token
from perfledger_service.usecases.fleet.device_canaries import store_canaries, stored_canaries
from perfledger_service.usecases.jobs.runner_queue import answer_job, require_no_result
from perfledger_service.values.service_views.devices import CanaryRun
from perfledger_service.values.upload_views import UploadSender


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCanaries:
    """The canaries of a bundle, and what they show about their device."""

    id: str  # the bundle's
    bundle_sha256: str
    repository: str
    sha: str  # the commit checked out at the time, which the canaries do not depend on
    run: CanaryRun

    @property
    def headline(self) -> str:
        """Return the state of the device in one line."""
        count = len(self.run.rates)
        canaries = f"{count} canar{'y' if count == 1 else 'ies'}"
        return f"{canaries}, {self.run.state}: {self.run.reason}"


def receive_canaries(
    engine: Engine,
    bundle: Bundle,
    *,
    project: Project,
    bundle_sha256: str,
    sender: UploadSender,
    run: ActionsRun | None,
    job_id: str | None,
    now: datetime,
) -> StoredCanaries:
    """Store the canaries of a bundle, once, and end the job whose result they are, if any.

    Raises RefusedError for a pull request's run, whose code could choose the values, and as
    `receive_bundle` does.
    """
    if sender is UploadSender.OTHER_RUN:
        msg = "canaries from a pull request's run are not accepted: run them on the default branch"
        raise RefusedError(msg)
    with write_session(engine) as session:
        lock_project(session, project.id)
        if job_id is not None and stored_canaries(session, project, bundle) is None:
            require_no_result(session, project, job_id)
        if run is not None:
            use_actions_token(
                session, run.jti, bundle_sha256=bundle_sha256, expires_at=run.expires_at, now=now
            )
        stored = StoredCanaries(
            id=bundle.id,
            bundle_sha256=bundle_sha256,
            repository=project.repository,
            sha=bundle.head.sha,
            run=store_canaries(session, project, bundle, now=now),
        )
        if job_id is not None:
            answer_job(
                session, project, job_id, bundle, upload_id=None, reason=stored.headline, now=now
            )
        session.commit()
    return stored
