"""Lists the Nsight Compute metrics that are read, by their names on the details and raw pages.

Source of the names: the section files of Nsight Compute, which map each line of the details page to
its counter; names with "SOL ..." date from 2019 to 2021.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

_PEAK = ".avg.pct_of_peak_sustained_elapsed"
_ACTIVE_PEAK = ".avg.pct_of_peak_sustained_active"
_OPERATIONS = {"add": "add", "multiply": "mul", "fma": "fma"}
_TYPES = {"float32": "f", "float16": "h", "float64": "d"}


@dataclass(frozen=True, slots=True)
class NcuMetric:
    """One metric: its reading's name and unit, and its printed names."""

    name: str
    unit: str  # a printed name may mean a share or a rate: the unit decides
    printed: tuple[str, ...]


DURATION = "kernel_time"
REGISTERS = "registers_per_thread"
STATIC, DYNAMIC = "shared_memory_static", "shared_memory_dynamic"
MULTIPROCESSORS = "multiprocessors"
ACHIEVED_OCCUPANCY = "achieved_occupancy"
TENSOR_ACTIVE = "tensor_active"
DRAM_BYTES, DRAM_READ, DRAM_WRITTEN = "dram_bytes", "dram_bytes_read", "dram_bytes_written"
DRAM_RATE = "dram_bw"
# Executed thread instructions: additions, products and FMAs.
ADDITIONS, PRODUCTS, FUSED = "float32_add", "float32_multiply", "float32_fma"
OTHER_TYPES = tuple(f"{kind}_{op}" for kind in ("float16", "float64") for op in _OPERATIONS)
# Shares for which the time-weighted mean over all kernels of a file is added.
WHOLE_FILE = ("compute_sol", "memory_sol", "dram_bw_util", ACHIEVED_OCCUPANCY, TENSOR_ACTIVE)

DEVICE_NAME = "device__attribute_display_name"

METRICS = (
    NcuMetric(DURATION, "s", ("Duration", "gpu__time_duration.sum", "gpu__time_duration.avg")),
    NcuMetric(
        "compute_sol",
        "1",
        ("Compute (SM) Throughput", "SOL SM", "SM [%]", "sm__throughput" + _PEAK),
    ),
    NcuMetric(
        "memory_sol",
        "1",
        ("Memory Throughput", "SOL Memory", "Memory [%]", "gpu__compute_memory_throughput" + _PEAK),
    ),
    NcuMetric(
        "dram_bw_util",
        "1",
        ("DRAM Throughput", "SOL DRAM", "gpu__dram_throughput" + _PEAK, "dram__throughput" + _PEAK),
    ),
    NcuMetric(
        "l1_sol",
        "1",
        ("L1/TEX Cache Throughput", "SOL L1/TEX Cache", "l1tex__throughput" + _ACTIVE_PEAK),
    ),
    NcuMetric("l2_sol", "1", ("L2 Cache Throughput", "SOL L2 Cache", "lts__throughput" + _PEAK)),
    NcuMetric("l1_hit_rate", "1", ("L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct")),
    NcuMetric("l2_hit_rate", "1", ("L2 Hit Rate", "lts__t_sector_hit_rate.pct")),
    NcuMetric(DRAM_RATE, "B/s", ("Memory Throughput", "dram__bytes.sum.per_second")),
    NcuMetric(DRAM_BYTES, "B", ("dram__bytes.sum",)),
    NcuMetric(DRAM_READ, "B", ("dram__bytes_read.sum",)),
    NcuMetric(DRAM_WRITTEN, "B", ("dram__bytes_write.sum",)),
    NcuMetric(
        "sm_clock", "Hz", ("SM Frequency", "SOL SM Frequency", "sm__cycles_elapsed.avg.per_second")
    ),
    NcuMetric("memory_clock", "Hz", ("DRAM Frequency", "dram__cycles_elapsed.avg.per_second")),
    NcuMetric("sm_active", "1", ("sm__cycles_active" + _PEAK,)),
    NcuMetric(
        TENSOR_ACTIVE,
        "1",
        (
            "sm__pipe_tensor_cycles_active" + _PEAK,
            "sm__pipe_tensor_cycles_active" + _ACTIVE_PEAK,
            "sm__pipe_tensor_op_hmma_cycles_active" + _ACTIVE_PEAK,
        ),
    ),
    NcuMetric(
        "theoretical_occupancy",
        "1",
        ("Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct"),
    ),
    NcuMetric(ACHIEVED_OCCUPANCY, "1", ("Achieved Occupancy", "sm__warps_active" + _ACTIVE_PEAK)),
    NcuMetric(REGISTERS, "1", ("Registers Per Thread", "launch__registers_per_thread")),
    NcuMetric(
        STATIC, "B", ("Static Shared Memory Per Block", "launch__shared_mem_per_block_static")
    ),
    NcuMetric(
        DYNAMIC, "B", ("Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic")
    ),
    NcuMetric(
        "shared_memory_driver",
        "B",
        ("Driver Shared Memory Per Block", "launch__shared_mem_per_block_driver"),
    ),
    NcuMetric(
        "waves_per_multiprocessor", "1", ("Waves Per SM", "launch__waves_per_multiprocessor")
    ),
    NcuMetric(
        MULTIPROCESSORS,
        "1",
        ("# SMs", "launch__sm_count", "device__attribute_multiprocessor_count"),
    ),
    NcuMetric("occupancy_limit_blocks", "1", ("Block Limit SM", "launch__occupancy_limit_blocks")),
    NcuMetric(
        "occupancy_limit_registers",
        "1",
        ("Block Limit Registers", "launch__occupancy_limit_registers"),
    ),
    NcuMetric(
        "occupancy_limit_shared_memory",
        "1",
        ("Block Limit Shared Mem", "launch__occupancy_limit_shared_mem"),
    ),
    NcuMetric("occupancy_limit_warps", "1", ("Block Limit Warps", "launch__occupancy_limit_warps")),
    NcuMetric(
        "occupancy_limit_barriers",
        "1",
        ("Block Limit Barriers", "launch__occupancy_limit_barriers"),
    ),
    *(
        NcuMetric(
            f"{kind}_{operation}",
            "1",
            (f"smsp__sass_thread_inst_executed_op_{letter}{word}_pred_on.sum",),
        )
        for kind, letter in _TYPES.items()
        for operation, word in _OPERATIONS.items()
    ),
)


def is_read(printed: str) -> bool:
    """Return whether a metric of this printed name is read, in any unit."""
    return printed in _printed_names()


def metric_of(printed: str, unit: str) -> NcuMetric | None:
    """Return the metric of this printed name and SI unit, or None if it is not read."""
    return _by_printed().get((printed, unit))


@cache
def _by_printed() -> Mapping[tuple[str, str], NcuMetric]:
    return {(printed, metric.unit): metric for metric in METRICS for printed in metric.printed}


@cache
def _printed_names() -> frozenset[str]:
    return frozenset(printed for printed, _ in _by_printed())
