"""Turns A/Bs that are asked for, and what they bore out, into rows of figures and words.

The commands are for a shell: whatever is foreign in them is quoted, or left out where it cannot be
shown whole.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from perfledger_baselines.history.attribution import Harm
from perfledger_baselines.history.docket import Confirmed, Purpose, Suspicion
from perfledger_runners.hub_suspects import AskedCheck, HubSuspects
from perfledger_service.pages import escape, facts, figures, stored, words
from perfledger_service.pages.happened import between
from perfledger_service.views import AlertView, AskedView, BranchView

_MAX_PATTERN = 300
_WITNESSES = {
    True: "confirmed on another device of the class",
    False: "confirmed on a device that it was seen on",
    None: "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRow:
    """An A/B that is asked for: why, on which machine, since when, and how to make it."""

    workload: str  # foreign
    device: str  # foreign
    why: str
    since: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRow:
    """A change that an A/B bore out."""

    workload: str  # foreign
    device: str  # foreign
    commits: str
    narrowing: str
    witness: str  # "" where nobody knows which devices told it
    changes: tuple[tuple[str, str, str, str], ...]  # metric, size, interval, tone
    upload_id: str
    moment: str


def asked_rows(asked: Sequence[AskedView], *, url: str) -> tuple[AskedRow, ...]:
    """Return the A/Bs that are asked for, in the order given; `url` is where their bundles go."""
    return tuple(
        AskedRow(
            workload=one.request.workload,
            device=stored.device(one.request.machine_class),
            why=_why(one),
            since=one.request.window,
            command=command_of(
                one.request.workload,
                base_sha=one.base_sha,
                head_sha=one.head_sha,
                max_pairs=one.request.max_pairs,
                url=url,
            ),
        )
        for one in asked
    )


def suspects_text(found: HubSuspects, *, url: str) -> str:
    """Return what a service asks for as lines of a shell script: the reasons are its comments."""
    if not found.asked:
        return f"# nothing is suspected of {escape.clean(found.repository)}"
    return "\n".join(line for one in found.asked for line in _lines(one, url=url))


def suspects_json(found: HubSuspects, *, url: str) -> str:
    """Return what a service asks for as JSON, each with its command."""
    asked = [asdict(one) | {"command": _command(one, url=url)} for one in found.asked]
    document = {"repository": found.repository, "asked": asked}
    return json.dumps(document, indent=2, allow_nan=False)


def alert_rows(view: BranchView) -> tuple[AlertRow, ...]:
    """Return what A/Bs bore out, the newest first."""
    return tuple(_alert_row(one, view.commits) for one in view.alerts)


def command_of(workload: str, *, base_sha: str, head_sha: str, max_pairs: int, url: str) -> str:
    """Return the shell command that measures an A/B and hands its bundle in.

    A name that cannot be shown whole would choose nothing: the command then measures everything.
    """
    is_whole = escape.clean(workload, limit=_MAX_PATTERN) == workload
    chosen = f" -w {shlex.quote(workload)}" if is_whole else ""
    return (
        f"PERFLEDGER_MAX_PAIRS={max_pairs} perfledger check --base {facts.short_sha(base_sha)} "
        f"--head {facts.short_sha(head_sha)}{chosen} --upload {shlex.quote(url)}"
    )


def _lines(asked: AskedCheck, *, url: str) -> tuple[str, str]:
    looks = ", ".join(
        f"{_label(one.metric)} {figures.percent(one.change)}" for one in asked.suspicions
    )
    device = escape.clean(stored.device(asked.device_class))
    why = f"# {escape.clean(asked.workload, limit=_MAX_PATTERN)} on {device}: {looks}"
    if asked.seen_on:
        why += f"; seen on {escape.clean(', '.join(asked.seen_on))}, another device can confirm it"
    return why, _command(asked, url=url)


def _command(asked: AskedCheck, *, url: str) -> str:
    return command_of(
        asked.workload,
        base_sha=asked.base_sha,
        head_sha=asked.head_sha,
        max_pairs=asked.max_pairs,
        url=url,
    )


def _why(asked: AskedView) -> str:
    looks = ", ".join(_suspected(one) for one in asked.suspicions)
    match asked.request.purpose:
        case Purpose.CONFIRM:
            return f"looks as if it had changed: {looks}"
        case Purpose.BISECT:
            return f"to find the commit of a confirmed change: {looks}"


def _suspected(suspicion: Suspicion) -> str:
    return f"{_label(suspicion.series.metric.name)} {figures.percent(suspicion.change)}"


def _alert_row(view: AlertView, commits: Sequence[str]) -> AlertRow:
    alert = view.alert
    return AlertRow(
        workload=alert.workload,
        device=stored.device(alert.machine_class),
        commits=between(alert.commits, [facts.short_sha(sha)[:10] for sha in commits]),
        narrowing=str(alert.narrowing),
        witness=_WITNESSES[view.is_elsewhere],
        changes=tuple(_change(one) for one in alert.changes),
        upload_id=view.upload_id,
        moment=figures.moment(view.created_at),
    )


def _change(confirmed: Confirmed) -> tuple[str, str, str, str]:
    estimate, suspicion = confirmed.estimate, confirmed.suspicion
    tone = "regressed" if suspicion.harm is Harm.WORSE else "improved"
    size = figures.change(estimate.change, estimate.low, estimate.high)
    return (_label(suspicion.series.metric.name), *size, tone)


def _label(metric: str) -> str:
    return words.metric_label(metric) or escape.clean(metric)
