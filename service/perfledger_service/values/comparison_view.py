"""Holds comparisons of runs that were not measured in pairs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from perfledger.profile import Profile
from perfledger.records import Machine, Side
from perfledger_baselines.judging.verdict import Verdict
from perfledger_profiles.diff.cause import StepTimeExplanation
from perfledger_profiles.hardware.roofline import Roofline
from perfledger_service.values.check_options import CheckOptions
from perfledger_service.values.upload_views import UploadView


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """Comparison of two files' runs without pairs."""

    base: str  # names of the files
    head: str
    alpha: float
    margin: float
    floor: float
    assumed: str  # an assumption about the column's metric, "" without one
    verdicts: tuple[Verdict, ...]
    # Of a folder: series, and its baseline with the reason.
    baselines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedUpload:
    """One side of a comparison of uploads: the commit that the upload measured as its head.

    `other_checks` are further checks of this commit, on other machine classes, by class.
    """

    upload_id: str
    sha: str
    subject: str  # untrusted
    machine_class: str
    pull_request: int | None
    measured_at: datetime
    machine: Machine
    options: CheckOptions
    other_checks: tuple[tuple[str, str], ...] = ()  # machine class, upload id


class MissingProfile(StrEnum):
    """Why a side of a compared workload has no profile."""

    NOT_MEASURED = "not measured"
    NOT_CHANGED = "not changed"  # a check profiles what changed against its own base
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprofiledSide:
    """A workload of which one side has no profile, and why; `side` base is A."""

    workload: str
    side: Side
    why: MissingProfile
    note: str = ""  # of the check, on what went wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSteps:
    """Profiled steps of two checks' heads: A's as base, B's as head.

    `roofs` are those of either side's device, by workload and side.
    """

    explanations: tuple[StepTimeExplanation, ...] = ()
    profiles: tuple[Profile, ...] = ()
    roofs: Mapping[tuple[str, Side], Roofline] = field(
        default_factory=dict[tuple[str, Side], Roofline]
    )
    unprofiled: tuple[UnprofiledSide, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadComparison:
    """Comparison of the heads of two uploads of a project.

    `paired` are checks that measured these two commits in pairs, the newest of each machine class.
    """

    repository: str
    base: ComparedUpload
    head: ComparedUpload
    view: ComparisonView
    steps: ComparedSteps = ComparedSteps()
    paired: tuple[UploadView, ...] = ()
