import json

import pytest

from perfledger.records import Device, Machine
from perfledger_runners.machine.setting_fixes import SettingFix
from perfledger_service.rendering.bench.doctor import doctor_document
from perfledger_service.rendering.layout.writers import to_json, to_markdown
from perfledger_service.values.doctor_views import DoctorView

FIXES = (
    SettingFix(
        setting="governor: powersave",
        command="sudo cpupower frequency-set -g performance",
        undo="sudo cpupower frequency-set -g powersave",
    ),
    SettingFix(
        setting="GPU clock: not known to be locked",
        command="sudo nvidia-smi -i GPU-1 -lgc 1590,1590",
        undo="sudo nvidia-smi -i GPU-1 -rgc",
    ),
)


def view_with(fixes):
    machine = Machine(device=Device.CPU, model="Test CPU")
    return DoctorView(machine=machine, findings=(), noise=None, fixes=fixes)


def test_what_an_administrator_should_set_is_a_script_with_its_undoing():
    document = doctor_document(view_with(FIXES))
    text = to_markdown(document)

    assert "perfledger runs none of these commands" in text
    assert (
        "# governor: powersave\n"
        "sudo cpupower frequency-set -g performance\n"
        "# undo: sudo cpupower frequency-set -g powersave\n"
        "# GPU clock: not known to be locked\n"
        "sudo nvidia-smi -i GPU-1 -lgc 1590,1590\n"
        "# undo: sudo nvidia-smi -i GPU-1 -rgc"
    ) in text
    assert json.loads(to_json(document))["fixes"][0]["command"] == FIXES[0].command


@pytest.mark.parametrize(
    ("fixes", "has_sentence"),
    [((), True), (None, False)],  # nothing to set; not asked for
)
def test_where_nothing_is_to_be_set_that_is_said_if_it_was_asked_for(fixes, has_sentence):
    document = doctor_document(view_with(fixes))

    assert ("No known setting" in to_markdown(document)) is has_sentence
    assert ("fixes" in json.loads(to_json(document))) is (fixes is not None)
