"""Renders the reports of several machine classes as one comment and one check run.

Each class has a section, the worst first; sections of classes that passed are collapsed. If the
text is too long for GitHub, every section loses detail, then the best classes keep only their
headings.
"""

from collections.abc import Sequence
from math import ceil

from perfledger.time_units import SECONDS_PER_MINUTE
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
from perfledger_service.rendering.layout.escape import clean, link
from perfledger_service.values.pull_request_report import (
    ClassReport,
    ClassStatus,
    OtherPullRequest,
    PullRequestReport,
)
from perfledger_service.values.report import Conclusion
from perfledger_service.values.upload_views import ReportedProgress

PENDING_MARK = "\N{HOURGLASS WITH FLOWING SAND}"
_MAX_WORKLOAD = 80  # characters of a name
# The outcome whose mark stands for a conclusion. Verdicts may have been removed, so the mark cannot
# be derived from them.
_OUTCOMES: dict[Conclusion | None, Outcome] = {
    Conclusion.FAILURE: Outcome.REGRESSED,
    Conclusion.SUCCESS: Outcome.IMPROVED,
}


def classes_comment(
    result: PullRequestReport,
    *,
    public_url: str,
    url: str,
    deciding: OtherPullRequest | None = None,
) -> str:
    """Return the comment under a pull request; `url` is its page below `public_url`.

    First comes the pull request with the same head commit that decides its check, if another does.
    """
    first = _others_text(() if deciding is None else (deciding,), is_comment=True)
    if result.only_report is not None:
        return comment(result.only_report, url=url, first=first)
    return _text_within(
        result, public_url=public_url, url=url, first=f"{MARKER}\n{first}", limit=MAX_COMMENT
    )


def classes_summary(
    result: PullRequestReport,
    *,
    public_url: str,
    url: str,
    other_reports: Sequence[OtherPullRequest] = (),
) -> str:
    """Return the summary of the check run; first what other pull requests of its commit have."""
    first = _others_text(other_reports, is_comment=False)
    if result.only_report is not None:
        return check_summary(result.only_report, url=url, first=first)
    return _text_within(result, public_url=public_url, url=url, first=first, limit=MAX_SUMMARY)


def _others_text(other_reports: Sequence[OtherPullRequest], *, is_comment: bool) -> str:
    return render(
        "same_commit.md.j2",
        other_reports=[(one.number, one.result.title, link(one.url)) for one in other_reports],
        is_comment=is_comment,
    )


def _text_within(
    result: PullRequestReport, *, public_url: str, url: str, first: str, limit: int
) -> str:
    text, sections = "", list[str]()
    for limits in LADDER:
        sections = [
            _section(one, result, limits=limits, public_url=public_url) for one in result.classes
        ]
        text = first + _text(result, sections, url=url)
        if len(text.encode("utf-8")) <= limit:
            return text
    for index in reversed(range(len(sections))):
        sections[index] = ""
        text = first + _text(result, sections, url=url)
        if len(text.encode("utf-8")) <= limit:
            break
    return text


def _section(
    class_report: ClassReport, result: PullRequestReport, *, limits: CommentLimits, public_url: str
) -> str:
    """Return the section of a class; "" without a report, where only a heading is shown."""
    if class_report.report is None:
        return ""
    return report_markdown(
        class_report.report,
        limits=limits,
        url=f"{public_url}/runs/{class_report.upload_id}",
        machine_class=device(class_report.machine_class),
        class_counts=result.counts if class_report is result.classes[0] else "",
        is_folded=class_report.conclusion is Conclusion.SUCCESS,
    )


def _text(result: PullRequestReport, sections: Sequence[str], *, url: str) -> str:
    pairs = list(zip(result.classes, sections, strict=True))
    return render(
        "classes.md.j2",
        title=result.title,
        counts=result.counts,
        classes=[
            (_mark(one), device(one.machine_class), class_sentence(one), section)
            for one, section in pairs
        ],
        left_out=sum(one.report is not None and not section for one, section in pairs),
        url=link(url),
    )


def class_sentence(class_report: ClassReport) -> str:
    """Return the state of a machine class in words."""
    match class_report.status:
        case ClassStatus.REPORTED:
            removal = f" ({class_report.removed.removal})" if class_report.removed else ""
            return f"{class_report.result.headline}{removal}" if class_report.result else ""
        case ClassStatus.NOT_MEASURED:
            return f"not measured: {class_report.reason}"
        case ClassStatus.PENDING:
            if class_report.deadline is None:
                return "pending: its upload is being judged"
            reason = f": {class_report.reason}" if class_report.reason else ""
            progress = class_report.progress
            measured = f"; {progress_sentence(progress)}" if progress else ""
            return f"pending until {number_format.moment(class_report.deadline)}{reason}{measured}"


def progress_sentence(progress: ReportedProgress) -> str:
    """Return how far a runner says that it is, or that it says nothing more."""
    heard_at = number_format.moment(progress.heard_at)
    figures = [f"{progress.pairs} of at most {number_format.quantity(progress.max_pairs, 'pair')}"]
    if progress.waiting:
        figures.append(f"{number_format.quantity(progress.waiting, 'workload')} undecided")
    if progress.workload:
        figures.append(f"now {clean(progress.workload, limit=_MAX_WORKLOAD)}")
    if progress.seconds_left is not None:
        minutes = ceil(progress.seconds_left / SECONDS_PER_MINUTE)
        figures.append(f"at most {number_format.duration(minutes * SECONDS_PER_MINUTE)} more")
    state = f"{clean(progress.stage)}, {', '.join(figures)}"
    if progress.is_silent:
        return f"no word from the runner since {heard_at}; before: {state}"
    return f"{state} ({heard_at})"


def _mark(class_report: ClassReport) -> str:
    match class_report.status:
        case ClassStatus.REPORTED:
            if class_report.report is not None:
                return vocabulary.conclusion_mark(class_report.report)
            return vocabulary.mark(_OUTCOMES.get(class_report.conclusion, Outcome.UNDECIDED))
        case ClassStatus.NOT_MEASURED:
            return vocabulary.mark(Outcome.NOT_MEASURED)
        case ClassStatus.PENDING:
            return PENDING_MARK
