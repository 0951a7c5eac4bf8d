import csv
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger.records import Device, Machine
from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind
from perfledger_service.rendering.layout.writers import to_csv, to_json
from perfledger_service.rendering.server.pages.machines import (
    NO_ID,
    machines_document,
    machines_page,
)
from perfledger_service.values.fleet_views import MachinesView, MachineView, RunnerView
from perfledger_service.values.service_views.devices import DeviceKey, DeviceView

SEEN = datetime(2026, 11, 20, 10, 3, tzinfo=UTC)
EMPTY = MachinesView(repository="octo/models", machines=(), checks=0, runners=(), jobs=())
GPU = MachineView(
    machine_class="cuda:NVIDIA H100 80GB HBM3:1",
    uuid="GPU-1",
    newest=Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", uuid="GPU-1", driver="570.1"),
    newest_check="3" * 32,
    checks=12,
    undecided=2,
    held_s=5400.0,
    noise=0.0123,
    states=2,
    first_at=SEEN,
    last_at=SEEN,
)


@pytest.fixture
def job():
    return RunnerJob(
        id="7" * 32,
        repository="octo/models",
        kind=RunnerJobKind.CANARY,
        machine_class="cuda:*",
        runner="box-1",
        created_at=SEEN,
        due_at=SEEN,
    )


def view(**values):
    return replace(EMPTY, machines=(GPU,), checks=12, **values)


def test_an_empty_page_says_what_fills_it():
    page = machines_page(EMPTY)

    for words in (
        "No check has been judged",
        "perfledger runner --upload-url",
        "/perfledger rerun",
    ):
        assert words in page
    assert "format=csv" not in page


def test_a_machine_has_its_figures_and_a_link_to_its_newest_check():
    page = machines_page(view())

    assert "The newest 12 checks" in page
    assert "NVIDIA H100 80GB HBM3 (cuda)" in page
    assert f'<a href="/runs/{"3" * 32}"><time>2026-11-20 10:03 UTC</time></a>' in page
    for label, text in (
        ("Checks", "12"),
        ("Undecided", "2"),
        ("Noise", "1.2\N{NO-BREAK SPACE}%"),
        ("Held", "1.5 h"),
        ("States", "2"),
    ):
        assert f'data-label="{label}" class="number">{text}</td>' in page
    assert "<dt>Driver</dt><dd> 570.1</dd>" in page


def test_what_is_unknown_is_a_dash_and_a_machine_without_an_id_says_so():
    unknown = replace(GPU, uuid="", held_s=None, noise=None)

    page = machines_page(replace(view(), machines=(unknown,), checks=1))

    assert "The newest check<" in page
    assert NO_ID in page
    for label in ("Noise", "Held"):
        assert f'data-label="{label}" class="number blank">\N{EN DASH}</td>' in page


def test_a_device_of_an_unknown_host_is_not_offered_for_a_quarantine_that_it_cannot_have():
    keys = (
        DeviceKey(device="cpu", model="Xeon", name="Xeon of host a1", has_id=True),
        DeviceKey(device="cpu", model="Xeon", name="Xeon, 8 cores, unknown host", has_id=False),
    )
    devices = tuple(DeviceView(id=at, key=key, newest=None) for at, key in enumerate(keys))

    page = machines_page(view(devices=devices), form_token="t")

    offered = re.findall(r"<option[^>]*>([^<]*)</option>", page)
    assert sorted(offered) == ["GPU-1", "Xeon of host a1"]


def test_runners_and_jobs_are_listed(job):
    runner = RunnerView(name="box-1", machine_class="cuda:*", seen_at=SEEN)

    page = machines_page(view(runners=(runner,), jobs=(job,)))

    assert "<code>box-1</code>" in page
    assert "<code>77777777</code>" in page
    assert "queued" in page


def test_the_data_has_raw_values(job):
    document = machines_document(view(jobs=(job,)))

    values = json.loads(to_json(document))
    assert values["format"] == "perfledger-machines"
    assert values["machines"] == [
        {
            "machine_class": GPU.machine_class,
            "uuid": "GPU-1",
            "cpu_model": "",
            "cores": 1,
            "checks": 12,
            "undecided": 2,
            "noise": 0.0123,
            "held_s": 5400.0,
            "states": 2,
            "first_at": "2026-11-20T10:03:00+00:00",
            "newest_check": "3" * 32,
            "last_at": "2026-11-20T10:03:00+00:00",
        }
    ]
    assert values["runners"] == []
    assert [one["id"] for one in values["jobs"]] == ["7" * 32]
    rows = list(csv.DictReader(io.StringIO(to_csv(document))))
    assert [row["table"] for row in rows] == ["machines", "jobs"]


def test_names_of_others_are_text_of_the_page(job):
    evil = "<script>alert(1)</script>"
    machine = replace(
        GPU, machine_class=evil, uuid=evil, newest=replace(GPU.newest, driver=evil, model=evil)
    )
    runner = RunnerView(name=evil, machine_class=evil, seen_at=SEEN)

    page = machines_page(
        MachinesView(
            repository="octo/models",
            machines=(machine,),
            checks=1,
            runners=(runner,),
            jobs=(replace(job, runner=evil, machine_class=evil, reason=evil),),
        )
    )

    assert "<script>" not in page
    assert "&lt;script&gt;" in page
