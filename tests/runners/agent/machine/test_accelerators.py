import pytest

from perfledger_runners.machine.accelerators import may_have_accelerator


@pytest.mark.parametrize(
    "node", ["nvidia0", "nvidiactl", "dxg", "kfd", "accel0", "accel/accel0", "vfio/0"]
)
def test_each_drivers_device_file_may_be_an_accelerator(tmp_path, node):
    file = tmp_path / node
    file.parent.mkdir(exist_ok=True)
    file.touch()

    assert may_have_accelerator(tmp_path)


def test_other_devices_are_none(tmp_path):
    (tmp_path / "vfio").mkdir()
    for node in ("null", "kvm", "sda", "vfio/vfio", "dri"):
        (tmp_path / node).touch()

    assert not may_have_accelerator(tmp_path)
    assert not may_have_accelerator(tmp_path / "missing")
