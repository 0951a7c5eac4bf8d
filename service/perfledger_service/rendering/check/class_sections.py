"""Renders the reports of several machine classes as one comment and one check run.

Each class has a row in the first table and a section of its own. A text that is too long for GitHub
has less detail in every section, and then fewer sections, the best classes' first.
"""

from collections.abc import Sequence

from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.check.comment import (
    LADDER,
    MARKER,
    MAX_COMMENT,
    MAX_SUMMARY,
    CommentLimits,
    check_summary,
    comment,
    report_markdown,
)
from perfledger_service.rendering.history.stored_verdict_rows import device
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.escape import link
from perfledger_service.values.pull_request_report import (
    ClassReport,
    ClassStatus,
    PullRequestReport,
)

PENDING_MARK = "\N{HOURGLASS WITH FLOWING SAND}"


def classes_comment(result: PullRequestReport, *, public_url: str, url: str) -> str:
    """Return the comment under a pull request; `url` is its page below `public_url`."""
    if result.only_report is not None:
        return comment(result.only_report, url=url)
    return _fitted(result, public_url=public_url, url=url, first=f"{MARKER}\n", limit=MAX_COMMENT)


def classes_summary(result: PullRequestReport, *, public_url: str, url: str) -> str:
    """Return the summary of the check run."""
    if result.only_report is not None:
        return check_summary(result.only_report, url=url)
    return _fitted(result, public_url=public_url, url=url, first="", limit=MAX_SUMMARY)


def _fitted(result: PullRequestReport, *, public_url: str, url: str, first: str, limit: int) -> str:
    text, sections = "", list[str]()
    for limits in LADDER:
        sections = _sections(result, limits=limits, public_url=public_url)
        text = first + _text(result, sections, url=url)
        if len(text.encode("utf-8")) <= limit:
            return text
    while len(text.encode("utf-8")) > limit and sections:
        sections = sections[:-1]
        text = first + _text(result, sections, url=url)
    return text


def _sections(result: PullRequestReport, *, limits: CommentLimits, public_url: str) -> list[str]:
    return [
        report_markdown(
            one.report,
            limits=limits,
            url=f"{public_url}/runs/{one.upload_id}",
            machine_class=device(one.machine_class),
        )
        for one in result.classes
        if one.report is not None
    ]


def _text(result: PullRequestReport, sections: Sequence[str], *, url: str) -> str:
    reported = sum(one.report is not None for one in result.classes)
    return render(
        "classes.md.j2",
        headline=result.headline,
        names=[device(one.machine_class) for one in result.classes],
        mark=_mark(result.classes[0]) if result.classes else PENDING_MARK,
        rows=[
            (_mark(one), device(one.machine_class), class_sentence(one)) for one in result.classes
        ],
        sections=sections,
        left_out=reported - len(sections),
        url=link(url),
    )


def class_sentence(class_report: ClassReport) -> str:
    """Return what there is of a machine class, in words."""
    match class_report.status:
        case ClassStatus.REPORTED:
            return class_report.report.headline if class_report.report else ""
        case ClassStatus.NOT_MEASURED:
            return f"not measured: {class_report.reason}"
        case ClassStatus.PENDING:
            if class_report.deadline is None:
                return "pending: its upload is being judged"
            return f"pending until {number_format.moment(class_report.deadline)}"


def _mark(class_report: ClassReport) -> str:
    match class_report.status:
        case ClassStatus.REPORTED:
            return (
                PENDING_MARK
                if class_report.report is None
                else vocabulary.conclusion_mark(class_report.report)
            )
        case ClassStatus.NOT_MEASURED:
            return vocabulary.mark(Outcome.NOT_MEASURED)
        case ClassStatus.PENDING:
            return PENDING_MARK
