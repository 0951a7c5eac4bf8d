"""Detects whether this machine may have an accelerator, without using one."""

from pathlib import Path

DEVICES = Path("/dev")
# Device files of NVIDIA's driver (also in WSL), AMD's, and of TPUs (as PCI devices or by vfio).
NODES = ("nvidia[0-9]*", "nvidiactl", "dxg", "kfd", "accel*", "vfio/[0-9]*")


def may_have_accelerator(devices: Path = DEVICES) -> bool:
    """Return whether there is a device file of an accelerator's driver."""
    return any(True for pattern in NODES for _ in devices.glob(pattern))
