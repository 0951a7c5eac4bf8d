"""Lists requested A/B runs and the changes they confirmed.

The commands are for a shell: untrusted text in them is quoted, or left out if it cannot be shown in
full.
"""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from perfledger.records import short_sha
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.confirmation_state import (
    AbCandidate,
    AbPurpose,
    ConfirmedChange,
)
from perfledger_runners.bundles.service_ab_requests import RequestedAbRun, ServiceAbRequests
from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.layout import escape, number_format, vocabulary
from perfledger_service.rendering.layout.document import Document
from perfledger_service.values.branch_views import AbRequestView, AlertView

_MAX_PATTERN = 300
_OTHER_DEVICES = {
    True: "confirmed on another device of the class",
    False: "confirmed on a device where it was seen",
    None: "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AbRequestRow:
    """A requested A/B run: its reason, machine, day and command."""

    workload: str  # untrusted
    device: str  # untrusted
    why: str
    since: str
    waits: str  # untrusted; "" for most
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertTableRow:
    """A change that an A/B run confirmed."""

    workload: str  # untrusted
    device: str  # untrusted
    commits: str
    narrowing: str
    other_device: str  # the devices that showed it; "" if unknown
    changes: tuple[tuple[str, str, str, str], ...]  # metric, size, interval, tone
    upload_id: str
    moment: str


def ab_request_rows(views: Sequence[AbRequestView], *, url: str) -> tuple[AbRequestRow, ...]:
    """Return the requested A/B runs in the given order; bundles are uploaded to `url`."""
    return tuple(
        AbRequestRow(
            workload=one.request.workload,
            device=stored_verdict_rows.device(one.request.machine_class),
            why=_why(one),
            since=one.request.window,
            waits=one.waits,
            command=command_of(
                one.request.workload,
                base_sha=one.base_sha,
                head_sha=one.head_sha,
                max_pairs=one.request.max_pairs,
                url=url,
            ),
        )
        for one in views
    )


def suspects_script(service_requests: ServiceAbRequests, *, url: str) -> str:
    """Return a service's requests as lines of a shell script, with the reasons as comments."""
    if not service_requests.requests:
        return f"# no suspects in {escape.clean(service_requests.repository)}\n"
    return "".join(
        f"{line}\n" for one in service_requests.requests for line in _lines(one, url=url)
    )


def suspects_document(service_requests: ServiceAbRequests, *, url: str) -> Document:
    """Return a service's requests with their commands, for programs."""
    requests = [
        asdict(one) | {"command": _command(one, url=url)} for one in service_requests.requests
    ]
    return Document(
        name="perfledger-ab-requests",
        facts={"repository": service_requests.repository, "requests": requests},
        blocks=(),
    )


def alert_rows(alerts: Sequence[AlertView]) -> tuple[AlertTableRow, ...]:
    """Return the changes that A/B runs confirmed, in the given order."""
    return tuple(_alert_row(one) for one in alerts)


def command_of(workload: str, *, base_sha: str, head_sha: str, max_pairs: int, url: str) -> str:
    """Return the shell command that runs an A/B and uploads its bundle.

    A name that cannot be shown in full would match nothing: the command then measures everything.
    """
    is_whole = escape.clean(workload, limit=_MAX_PATTERN) == workload
    chosen = f" --workload {shlex.quote(workload)}" if is_whole else ""
    return (
        f"PERFLEDGER_MAX_PAIRS={max_pairs} perfledger check "
        f"--base {short_sha(base_sha)} "
        f"--head {short_sha(head_sha)}{chosen} --upload-url {shlex.quote(url)}"
    )


def _lines(request: RequestedAbRun, *, url: str) -> tuple[str, str]:
    looks = ", ".join(
        f"{_label(one.metric)} {number_format.percent(one.change)}" for one in request.suspects
    )
    device = escape.clean(stored_verdict_rows.device(request.machine_class))
    why = f"# {escape.clean(request.workload, limit=_MAX_PATTERN)} on {device}: {looks}"
    if request.devices:
        why += (
            f"; seen on {escape.clean(', '.join(request.devices))}, another device can confirm it"
        )
    return why, _command(request, url=url)


def _command(request: RequestedAbRun, *, url: str) -> str:
    return command_of(
        request.workload,
        base_sha=request.base_sha,
        head_sha=request.head_sha,
        max_pairs=request.max_pairs,
        url=url,
    )


def _why(view: AbRequestView) -> str:
    looks = ", ".join(_change_text(one) for one in view.suspects)
    match view.request.purpose:
        case AbPurpose.CONFIRM:
            return f"suspected change: {looks}"
        case AbPurpose.BISECT:
            return f"bisection of a confirmed change: {looks}"


def _change_text(suspect: AbCandidate) -> str:
    return f"{_label(suspect.series.metric.name)} {number_format.percent(suspect.change)}"


def _alert_row(view: AlertView) -> AlertTableRow:
    alert = view.alert
    return AlertTableRow(
        workload=alert.workload,
        device=stored_verdict_rows.device(alert.machine_class),
        commits=f"{_short(view.after_sha)}..{_short(view.last_sha)}",
        narrowing=str(alert.narrowing),
        other_device=_OTHER_DEVICES[view.is_other_device],
        changes=tuple(_change(one) for one in alert.changes),
        upload_id=view.upload_id,
        moment=number_format.moment(view.created_at),
    )


def _short(sha: str) -> str:
    return short_sha(sha) if sha else "?"


def _change(confirmed: ConfirmedChange) -> tuple[str, str, str, str]:
    estimate, candidate = confirmed.estimate, confirmed.candidate
    tone = "regressed" if candidate.harm is Harm.WORSE else "improved"
    size = number_format.change(estimate.change, estimate.low, estimate.high)
    return (_label(candidate.series.metric.name), *size, tone)


def _label(metric: str) -> str:
    return vocabulary.metric_label(metric) or escape.clean(metric)
