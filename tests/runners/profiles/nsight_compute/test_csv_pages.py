from typing import Any

import pytest

from perfledger_profiles.nsight_compute.csv_pages import ProfiledLaunch, read_launches

CONTEXT = '"ID","Kernel Name","Block Size","Grid Size","CC"'
LAUNCH = '"0","gemm","(384, 1, 1)","(9, 32, 1)","8.0"'
DETAILS = f'{CONTEXT},"Metric Name","Metric Unit","Metric Value"'
DURATION = f'{LAUNCH},"Duration","us","2.5"'


def launch(**metrics):
    near: dict[str, Any] = {name: pytest.approx(value) for name, value in metrics.items()}
    return ProfiledLaunch(
        name="gemm",
        grid="9,32,1",
        block="384,1,1",
        capability="8.0",
        device="",
        count=1,
        metrics=near,
    )


def test_the_rows_of_one_launch_on_a_details_page_are_one_launch():
    rows = [DETAILS, DURATION, f'{LAUNCH},"Registers Per Thread","register/thread","168"']

    assert read_launches(rows).launches == (launch(kernel_time=2.5e-6, registers_per_thread=168),)


def test_a_raw_page_has_a_row_for_each_launch_below_its_units():
    units = '"","","","","","us"'
    page = [f'{CONTEXT},"gpu__time_duration.sum"', units, f'{LAUNCH},"2.5"', f'{LAUNCH},"2.5"']

    (first,) = read_launches(page[:3]).launches
    assert first == launch(kernel_time=2.5e-6)
    (same,) = read_launches(page).launches
    assert same == first


def test_output_of_the_program_is_skipped():
    profiled_launches = read_launches(["==PROF== Connected", "a,b", DETAILS, "loss,0.5", DURATION])

    assert (profiled_launches.launches, profiled_launches.dropped) == (
        (launch(kernel_time=2.5e-6),),
        0,
    )


@pytest.mark.parametrize(
    "row",
    [f'{LAUNCH},"Duration"', f'{LAUNCH},"Duration","us","fast"', f'{LAUNCH},"Duration","?","1"'],
)
def test_a_torn_row_or_an_unreadable_value_is_counted(row):
    assert read_launches([DETAILS, row]).dropped == 1


@pytest.mark.parametrize("value", ["", "n/a", "nan"])
def test_a_value_that_is_not_available_is_left_out_silently(value):
    profiled_launches = read_launches([DETAILS, f'{LAUNCH},"Duration","us","{value}"'])

    assert (profiled_launches.launches, profiled_launches.dropped) == ((launch(),), 0)
