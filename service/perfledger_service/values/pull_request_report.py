"""Holds what is posted on a pull request's head: a report for each machine class."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perfledger_service.values.report import Conclusion, Report
from perfledger_service.values.upload_views import ReportedProgress


class ClassStatus(StrEnum):
    """Whether a machine class has reported on a head."""

    REPORTED = "reported"
    PENDING = "pending"
    NOT_MEASURED = "not measured"


class AnnotationLevel(StrEnum):
    """How serious an annotation is, in GitHub's words."""

    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeAnnotation:
    """A remark on a line of the head's code, in plain text; `path` is the repository's own."""

    path: str
    line: int
    level: AnnotationLevel
    title: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedReport:
    """What remains of a report after retention removed its bundle; `removal` says when, and why."""

    conclusion: Conclusion
    title: str
    headline: str
    removal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassReport:
    """A machine class that has to report on a head, and its report once there is one.

    `machine_class` is a pattern until the class has reported. `removed` is what remains of its
    report after its removal. `deadline` is None for a class that was not announced.
    """

    machine_class: str
    status: ClassStatus
    report: Report | None = None
    removed: RemovedReport | None = None
    upload_id: str = ""
    deadline: datetime | None = None
    reason: str = ""  # why it is not measured, or pending again
    progress: ReportedProgress | None = None  # while a runner measures

    @property
    def result(self) -> Report | RemovedReport | None:
        """Return the class's report, or what remains of it; None before it has reported."""
        return self.report or self.removed

    @property
    def conclusion(self) -> Conclusion | None:
        """Return the conclusion of the class, None while it is pending."""
        match self.status:
            case ClassStatus.REPORTED:
                return None if self.result is None else self.result.conclusion
            case ClassStatus.NOT_MEASURED:
                return Conclusion.FAILURE
            case ClassStatus.PENDING:
                return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestReport:
    """The reports of all machine classes on a head, the worst first.

    `conclusion` is the worst of the classes', None while the check is in progress. `counts` says
    on how many classes each outcome came about.
    """

    classes: tuple[ClassReport, ...]
    conclusion: Conclusion | None
    title: str
    counts: str

    @property
    def only_report(self) -> Report | None:
        """Return the report of the only class, None for several classes or none."""
        return self.classes[0].report if len(self.classes) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPullRequest:
    """Another open pull request with the same head commit, and its page."""

    number: int
    result: PullRequestReport
    url: str
