import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.dcgm import read_dcgm
from perfledger_profiles.benchmark_tools.dcgm_fields import FIELDS, field_of


def sample(name, value, *, gpu=0, more=""):
    return (
        f'{name}{{gpu="{gpu}",UUID="GPU-{gpu}",device="nvidia{gpu}",'
        f'modelName="NVIDIA A100-SXM4-40GB"{more},Hostname="secret-host"}} {value}'
    )


def read(*lines):
    text = "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n" + "\n".join(lines)
    return read_dcgm(text.encode(), workload="m:f", side=Side.HEAD)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", "gr_engine_active"),
        ("DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO", "sm_active"),
        ("DCGM_FI_PROF_SM_OCCUPANCY", "DCGM_FI_PROF_SM_OCCUPANCY_RATIO", "sm_occupancy"),
        ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO", "tensor_active"),
        ("DCGM_FI_PROF_DRAM_ACTIVE", "dcgm_fi_prof_dram_active", "dram_bw_util"),
        (
            "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
            "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
            "clock_event_reasons",
        ),
    ],
)
def test_a_field_is_the_same_by_its_old_and_its_new_name(old, new, name):
    assert field_of(old) is field_of(new)
    assert read(sample(new, 0.5)).reading(name, subject="gpu 0") == 0.5


def test_each_name_and_id_is_of_one_field_only():
    names = [alias.casefold() for field in FIELDS for alias in field.aliases]

    assert len(set(names)) == len(names)
    assert len({field.id for field in FIELDS}) == len(FIELDS)
    assert len({field.name for field in FIELDS}) == len(FIELDS)


# dcgm_fields.h of DCGM 3 and 4: the macros without DCGM_FI_, with their numbers.
NUMBERS = """
DEV_SM_CLOCK 100
DEV_MEM_CLOCK 101
DEV_CLOCK_THROTTLE_REASONS 112
DEV_MEMORY_TEMP 140
DEV_GPU_TEMP 150
DEV_POWER_USAGE 155
DEV_TOTAL_ENERGY_CONSUMPTION 156
DEV_POWER_USAGE_INSTANT 157
DEV_POWER_MGMT_LIMIT 160
DEV_ENFORCED_POWER_LIMIT 164
DEV_PCIE_REPLAY_COUNTER 202
DEV_GPU_UTIL 203
DEV_MEM_COPY_UTIL 204
DEV_ENC_UTIL 206
DEV_DEC_UTIL 207
DEV_XID_ERRORS 230
DEV_POWER_VIOLATION 240
DEV_THERMAL_VIOLATION 241
DEV_SYNC_BOOST_VIOLATION 242
DEV_BOARD_LIMIT_VIOLATION 243
DEV_LOW_UTIL_VIOLATION 244
DEV_RELIABILITY_VIOLATION 245
DEV_FB_TOTAL 250
DEV_FB_FREE 251
DEV_FB_USED 252
DEV_FB_RESERVED 253
DEV_FB_USED_PERCENT 254
DEV_ECC_SBE_VOL_TOTAL 310
DEV_ECC_DBE_VOL_TOTAL 311
DEV_ECC_SBE_AGG_TOTAL 312
DEV_ECC_DBE_AGG_TOTAL 313
DEV_RETIRED_SBE 390
DEV_RETIRED_DBE 391
DEV_UNCORRECTABLE_REMAPPED_ROWS 393
DEV_CORRECTABLE_REMAPPED_ROWS 394
DEV_ROW_REMAP_FAILURE 395
PROF_GR_ENGINE_ACTIVE 1001
PROF_SM_ACTIVE 1002
PROF_SM_OCCUPANCY 1003
PROF_PIPE_TENSOR_ACTIVE 1004
PROF_DRAM_ACTIVE 1005
PROF_PIPE_FP64_ACTIVE 1006
PROF_PIPE_FP32_ACTIVE 1007
PROF_PIPE_FP16_ACTIVE 1008
PROF_PCIE_TX_BYTES 1009
PROF_PCIE_RX_BYTES 1010
PROF_NVLINK_TX_BYTES 1011
PROF_NVLINK_RX_BYTES 1012
PROF_PIPE_TENSOR_IMMA_ACTIVE 1013
PROF_PIPE_TENSOR_HMMA_ACTIVE 1014
PROF_PIPE_TENSOR_DFMA_ACTIVE 1015
PROF_PIPE_INT_ACTIVE 1016
"""


def test_a_reading_cites_the_number_of_its_field():
    """A field is looked up by it in DCGM's documentation."""
    numbers = dict(line.split() for line in NUMBERS.strip().splitlines())

    sources = {name: read(sample(f"DCGM_FI_{name}", 1)).readings[0].source for name in numbers}

    assert sources == {name: f"DCGM field {number}" for name, number in numbers.items()}
    assert len(numbers) == len(FIELDS)


@pytest.mark.parametrize(
    ("field", "value", "si"),
    [
        ("DEV_SM_CLOCK", 1410, 1.41e9),  # MHz
        ("DEV_GPU_TEMP", 55, 55),
        ("DEV_POWER_USAGE", 300, 300),
        ("DEV_TOTAL_ENERGY_CONSUMPTION", 5000, 5),  # mJ
        ("DEV_GPU_UTIL", 50, 0.5),  # per cent
        ("DEV_FB_USED", 3, 3 * 2**20),  # MiB
        ("DEV_FB_USED_PERCENT", 0.25, 0.25),
        ("DEV_POWER_VIOLATION", 2_000_000_000, 2),  # ns
        ("PROF_PCIE_TX_BYTES", 7, 7),
    ],
)
def test_a_field_is_converted_from_its_unit_of_dcgm(field, value, si):
    (reading, *_) = read(sample(f"DCGM_FI_{field}", value)).readings

    assert reading.value == pytest.approx(si)
