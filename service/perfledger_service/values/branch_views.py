"""Holds the view of a project's default branch, and its events as listed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from perfledger.records import Device
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.confirmation_state import AbCandidate, AbRequest, Alert
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.grouping import (
    ChangeEvent,
    EnvironmentChange,
    GroupedChanges,
)
from perfledger_baselines.history.commits.tracked_event import TrackedEvent
from perfledger_baselines.planning.gate_health import GateHealth
from perfledger_cost_models.quote import ChangePrice
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.change_price import PricedCheck

IMPORTED_CLASS = f"{Device.IMPORTED}:"  # begins the machine classes of imports


@dataclass(frozen=True, slots=True, kw_only=True)
class AbRequestView:
    """A requested A/B run, and the suspects that it tests."""

    request: AbRequest
    base_sha: str
    head_sha: str
    suspects: tuple[AbCandidate, ...]
    waits: str = ""  # why its job is not measured yet, as far as that is known


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertView:
    """A change that an A/B run confirmed, and the upload of that run.

    It was made after one commit and up to another, "" if they are unknown. `device` is the id of
    the device that the A/B run used, "" without one.
    """

    alert: Alert
    upload_id: str
    after_sha: str
    last_sha: str
    created_at: datetime  # the bundle's, UTC: it may arrive long after
    device: str = ""

    @property
    def is_other_device(self) -> bool | None:
        """Return whether a device other than the suspects' confirmed it; None if unknown."""
        suspect_devices = {device for one in self.alert.changes for device in one.candidate.devices}
        return self.device not in suspect_devices if self.device and suspect_devices else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateView:
    """How far a project's checks on one machine class can be trusted, and their cost.

    `conclusions` are GitHub's of its newest checks, with their uploads, newest first. `held_s` is
    how long its newest checks held the machine, as far as they say so (`timed` of them); None if
    none does. `usd` is that time at `device_price`, the newest check's setting; None without it.
    """

    machine_class: str
    health: GateHealth
    conclusions: tuple[tuple[str, str], ...] = ()
    held_s: float | None = None
    timed: int = 0
    device_price: str = ""  # untrusted
    usd: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchOrder:
    """The measured commits of a default branch, oldest first, and the claims without a place.

    `source` is where the order comes from. `moved_commits` now follow another commit than before.
    """

    repository: str
    source: str
    commits: tuple[str, ...]
    moved_commits: int
    unattested: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSearch:
    """The changes that a search of a default branch's series found."""

    commits: tuple[str, ...]  # measured ones, oldest first: places in the changes count them
    grouped_changes: GroupedChanges
    watched: int  # series


class TriagePart(StrEnum):
    """The action that an event needs."""

    TO_DECIDE = "to-decide"  # an open regression
    ACKNOWLEDGED = "acknowledged"
    EXPECTED = "expected"
    SETTLED = "settled"  # nothing: it is better, fixed, of machines, an import or no longer found


_PARTS = {
    EventState.OPEN: TriagePart.TO_DECIDE,
    EventState.ACKNOWLEDGED: TriagePart.ACKNOWLEDGED,
    EventState.EXPECTED: TriagePart.EXPECTED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventView:
    """An event of a project: when it was first found, and since when in its state."""

    event: TrackedEvent
    opened_at: datetime
    changed_at: datetime

    @property
    def is_imported(self) -> bool:
        """Return whether only another tool's history has the event: years of it are no news."""
        series = self.event.series
        return bool(series) and all(is_imported_class(one.machine_class) for one in series)

    @property
    def is_regression(self) -> bool:
        """Return whether something became worse and the newest search still finds it."""
        return self.event.harm is Harm.WORSE and self.event.is_detected

    @property
    def part(self) -> TriagePart:
        """Return the action that the event needs."""
        if self.is_imported or not self.is_regression:
            return TriagePart.SETTLED
        return _PARTS.get(self.event.state, TriagePart.SETTLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriagedEvent:
    """An event with its details.

    `view` is None until the event is stored, and `change` if the newest search of the history does
    not have it. `alerts` are the A/B runs that confirm it. `prices` are its workloads', most
    expensive first, from `priced_check`, the newest check of its change that has any.
    """

    view: EventView | None
    change: ChangeEvent | EnvironmentChange | None
    alerts: tuple[AlertView, ...] = ()
    priced_check: PricedCheck | None = None
    prices: tuple[ChangePrice, ...] = ()

    @property
    def machine_classes(self) -> frozenset[str]:
        """Return the machine classes of its series."""
        if self.view is not None:
            return frozenset(one.machine_class for one in self.view.event.series)
        if isinstance(self.change, ChangeEvent):
            return frozenset(one.change.series.machine_class for one in self.change.members)
        return frozenset()

    @property
    def workloads(self) -> frozenset[str]:
        """Return the workloads of its series."""
        if self.view is not None:
            return frozenset(one.workload for one in self.view.event.series)
        if isinstance(self.change, ChangeEvent):
            return frozenset(one.change.series.workload for one in self.change.members)
        return frozenset()

    @property
    def part(self) -> TriagePart:
        """Return the action that the event needs."""
        if self.view is not None:
            return self.view.part
        is_worse = isinstance(self.change, ChangeEvent) and self.change.harm is Harm.WORSE
        return TriagePart.TO_DECIDE if is_worse else TriagePart.SETTLED


@dataclass(frozen=True, slots=True, kw_only=True)
class EventNote:
    """An entry of an event's history; `author` is "" for the measurements."""

    event_id: int
    noted_at: datetime
    author: str
    state: EventState
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchView:
    """A project's default branch: confirmed and suspected changes, and events of its series."""

    repository: str
    search: BranchSearch
    is_search_due: bool  # the history changed since the search
    alerts: tuple[AlertView, ...]  # newest first, those of no event
    requests: tuple[AbRequestView, ...]  # the most promising first
    gates: tuple[GateView, ...]
    events: tuple[TriagedEvent, ...] = ()  # newest first
    notes: tuple[EventNote, ...] = ()  # entries of events' histories in the last week, newest first
    acceptances: tuple[Acceptance, ...] = ()  # newest first
    unattested: int = 0  # measured commits without a place, where none has one


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHistory:
    """An event of a project with its history, oldest first."""

    repository: str
    view: EventView
    notes: tuple[EventNote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventList:
    """Events of a project, newest first; `has_more` means that older ones were left out."""

    repository: str
    events: tuple[EventView, ...]
    has_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageReport:
    """A project's open decisions, and what happened since a moment.

    `to_decide` are open regressions, largest first; `expiring` those that are expected for a few
    more days, `expected` for longer. `fixed` and `environment` are those that entered this state
    since then. `notes` is what happened since then, newest first.
    """

    repository: str
    since: datetime
    now: datetime
    to_decide: tuple[EventView, ...]
    acknowledged: tuple[EventView, ...]
    expiring: tuple[EventView, ...]
    expected: tuple[EventView, ...]
    fixed: tuple[EventView, ...]
    environment: tuple[EventView, ...]
    notes: tuple[EventNote, ...]

    @property
    def period(self) -> timedelta:
        """Return how far back the report looks."""
        return self.now - self.since

    def count_notes(self, state: EventState) -> int:
        """Return how many events entered a state since then."""
        return len({note.event_id for note in self.notes if note.state is state})


class GateState(StrEnum):
    """The newest check of the default branch, and the open events of its history."""

    PASSING = "passing"
    REGRESSED = "regressed"
    FAILING = "failing"  # due to a limit on cost, say: no verdict is red
    NOT_MEASURED = "not measured"
    UNDECIDED = "undecided"
    UNKNOWN = "unknown"  # no commit of the default branch was judged


@dataclass(frozen=True, slots=True, kw_only=True)
class GateBadge:
    """The state of a project's gate; `measured_at` is None where it is unknown.

    A stale check shows how the branch was, not how it is.
    """

    repository: str
    state: GateState
    open_regressions: int = 0
    measured_at: datetime | None = None
    is_stale: bool = False


def is_imported_class(machine_class: str) -> bool:
    """Return whether a machine class belongs to an import."""
    return machine_class.startswith(IMPORTED_CLASS)
