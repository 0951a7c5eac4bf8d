"""Holds what the pages of administration show."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perfledger_runners.jobs.runner_job import RunnerJob
from perfledger_service.values.people.person import AuditAction, AuditEntry
from perfledger_service.values.token_scope import TokenScope
from perfledger_service.values.upload_views import UploadStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSummary:
    """A project with how much is stored of it; `follows_renames` by its runs of GitHub Actions."""

    repository: str
    created_at: datetime
    follows_renames: bool
    trust_runners: bool
    uploads: int
    failed: int  # uploads that could not be judged or posted
    newest_upload_at: datetime | None
    series: int
    tokens: int  # neither revoked nor expired


class TokenState(StrEnum):
    """Whether a token may be used."""

    LIVE = "live"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSummary:
    """A token without its secret; `person` is its owner, "" for a project's token."""

    prefix: str
    repository: str
    person: str
    scope: TokenScope
    state: TokenState
    created_at: datetime
    expires_at: datetime | None  # None: never
    used_at: datetime | None  # to the hour; None: not since this is noted
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingUpload:
    """An upload that is not judged, not posted, or failed; `reason` says why."""

    id: str
    repository: str
    pull_request: int | None
    status: UploadStatus
    reason: str
    attempt: int
    created_at: datetime
    retry_at: datetime | None
    failing_since: datetime | None

    @property
    def may_retry(self) -> bool:
        """Return whether it failed, or waits for another attempt."""
        return self.status is UploadStatus.FAILED or self.retry_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingView:
    """What waits: uploads and jobs for runners, the oldest first, and how many there are in all."""

    uploads: tuple[WaitingUpload, ...]
    all_uploads: int
    jobs: tuple[RunnerJob, ...]
    all_jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """GitHub's limit of requests in an hour by its last answer to this process.

    `wait_s` is for how long no request is sent, None where requests are sent.
    """

    limit: int
    remaining: int
    resets_at: datetime
    wait_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppInstallation:
    """The App's installation on a repository, as GitHub tells it."""

    id: int
    account: str
    permissions: Mapping[str, str]
    events: tuple[str, ...]
    suspended_at: datetime | None
    rate_limit: RateLimit | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationView:
    """What the App's installation on a repository lacks, or why that is unknown."""

    repository: str
    installation: AppInstallation | None = None
    missing_permissions: tuple[str, ...] = ()
    missing_events: tuple[str, ...] = ()
    problem: str = ""

    @property
    def is_complete(self) -> bool:
        """Return whether nothing is known to be missing."""
        is_suspended = self.installation is not None and self.installation.suspended_at is not None
        return not (self.problem or self.missing_permissions or self.missing_events or is_suspended)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPoll:
    """The state of webhooks that GitHub could not deliver."""

    read_until: datetime
    polled_at: datetime | None
    due_at: datetime
    failures: int
    redelivered: int
    abandoned: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubView:
    """The state of the service's access to GitHub; `has_app` is False for a token, or for none."""

    has_access: bool
    has_app: bool
    has_webhook: bool
    installations: tuple[InstallationView, ...]
    poll: DeliveryPoll | None
    requests: Mapping[str, int]  # by how they ended, since the process started
    rate_limits: int  # how often GitHub asked to wait


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries of the audit log are listed; "" and None are for all."""

    repository: str = ""
    actor: str = ""
    action: AuditAction | None = None
    since: datetime | None = None
    until: datetime | None = None  # before this
    before: int | None = None  # an entry: older ones


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditView:
    """A page of the audit log, newest first; `older` is where the next page begins."""

    entries: tuple[AuditEntry, ...]
    older: int | None
