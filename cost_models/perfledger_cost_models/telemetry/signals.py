"""The signals of device use, and the levels of its owners."""

from enum import StrEnum


class Signal(StrEnum):
    """The quantity that a share is a share of.

    Signals differ: a kernel of one thread makes GPU-util 1 and SM-active a hundredth.
    """

    GPU_UTIL = "gpu_util"  # time in which any kernel ran; of a TPU its duty cycle
    SM_ACTIVE = "sm_active"  # multiprocessors with work, averaged over time
    TENSOR_ACTIVE = "tensor_active"  # of the matrix units' capacity
    MEMORY = "memory"  # of the device's memory, allocated
    # Time in which the engine had work, which SM-active never exceeds. dcgm-exporter has it by
    # default, and also for the parts of a device (MIG), which have no GPU-util.
    ENGINE_ACTIVE = "gr_engine_active"


class OwnerLevel(StrEnum):
    """The level of owners that utilization is reported for."""

    TEAM = "team"
    NAMESPACE = "namespace"
    JOB = "job"
