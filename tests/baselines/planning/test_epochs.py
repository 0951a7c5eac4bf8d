from dataclasses import replace

import pytest

from perfledger.records import Device, Machine
from perfledger_baselines.planning.epochs import epoch_key

MACHINE = Machine(device=Device.CUDA, model="H100", driver="550.1", kernel="6.1", uuid="GPU-1")


@pytest.mark.parametrize("kept", [{"driver": "560.2"}, {"kernel": "6.8"}, {"power_cap_w": 500.0}])
def test_what_whoever_keeps_the_machine_changes_begins_another_epoch(kept):
    assert epoch_key(replace(MACHINE, **kept)) != epoch_key(MACHINE)


@pytest.mark.parametrize(
    "other",
    [
        {"python": "3.13"},
        {"frameworks": {"torch": "3.0"}},
        {"runtime": "12.9"},
        {"uuid": "GPU-2"},
        {"clock_mhz": 1980.0},
    ],
)
def test_what_a_commit_pins_or_chance_gives_does_not(other):
    assert epoch_key(replace(MACHINE, **other)) == epoch_key(MACHINE)
