"""Lists the DCGM fields that are read, by id, with all their printed names.

Sources of the names: dcgm_fields.h before and after commit 72fa3fe (DCGM 4.6), which renamed most
fields and kept the ids, and dcgm-exporter's default-counters.csv and
1.x-compatibility-metrics.csv.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

from perfledger_profiles.parsing.units import MEBI, MEGA, MILLI, NANO

_PREFIX = "DCGM_FI_"
_PERCENT = 0.01


class FieldKind(Enum):
    """How a field's values over several scrapes or devices are combined."""

    SHARE = auto()  # 0 to 1: the mean, also over devices
    GAUGE = auto()  # the mean of a device's scrapes
    COUNTER = auto()  # the last


@dataclass(frozen=True, slots=True, kw_only=True)
class DcgmField:
    """One field: its reading's name, its unit, and the factor to that unit."""

    id: int
    name: str
    aliases: tuple[str, ...]  # without the prefix DCGM_FI_, if they have it
    unit: str = "1"
    factor: float = 1.0
    kind: FieldKind = FieldKind.GAUGE


def field_of(name: str) -> DcgmField | None:
    """Return the field that a metric of this name shows, or None if it is not read."""
    return _by_alias().get(name.casefold())


@cache
def _by_alias() -> Mapping[str, DcgmField]:
    return {
        (alias if alias.startswith("dcgm_") else _PREFIX + alias).casefold(): field
        for field in FIELDS
        for alias in field.aliases
    }


def _share(id_: int, name: str, *aliases: str) -> DcgmField:
    return DcgmField(id=id_, name=name, aliases=aliases, kind=FieldKind.SHARE)


def _percent(id_: int, name: str, *aliases: str) -> DcgmField:
    return DcgmField(id=id_, name=name, aliases=aliases, kind=FieldKind.SHARE, factor=_PERCENT)


def _memory(id_: int, name: str, *aliases: str) -> DcgmField:
    return DcgmField(id=id_, name=name, aliases=aliases, unit="B", factor=MEBI)


def _rate(id_: int, name: str, *aliases: str) -> DcgmField:
    return DcgmField(id=id_, name=name, aliases=aliases, unit="B/s")


def _throttle(id_: int, name: str, *aliases: str) -> DcgmField:
    return DcgmField(
        id=id_, name=name, aliases=aliases, unit="s", factor=NANO, kind=FieldKind.COUNTER
    )


def _counter(id_: int, name: str, *aliases: str) -> DcgmField:
    return DcgmField(id=id_, name=name, aliases=aliases, kind=FieldKind.COUNTER)


def _clock(id_: int, name: str, *aliases: str) -> DcgmField:
    return DcgmField(id=id_, name=name, aliases=aliases, unit="Hz", factor=MEGA)


def _temperature(id_: int, name: str, *aliases: str) -> DcgmField:
    return DcgmField(id=id_, name=name, aliases=aliases, unit="degC")


def _power(id_: int, name: str, *aliases: str) -> DcgmField:
    return DcgmField(id=id_, name=name, aliases=aliases, unit="W")


FIELDS = (
    _clock(100, "sm_clock", "DEV_SM_CLOCK", "dcgm_sm_clock"),
    _clock(101, "memory_clock", "DEV_MEM_CLOCK", "dcgm_memory_clock"),
    # Bits of NVML's reasons; `device_state` reads them.
    _counter(112, "clock_event_reasons", "DEV_CLOCKS_EVENT_REASONS", "DEV_CLOCK_THROTTLE_REASONS"),
    _temperature(
        140, "memory_temp", "DEV_MEMORY_TEMP", "DEV_MEMORY_TEMP_CELSIUS", "dcgm_memory_temp"
    ),
    _temperature(150, "temp", "DEV_GPU_TEMP", "DEV_GPU_TEMP_CELSIUS", "dcgm_gpu_temp"),
    _power(155, "power", "DEV_POWER_USAGE", "DEV_BOARD_POWER_WATTS", "dcgm_power_usage"),
    DcgmField(
        id=156,
        name="energy_total",
        aliases=("DEV_TOTAL_ENERGY_CONSUMPTION", "dcgm_total_energy_consumption"),
        unit="J",
        factor=MILLI,
        kind=FieldKind.COUNTER,
    ),
    _power(157, "power_now", "DEV_POWER_USAGE_INSTANT", "DEV_BOARD_POWER_RAW_WATTS"),
    _power(160, "power_cap", "DEV_POWER_MGMT_LIMIT", "DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS"),
    _power(164, "power_limit", "DEV_ENFORCED_POWER_LIMIT", "DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS"),
    _counter(
        202,
        "pcie_replays",
        "DEV_PCIE_REPLAY_COUNTER",
        "DEV_PCIE_REPLAY_TOTAL",
        "dcgm_pcie_replay_counter",
    ),
    # Renamed to _RATIO, but still a whole number of percent.
    _percent(203, "gpu_busy", "DEV_GPU_UTIL", "DEV_GPU_UTIL_RATIO", "dcgm_gpu_utilization"),
    _percent(204, "memory_copy_busy", "DEV_MEM_COPY_UTIL", "dcgm_mem_copy_utilization"),
    _percent(206, "encoder_busy", "DEV_ENC_UTIL", "dcgm_enc_utilization"),
    _percent(207, "decoder_busy", "DEV_DEC_UTIL", "dcgm_dec_utilization"),
    _counter(230, "xid_error", "DEV_XID_ERRORS", "DEV_XID_ERROR", "dcgm_xid_errors"),
    _throttle(240, "throttle_time_power", "DEV_POWER_VIOLATION", "dcgm_power_violation"),
    _throttle(241, "throttle_time_thermal", "DEV_THERMAL_VIOLATION", "dcgm_thermal_violation"),
    _throttle(
        242, "throttle_time_sync_boost", "DEV_SYNC_BOOST_VIOLATION", "dcgm_sync_boost_violation"
    ),
    _throttle(
        243, "throttle_time_board", "DEV_BOARD_LIMIT_VIOLATION", "dcgm_board_limit_violation"
    ),
    _throttle(244, "throttle_time_low_use", "DEV_LOW_UTIL_VIOLATION", "dcgm_low_util_violation"),
    _throttle(
        245, "throttle_time_reliability", "DEV_RELIABILITY_VIOLATION", "dcgm_reliability_violation"
    ),
    _memory(250, "memory_total", "DEV_FB_TOTAL"),
    _memory(251, "memory_free", "DEV_FB_FREE", "dcgm_fb_free"),
    _memory(252, "memory_used", "DEV_FB_USED", "dcgm_fb_used"),
    _memory(253, "memory_reserved", "DEV_FB_RESERVED"),
    _share(254, "memory_used_share", "DEV_FB_USED_PERCENT", "DEV_FB_USED_RATIO"),
    _counter(310, "ecc_single_volatile", "DEV_ECC_SBE_VOL_TOTAL", "dcgm_ecc_sbe_volatile_total"),
    _counter(311, "ecc_double_volatile", "DEV_ECC_DBE_VOL_TOTAL", "dcgm_ecc_dbe_volatile_total"),
    _counter(312, "ecc_single", "DEV_ECC_SBE_AGG_TOTAL", "dcgm_ecc_sbe_aggregate_total"),
    _counter(313, "ecc_double", "DEV_ECC_DBE_AGG_TOTAL", "dcgm_ecc_dbe_aggregate_total"),
    _counter(
        390,
        "retired_pages_single",
        "DEV_RETIRED_SBE",
        "DEV_PAGE_RETIRED_SBE_TOTAL",
        "dcgm_retired_pages_sbe",
    ),
    _counter(
        391,
        "retired_pages_double",
        "DEV_RETIRED_DBE",
        "DEV_PAGE_RETIRED_DBE_TOTAL",
        "dcgm_retired_pages_dbe",
    ),
    _counter(
        393,
        "remapped_rows_uncorrectable",
        "DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "DEV_ROW_REMAP_UNCORRECTABLE_TOTAL",
    ),
    _counter(
        394,
        "remapped_rows_correctable",
        "DEV_CORRECTABLE_REMAPPED_ROWS",
        "DEV_ROW_REMAP_CORRECTABLE_TOTAL",
    ),
    _counter(395, "row_remap_failed", "DEV_ROW_REMAP_FAILURE", "DEV_ROW_REMAP_FAILED"),
    _share(1001, "gr_engine_active", "PROF_GR_ENGINE_ACTIVE", "PROF_GR_ENGINE_UTIL_RATIO"),
    _share(1002, "sm_active", "PROF_SM_ACTIVE", "PROF_SM_UTIL_RATIO"),
    _share(1003, "sm_occupancy", "PROF_SM_OCCUPANCY", "PROF_SM_OCCUPANCY_RATIO"),
    _share(1004, "tensor_active", "PROF_PIPE_TENSOR_ACTIVE", "PROF_TENSOR_UTIL_RATIO"),
    _share(1005, "dram_bw_util", "PROF_DRAM_ACTIVE", "PROF_DRAM_UTIL_RATIO"),
    _share(1006, "fp64_active", "PROF_PIPE_FP64_ACTIVE", "PROF_FP64_UTIL_RATIO"),
    _share(1007, "fp32_active", "PROF_PIPE_FP32_ACTIVE", "PROF_FP32_UTIL_RATIO"),
    _share(1008, "fp16_active", "PROF_PIPE_FP16_ACTIVE", "PROF_FP16_UTIL_RATIO"),
    # The device transmits to the host. The exporter labels these rates as counters.
    _rate(1009, "d2h_bw", "PROF_PCIE_TX_BYTES"),
    _rate(1010, "h2d_bw", "PROF_PCIE_RX_BYTES"),
    _rate(1011, "nvlink_tx_bytes", "PROF_NVLINK_TX_BYTES"),
    _rate(1012, "nvlink_rx_bytes", "PROF_NVLINK_RX_BYTES"),
    _share(1013, "tensor_integer_active", "PROF_PIPE_TENSOR_IMMA_ACTIVE", "PROF_IMMA_UTIL_RATIO"),
    _share(1014, "tensor_half_active", "PROF_PIPE_TENSOR_HMMA_ACTIVE", "PROF_HMMA_UTIL_RATIO"),
    _share(1015, "tensor_double_active", "PROF_PIPE_TENSOR_DFMA_ACTIVE", "PROF_DFMA_UTIL_RATIO"),
    _share(1016, "integer_active", "PROF_PIPE_INT_ACTIVE", "PROF_INT_UTIL_RATIO"),
)
