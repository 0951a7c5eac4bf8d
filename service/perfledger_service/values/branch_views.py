"""Holds what a project's page shows of its default branch."""

from dataclasses import dataclass
from datetime import datetime

from perfledger_baselines.history.commits.confirmation_state import AbCandidate, AbRequest, Alert
from perfledger_baselines.history.commits.grouping import GroupedChanges
from perfledger_baselines.planning.gate_health import GateHealth
from perfledger_service.values.acceptance import Acceptance


@dataclass(frozen=True, slots=True, kw_only=True)
class AbRequestView:
    """A requested A/B run, and the suspects that it tests."""

    request: AbRequest
    base_sha: str
    head_sha: str
    suspects: tuple[AbCandidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertView:
    """A change that an A/B run confirmed, and the upload of that run.

    It was made after one commit and up to another, "" where they are not known. `device` is the id
    of the device that the A/B run used, "" without one.
    """

    alert: Alert
    upload_id: str
    after_sha: str
    last_sha: str
    created_at: datetime  # the bundle's, UTC: it may arrive long after
    device: str = ""

    @property
    def is_other_device(self) -> bool | None:
        """Return whether another device than the suspects' confirmed it; None if unknown."""
        suspect_devices = {device for one in self.alert.changes for device in one.candidate.devices}
        return self.device not in suspect_devices if self.device and suspect_devices else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateView:
    """How far a project's checks on one machine class can be trusted."""

    device_class: str
    health: GateHealth


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchOrder:
    """The measured commits of a default branch, oldest first, and the claims without a place.

    `source` is whose word it is. `moved_commits` stand after another one than before.
    """

    repository: str
    source: str
    commits: tuple[str, ...]
    moved_commits: int
    unattested: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchView:
    """A project's default branch: confirmed and suspected changes, and events of its series."""

    repository: str
    commits: tuple[str, ...]  # oldest first: places in requests, alerts and events count them
    alerts: tuple[AlertView, ...]  # newest first
    requests: tuple[AbRequestView, ...]  # the most promising first
    grouped_changes: GroupedChanges
    watched: int  # series
    gates: tuple[GateView, ...]
    acceptances: tuple[Acceptance, ...] = ()  # newest first
