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
