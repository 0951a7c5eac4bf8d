from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice


def test_without_a_number_any_device_is_chosen():
    assert ANY_DEVICE.is_any
    assert not DeviceChoice(device=0).is_any
    assert not DeviceChoice(rank=0).is_any
