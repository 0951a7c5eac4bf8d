import pytest

from perfledger.profile import Bucket
from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline import device_scopes
from perfledger_profiles.timeline.device_scopes import (
    LITTLE_WORK,
    SOME_UNLINKED,
    chosen_scopes,
    scopes_of,
    with_owners,
    without_little_work,
)
from perfledger_profiles.timeline.launch_links import launches_of


def scopes(trace):
    columns = trace.columns()
    return scopes_of(columns, launches_of(columns))


def work(trace, device, *, lasts=100, correlation=0, process=1):
    trace.add(
        "cudaLaunchKernel",
        0,
        1,
        cat="cuda_runtime",
        thread=(process, 1),
        correlation=correlation,
    )
    where = {"cat": "kernel", "thread": (device, 7), "stream": 7}
    return trace.add("k", 10, lasts, correlation=correlation, **where)


def keys(found_device_scopes):
    return [(scope.device, scope.process, scope.rank) for scope in found_device_scopes]


def test_the_devices_of_one_process_are_of_its_rank(trace):
    trace.header = {"distributedInfo": {"rank": 3}}
    work(work(trace, 1, correlation=5), 0, correlation=6)

    assert keys(scopes(trace)) == [(0, 1, 3), (1, 1, 3)]


def test_a_device_belongs_to_the_process_that_launches_most_of_its_work(trace):
    work(work(trace, 4, correlation=5, process=20), 3, correlation=6, process=30)

    assert keys(scopes(trace)) == [(3, 30, 0), (4, 20, 1)]


def with_same_device(trace, *, numbers=(0, 100), unlinked=0):
    """Return the trace of two ranks, each of which calls its GPU device 0."""
    for place, process in enumerate([20, 30]):
        for count in range(50):
            name = ("gemm", "ncclDevKernel_AllReduce")[(count + place) % 2]
            correlation = numbers[place] + count + 1
            at = 100 * count
            trace.add(
                "cudaLaunchKernel",
                at,
                1,
                cat="cuda_runtime",
                thread=(process, 1),
                correlation=correlation,
            )
            if count >= unlinked:
                where = {"cat": "kernel", "thread": (0, 7), "stream": 7}
                trace.add(name, at + 10, 90, correlation=correlation, **where)
    for count in range(unlinked):
        trace.add("gemm", 100 * count, 9, cat="kernel", thread=(0, 7), stream=7)
    return trace


def test_a_device_number_of_two_processes_is_two_devices(trace):
    profile = with_same_device(trace).read()

    assert [(one.name, one.rank) for one in profile.devices] == [
        ("device 0 of rank 0", 0),
        ("device 0 of rank 1", 1),
    ]
    # Half of each compute, half of each a collective that nothing hides.
    shares = [one.seconds(Bucket.COMPUTE) / one.step_seconds for one in profile.devices]
    assert shares == [pytest.approx(0.5, abs=0.06)] * 2
    assert profile.reading("comm_overlap") == 0.0


def test_work_of_a_shared_device_number_without_a_launch_is_left_out_and_said_so(trace):
    columns = with_same_device(trace, unlinked=1).columns()

    found_trace = with_owners(columns, launches_of(columns))

    assert found_trace.notes == (SOME_UNLINKED.format(1, 99),)
    assert keys(scopes_of(found_trace, launches_of(found_trace))) == [(0, 20, 0), (0, 30, 1)]


@pytest.mark.parametrize("more", [{"numbers": (0, 0)}, {"unlinked": 5}])
def test_work_that_may_be_of_either_process_is_refused(trace, more):
    columns = with_same_device(trace, **more).columns()

    with pytest.raises(ProfileError, match="which process its work belongs to: give one file per"):
        with_owners(columns, launches_of(columns))


def test_in_a_joined_file_a_device_with_a_processs_number_is_its_own(trace):
    work(work(trace, 2, correlation=5, process=2), 3, correlation=5, process=3)

    assert keys(scopes(trace)) == [(2, 2, 0), (3, 3, 1)]


def test_a_scope_leaves_other_devices_work_out_and_keeps_places(trace):
    columns = work(work(trace, 0, correlation=5), 1, correlation=6).columns()

    limited = scopes_of(columns, launches_of(columns))[1].limit(columns)

    assert limited.is_device_work.tolist() == [False, False, False, True]
    assert limited.is_on_host.tolist() == [True, False, True, False]


def test_without_a_device_all_calls_are_of_one_scope(trace):
    (scope,) = scopes(trace.add("a", 0, 1).add("b", 0, 1, thread=(2, 1)))

    assert (scope.name, scope.device, scope.calls.all()) == ("the host", None, True)


def test_less_than_a_hundredth_of_the_busiest_devices_work_is_left_out(trace):
    found_device_scopes = scopes(work(work(trace, 0, lasts=1000), 1, lasts=9))

    kept_device_scopes, notes = without_little_work(found_device_scopes)

    assert keys(kept_device_scopes) == [(0, 1, 0)]
    assert notes == (LITTLE_WORK.format("device 1", "1 %"),)


@pytest.mark.parametrize(
    ("choice", "devices"),
    [
        (DeviceChoice(), [0, 1]),
        (DeviceChoice(device=1), [1]),
        (DeviceChoice(rank=0), [0, 1]),
        (DeviceChoice(device=0, rank=0), [0]),
    ],
)
def test_scopes_are_chosen_by_device_and_rank(trace, choice, devices):
    found_device_scopes = chosen_scopes(scopes(work(work(trace, 0), 1)), choice)

    assert [scope.device for scope in found_device_scopes] == devices


def test_a_choice_of_nothing_names_what_there_is(trace):
    with pytest.raises(ProfileError, match="no work of device 2 of rank 1 was recorded: choose"):
        chosen_scopes(scopes(work(trace, 0)), DeviceChoice(device=2, rank=1))


def test_a_file_of_absurdly_many_devices_is_refused(trace, monkeypatch):
    monkeypatch.setattr(device_scopes, "MAX_DEVICES", 2)
    work(work(trace, 0, correlation=1), 1, correlation=2)
    assert len(scopes(trace)) == 2

    work(trace, 2, correlation=3)

    with pytest.raises(ProfileError, match="more than 2 devices"):
        scopes(trace)
