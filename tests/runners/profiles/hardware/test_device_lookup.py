from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Profile, ProfiledDevice, ProfileReading
from perfledger.records import Side
from perfledger_profiles.hardware.device_lookup import hardware_of, match_hardware
from perfledger_profiles.hardware.device_peaks import (
    known_hardware,
    peak_flops,
)

GIB = 2**30


@pytest.mark.parametrize(
    ("model", "memory_bytes", "compute_capability", "key"),
    [
        ("NVIDIA A100-SXM4-40GB", 42_505_273_344, "8.0", "a100-sxm4-40gb"),
        ("NVIDIA A100-PG509-200", None, "", "a100-sxm4-40gb"),
        ("NVIDIA H100 80GB HBM3", None, "9.0", "h100-sxm5-80gb"),
        ("TPU v6 Lite", 32 * GIB, "", "tpu-v6e"),
        ("TPU v4", None, "9.9", "tpu-v4"),  # the table has no capability to hold it against
    ],
)
def test_a_device_is_known_by_its_name_memory_and_capability(
    model, memory_bytes, compute_capability, key
):
    match = match_hardware(model, memory_bytes=memory_bytes, compute_capability=compute_capability)

    assert match.hardware is not None
    assert match.hardware.key == key
    assert match.reason == ""


@pytest.mark.parametrize(
    ("model", "more", "reason"),
    [
        ("NVIDIA H100", {}, "'NVIDIA H100' is not in the hardware table"),
        ("", {}, "of an unnamed device"),
        ("MIG 1g.10gb", {}, "of an unnamed device"),
        ("GRID A100-10C", {}, "virtual GPU"),
        ("NVIDIA A100-4-20C", {}, "virtual GPU"),
        (
            "NVIDIA A100-SXM4-40GB",
            {"memory_bytes": 85_000_000_000},
            "40 GB in the table, not 85.0 GB",
        ),
        ("NVIDIA A100-SXM4-40GB", {"compute_capability": "9.0"}, "capability 9.0"),
        ("NVIDIA A100-SXM4-40GB", {"multiprocessors": 54}, "108 multiprocessors, not 54"),
        ("AMD Instinct MI300X VF", {"multiprocessors": 38}, "304 multiprocessors, not 38"),
        ("NVIDIA A100-SXM4-40GB", {"mig": "enabled"}, "the slice is unknown"),
        ("NVIDIA A100-SXM4-40GB MIG 3g.33gb", {}, "not a profile"),
        ("NVIDIA A100-SXM4-80GB MIG 3g.43gb", {}, "not a profile"),  # 40 GB, 6 % either way
        ("NVIDIA A100-SXM4-40GB MIG 5g.20gb", {}, "multiprocessors"),
        ("NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", {}, "shares its memory"),
        ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", {"multiprocessors": 108}, "multiprocessors"),
        ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", {"memory_bytes": 42 * 10**9}, "bytes of memory"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", {}, "multiprocessors"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", {"multiprocessors": 132}, "multiprocessors"),
        ("Tesla T4 MIG 1g.2gb", {"multiprocessors": 5}, "multiprocessors"),
    ],
)
def test_what_is_not_known_says_why(model, more, reason):
    match = match_hardware(model, **more)

    assert match.hardware is None
    assert reason in match.reason


@pytest.mark.parametrize(
    ("model", "more", "multiprocessors", "slices"),
    [
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", {}, 14, 1),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb+me", {}, 14, 1),
        ("NVIDIA A100-SXM4-40GB MIG 1g.10gb", {}, 14, 2),
        ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", {"memory_bytes": 20_937_965_568}, 42, 4),
        ("NVIDIA A100-SXM4-40GB", {"mig": "3g.20gb"}, 42, 4),
        ("NVIDIA A100-SXM4-40GB", {"mig": "MIG 7g.40gb"}, 98, 8),
        ("NVIDIA A100-SXM4-80GB MIG 2g.20gb", {"multiprocessors": 28}, 28, 2),
        ("NVIDIA H100 80GB HBM3 MIG 1g.20gb", {"multiprocessors": 26}, 26, 2),
        ("NVIDIA H100 80GB HBM3 MIG 7g.80gb", {"multiprocessors": 132}, 132, 8),
        ("NVIDIA H200 MIG 3g.71gb", {"multiprocessors": 60}, 60, 4),
        ("NVIDIA B200 MIG 1g.23gb", {"multiprocessors": 18}, 18, 1),
    ],
)
def test_a_slice_is_scaled_by_its_multiprocessors_and_memory(model, more, multiprocessors, slices):
    whole_hardware = match_hardware(model.partition(" MIG")[0]).hardware

    match = match_hardware(model, **more)

    assert whole_hardware is not None
    assert match.hardware is not None
    assert match.hardware.multiprocessors == multiprocessors
    share = multiprocessors / whole_hardware.multiprocessors
    assert peak_flops(match.hardware, "bfloat16") == whole_hardware.peak_flops["bfloat16"] * share
    assert (
        match.hardware.memory_bytes_per_second
        == whole_hardware.memory_bytes_per_second * slices / 8
    )
    assert f"{slices}/8 of the bandwidth" in match.caveats[0]


def test_a_board_that_its_own_limit_holds_back_is_marked():
    match = match_hardware("Tesla T4")

    assert match.is_power_capped
    assert "limited to 70 W" in match.caveats[0]
    assert match.hardware is not None
    assert match.hardware.unreachable_reason == match.caveats[0]
    assert match.hardware.memory_bytes_per_second == 320e9


def test_a_board_that_is_held_back_to_an_unknown_clock_has_no_peak():
    hardware = match_hardware("NVIDIA A100-PCIE-40GB").hardware

    assert hardware is not None
    assert peak_flops(hardware, "bfloat16") is None


def test_no_clock_is_above_the_boards_own():
    match = match_hardware("Tesla T4", clock_hz=3e9)

    assert match.hardware is not None
    assert peak_flops(match.hardware, "float16") == 65e12
    assert match.caveats[0].endswith("peaks are scaled to the 1.590 GHz it reached")


def test_the_clock_that_was_reached_scales_a_capped_board():
    match = match_hardware("Tesla T4", clock_hz=660e6)

    assert match.hardware is not None
    assert peak_flops(match.hardware, "float16") == pytest.approx(65e12 * 660 / 1590)
    assert "0.660 GHz" in match.caveats[0]


@pytest.mark.parametrize(
    ("watts", "is_capped"), [(None, False), (400.0, False), (399.0, True), (700.0, False)]
)
def test_a_limit_below_the_design_power_caps_a_board(watts, is_capped):
    match = match_hardware("NVIDIA A100-SXM4-40GB", power_limit_watts=watts)

    assert match.is_power_capped is is_capped


def test_the_clock_of_a_board_that_is_not_capped_changes_no_peak():
    match = match_hardware("NVIDIA A100-SXM4-40GB", clock_hz=1e9)

    assert match.hardware == match_hardware("NVIDIA A100-SXM4-40GB").hardware


def test_a_slice_of_a_capped_board_is_capped_too():
    match = match_hardware("NVIDIA A100-PCIE-40GB MIG 3g.20gb", clock_hz=705e6)

    assert match.is_power_capped
    assert match.hardware is not None
    assert peak_flops(match.hardware, "bfloat16") == pytest.approx(312e12 * 42 / 108 / 2)
    assert len(match.caveats) == 2


def profile_on(device):
    return Profile(
        workload="m:f",
        side=Side.HEAD,
        tool="torch.profiler",
        steps=1,
        step_seconds=1.0,
        operations=(),
        device=device,
    )


def test_what_a_profile_states_of_its_device_is_enough():
    device = ProfiledDevice(
        name="NVIDIA A100-SXM4-40GB MIG 3g.20gb",
        memory_bytes=20_937_965_568,
        compute_capability="8.0",
        multiprocessors=42,
    )

    match = hardware_of(profile_on(device))

    assert match.hardware is not None
    assert match.hardware.key == "a100-sxm4-40gb/3g.20gb"


def test_a_profile_that_names_no_device_says_so():
    assert "does not name its device" in hardware_of(profile_on(None)).reason
    assert "does not name its device" in hardware_of(profile_on(ProfiledDevice(name=""))).reason


def test_the_clock_that_a_profile_states_scales_a_capped_board():
    clock = ProfileReading(name="sm_clock", value=795e6, unit="Hz", source="ncu")

    match = hardware_of(replace(profile_on(ProfiledDevice(name="Tesla T4")), readings=(clock,)))

    assert match.hardware is not None
    assert peak_flops(match.hardware, "float16") == pytest.approx(65e12 / 2)


@pytest.mark.slow
@given(st.sampled_from([row for row in known_hardware() if row.tdp_w]), st.floats(1e6, 1e10))
def test_no_clock_lifts_a_peak_above_the_data_sheets(row, clock_hz):
    match = match_hardware(row.names[0], power_limit_watts=1.0, clock_hz=clock_hz)

    assert match.hardware is not None
    assert all(match.hardware.peak_flops[t] <= peak for t, peak in row.peak_flops.items())


@pytest.mark.slow
@given(st.text(max_size=60))
def test_whatever_a_device_is_called_there_is_an_answer(model):
    match = match_hardware(model)

    assert (match.hardware is None) == bool(match.reason)


# `nvidia-smi mig -lgip` on A100: slices of compute, multiprocessors.
A100_INSTANCES = {1: 14, 2: 28, 3: 42, 4: 56, 7: 98}


@pytest.mark.parametrize("slices", range(1, 8))
def test_an_instance_of_an_a100_has_the_multiprocessors_that_nvidia_lists(slices):
    gigabytes = {1: 5, 2: 10, 3: 20, 4: 20, 7: 40}.get(slices, 20)

    hardware = match_hardware(f"NVIDIA A100-SXM4-40GB MIG {slices}g.{gigabytes}gb").hardware

    assert (hardware and hardware.multiprocessors) == A100_INSTANCES.get(slices)


@pytest.mark.parametrize(("reported", "is_known"), [(0, False), (1, True), (131, True)])
def test_a_partial_instance_has_at_least_one_multiprocessor_and_less_than_all(reported, is_known):
    match = match_hardware("NVIDIA H100 80GB HBM3 MIG 1g.10gb", multiprocessors=reported)

    assert (match.hardware is not None) is is_known


@pytest.mark.parametrize(
    ("gigabytes", "slices"),
    [(4, 1), (5, 1), (6, 1), (7, None), (9, 2), (11, 2), (19, 4), (21, 4), (22, None), (42, 8)],
)
def test_a_profiles_memory_is_a_slice_within_a_gigabyte_or_six_percent(gigabytes, slices):
    """Of 40 GB: 5, 10, 20 or 40, whose names drop fractions."""
    model = f"NVIDIA A100-SXM4-40GB MIG 1g.{gigabytes}gb"

    whole_hardware, hardware = (match_hardware(name).hardware for name in (model[:21], model))

    share = (
        hardware and hardware.memory_bytes_per_second / whole_hardware.memory_bytes_per_second * 8
    )
    assert share == (None if slices is None else pytest.approx(slices))


@pytest.mark.parametrize("model", ["AMD", "(unnamed)"])
@pytest.mark.parametrize(
    ("multiprocessors", "memory_bytes", "key"),
    [(304, 206_141_652_992, "mi300x"), (304, 274_861_129_728, "mi325x"), (104, 64 * GIB, "mi210")],
)
def test_a_device_without_a_model_is_the_one_of_its_size(model, multiprocessors, memory_bytes, key):
    match = match_hardware(model, memory_bytes=memory_bytes, multiprocessors=multiprocessors)

    assert match.hardware is not None
    assert match.hardware.key == key
    assert match.caveats[0].startswith("the file does not name its device: by its ")
    assert f"it is taken for {match.hardware.names[0]}" in match.caveats[0]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"multiprocessors": 256}, "are those of AMD Instinct MI350X or AMD Instinct MI355X"),
        ({"multiprocessors": 80}, "80 multiprocessors and 309 GB are those of no device"),
        ({}, "'AMD' is not in the hardware table"),
        ({"multiprocessors": 304, "compute_capability": "9.0"}, "is not in the hardware table"),
    ],
)
def test_a_size_that_does_not_decide_the_model_gives_none(more, reason):
    match = match_hardware("AMD", memory_bytes=309_220_868_096, **more)

    assert match.hardware is None
    assert reason in match.reason
