"""Scrapes here are written by hand in the shape that dcgm-exporter serves; nothing was recorded."""

import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools import dcgm
from perfledger_profiles.benchmark_tools.dcgm import SEVERAL_MODELS, read_dcgm
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS


def sample(name, value, *, gpu=0, more=""):
    return (
        f'{name}{{gpu="{gpu}",UUID="GPU-{gpu}",device="nvidia{gpu}",'
        f'modelName="NVIDIA A100-SXM4-40GB"{more},Hostname="secret-host"}} {value}'
    )


def read(*lines):
    text = "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n" + "\n".join(lines)
    return read_dcgm(text.encode(), workload="m:f", side=Side.HEAD)


def test_fields_become_readings_in_si_units():
    profile = read(
        sample("DCGM_FI_DEV_SM_CLOCK", 1215),
        sample("DCGM_FI_DEV_POWER_USAGE", "409.692000"),
        sample("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 319159391),
        sample("DCGM_FI_DEV_FB_USED", 4845),
        sample("DCGM_FI_DEV_POWER_VIOLATION", 2500000000),
        sample("DCGM_FI_PROF_PCIE_TX_BYTES", 33011804),
        sample("DCGM_FI_DEV_GPU_UTIL", 91),
    )

    readings = {
        one.name: (one.value, one.unit) for one in profile.readings if one.subject == "gpu 0"
    }
    assert readings == {
        "sm_clock": (1215e6, "Hz"),
        "power": (409.692, "W"),
        "energy_total": (pytest.approx(319159.391), "J"),
        "memory_used": (4845 * 2**20, "B"),
        "throttle_time_power": (pytest.approx(2.5), "s"),
        "d2h_bw": (33011804, "B/s"),  # what the device transmits goes to the host
        "gpu_busy": (pytest.approx(0.91), "1"),
    }


@pytest.mark.parametrize(
    "blank",
    [
        "2147483632",  # 32 bits: blank
        "2147483634",  # not supported
        "9223372036854775792",
        "9223372036854775794",
        "9223372036854775807",
        "140737488355328.000000",
        "140737488355330",
    ],
)
def test_dcgms_own_words_for_not_supported_are_left_out_not_averaged(blank):
    profile = read(sample("DCGM_FI_DEV_MEMORY_TEMP", blank), sample("DCGM_FI_DEV_MEMORY_TEMP", 69))

    assert profile.reading("memory_temp", subject="gpu 0") == 69
    assert profile.notes == ("values that DCGM marks as not supported or not permitted: 1",)
    assert profile.dropped_events == 0


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "1.2", "1e400", "x"])
def test_a_share_that_cannot_be_is_counted_as_lost(value):
    profile = read(sample("DCGM_FI_PROF_SM_ACTIVE", value), sample("DCGM_FI_DEV_GPU_TEMP", 61))

    assert profile.reading("sm_active", subject="gpu 0") is None
    assert profile.dropped_events == 1


def test_an_instance_is_not_its_device():
    instance = ',GPU_I_PROFILE="1g.5gb",GPU_I_ID="13"'

    profile = read(
        sample("DCGM_FI_PROF_DRAM_ACTIVE", 0.69),
        sample("DCGM_FI_PROF_DRAM_ACTIVE", 0.80, more=instance),
    )

    assert profile.reading("dram_bw_util", subject="gpu 0") == 0.69
    assert profile.reading("dram_bw_util", subject="gpu 0 1g.5gb #13") == 0.80
    assert profile.reading("dram_bw_util") == 0.69  # the mean of whole devices
    assert profile.device is not None
    assert profile.device.count == 1


def test_shares_have_a_mean_over_devices_and_power_has_none():
    profile = read(
        sample("DCGM_FI_PROF_SM_ACTIVE", 0.2),
        sample("DCGM_FI_PROF_SM_ACTIVE", 0.6, gpu=1),
        sample("DCGM_FI_DEV_POWER_USAGE", 100),
    )

    assert profile.reading("sm_active") == pytest.approx(0.4)
    assert profile.reading("power") is None
    assert profile.device is not None
    assert profile.device.count == 2


def test_of_several_scrapes_gauges_are_averaged_and_of_counters_the_last_counts():
    profile = read(
        sample("DCGM_FI_DEV_GPU_TEMP", 60),
        sample("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 1000),
        sample("DCGM_FI_DEV_GPU_TEMP", 70),
        sample("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 3000),
    )

    assert profile.reading("temp", subject="gpu 0") == 65
    assert profile.reading("energy_total", subject="gpu 0") == pytest.approx(3.0)


def test_hosts_are_numbered_and_not_named():
    other = sample("DCGM_FI_DEV_GPU_TEMP", 50).replace("secret-host", "other-host")

    profile = read(sample("DCGM_FI_DEV_GPU_TEMP", 40), other)

    assert profile.reading("temp", subject="host 1 gpu 0") == 40
    assert profile.reading("temp", subject="host 2 gpu 0") == 50
    assert not any(name in repr(profile) for name in ("secret-host", "other-host"))


def test_labels_that_were_cut_short_by_hand_leave_the_others():
    profile = read('DCGM_FI_DEV_GPU_TEMP{gpu="1",...,modelName="NVIDIA L40S",...} 32')

    assert profile.reading("temp", subject="gpu 1") == 32
    assert profile.device is not None
    assert profile.device.name == "NVIDIA L40S"


def test_other_models_beside_the_first_are_noted():
    other = sample("DCGM_FI_DEV_GPU_TEMP", 50, gpu=1).replace("A100", "H100")

    assert SEVERAL_MODELS in read(sample("DCGM_FI_DEV_GPU_TEMP", 40), other).notes


def test_lines_that_are_no_samples_are_counted():
    profile = read(sample("DCGM_FI_DEV_GPU_TEMP", 40), "<html>", "DCGM_FI_DEV_GPU_TEMP{")

    assert profile.dropped_events == 2


@pytest.mark.parametrize("text", ["", "go_goroutines 5", "# TYPE DCGM_FI_DEV_SM_CLOCK gauge", "{}"])
def test_what_has_no_field_of_dcgm_is_refused(text):
    with pytest.raises(ProfileError, match="no DCGM field"):
        read_dcgm(text.encode(), workload="m:f", side=Side.HEAD)


@pytest.mark.parametrize(
    ("name", "value", "reading"),
    [
        ("DCGM_FI_PROF_SM_ACTIVE", 1.05, 1.05),  # a counter's rounding
        ("DCGM_FI_PROF_SM_ACTIVE", 1.0500001, None),
        ("DCGM_FI_DEV_SM_CLOCK", 1e24, 1e30),  # MHz
        ("DCGM_FI_DEV_SM_CLOCK", 1.1e24, None),
        ("DCGM_FI_DEV_GPU_TEMP", -1e30, -1e30),
        ("DCGM_FI_DEV_GPU_TEMP", -1.1e30, None),
        ("DCGM_FI_DEV_POWER_USAGE", 0, 0.0),
    ],
)
def test_a_value_is_possible_up_to_and_with_its_bound(name, value, reading):
    profile = read(sample(name, value), sample("DCGM_FI_DEV_MEMORY_TEMP", 1))

    values = [r.value for r in profile.readings if r.subject and r.name != "memory_temp"]
    assert values == ([] if reading is None else [pytest.approx(reading)])
    assert profile.dropped_events == (reading is None)


@pytest.mark.parametrize("last", [0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF, 2**47 + 15])
def test_dcgms_words_are_sixteen_numbers_and_the_next_one_is_a_value(last):
    """dcgm_structs.h: DCGM_INT32_BLANK is 0x7ffffff0, and the words for errors follow it."""
    profile = read(
        sample("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", last, gpu=1),
        sample("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", last + 1),
    )

    assert profile.reading("energy_total", subject="gpu 0") == pytest.approx((last + 1) / 1000)
    assert profile.reading("energy_total", subject="gpu 1") is None


def test_a_line_may_be_as_long_as_the_limit_says():
    line = sample("DCGM_FI_DEV_GPU_TEMP", 40, more=',x=""')
    padded = line.replace('x="', 'x="' + "a" * (MAX_LINE_CHARACTERS - len(line)))

    assert read(padded).reading("temp", subject="gpu 0") == 40
    with pytest.raises(ProfileError):
        read(padded.replace('x="', 'x="a'))


def test_samples_above_the_limit_are_counted_and_not_read(monkeypatch):
    monkeypatch.setattr(dcgm, "MAX_SAMPLES", 2)
    lines = [sample("DCGM_FI_DEV_GPU_TEMP", degrees) for degrees in (40, 41, 42)]

    scrape = dcgm.read_prometheus_samples(lines)

    assert ([each.value for each in scrape.samples], scrape.dropped) == (["40", "41"], 1)
