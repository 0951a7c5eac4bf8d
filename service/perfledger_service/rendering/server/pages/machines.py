"""Renders the page of a project's machines, devices, runners and jobs, and its data."""

from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.layout import number_format, provenance_facts
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Table,
    fact,
    facts,
    figure,
    name,
    table,
)
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.server.device import (
    WHAT_DRIFT_IS,
    canaries_table,
    devices_table,
)
from perfledger_service.rendering.server.job import jobs_document
from perfledger_service.values.fleet_views import MachinesView, MachineView, RunnerView

WHAT_NOISE_IS = (
    "Noise: how much the ratio of step times, head / base, varies between pairs of the same "
    "check, in the median. A machine noisier than its siblings needs more pairs for the same "
    "answer."
)
WHAT_STATES_ARE = (
    "States: how many different settings the machine was measured with (driver, clocks, power "
    "cap, kernel, governor and so on). A new state starts a new history of its series."
)
NO_ID = "no id: machines of this kind count as one"


def machines_page(view: MachinesView, *, form_token: str = "") -> str:
    """Return the page of a project's machines; with a token it has quarantine forms."""
    return render(
        "html/machines.html.j2",
        view=view,
        machines=[(one, provenance_facts.machine_facts(one.newest)) for one in view.machines],
        runners=_runners(view),
        jobs=_jobs(view),
        devices=devices_table(view.devices),
        canaries=canaries_table(view.devices),
        quarantined=[one.key.name for one in view.devices if one.quarantine],
        others=_devices_in_use(view),
        what_drift_is=WHAT_DRIFT_IS,
        form_token=form_token,
        notes=(WHAT_NOISE_IS, WHAT_STATES_ARE),
        no_id=NO_ID,
        device=stored_verdict_rows.device,
        duration=number_format.duration,
        noise=number_format.share,
        moment=number_format.moment,
    )


def machines_document(view: MachinesView) -> Document:
    """Return the page's data."""
    return Document(
        name="perfledger-machines",
        facts={
            "repository": view.repository,
            "checks": view.checks,
            "devices_left_out": view.devices_left_out,
        },
        blocks=(
            table(_MACHINE_COLUMNS, view.machines, key="machines"),
            devices_table(view.devices),
            canaries_table(view.devices),
            _runners(view),
            _jobs(view),
        ),
    )


def _devices_in_use(view: MachinesView) -> list[str]:
    """Return the names of devices that are uniquely identified and not in quarantine."""
    closed = {one.key.name for one in view.devices if one.quarantine}
    of_checks = [
        name
        for one in view.machines
        if one.newest.is_identified
        for name in one.newest.occupied_names
    ]
    of_canaries = (one.key.name for one in view.devices if one.key.has_id)
    names = dict.fromkeys([*of_canaries, *of_checks])
    return [each for each in names if each not in closed]


def _runners(view: MachinesView) -> Table:
    return table(_RUNNER_COLUMNS, view.runners, key="runners")


def _jobs(view: MachinesView) -> Table:
    (jobs,) = jobs_document(view.repository, view.jobs).keyed_tables
    return jobs


_MACHINE_COLUMNS: tuple[Column[MachineView], ...] = (
    fact("machine_class", lambda one: one.machine_class),
    fact("uuid", lambda one: one.uuid or None),
    *facts("cpu_model", "cores", of="newest"),
    *facts("checks", "undecided", "noise", "held_s", "states"),
    *facts("first_at", "last_at", "newest_check"),
)
_RUNNER_COLUMNS: tuple[Column[RunnerView], ...] = (
    name("runner", "Runner", lambda one: one.name, limit=60),
    name("machine_class", "Takes jobs of", lambda one: one.machine_class, limit=60),
    figure("seen_at", "Last seen", lambda one: one.seen_at, number_format.moment),
)
