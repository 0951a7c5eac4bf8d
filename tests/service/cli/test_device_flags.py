from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_service.cli.device_flags import choice_of


def test_the_flags_are_the_choice():
    assert choice_of(1, None) == DeviceChoice(device=1)
    assert choice_of(None, 2) == DeviceChoice(rank=2)
