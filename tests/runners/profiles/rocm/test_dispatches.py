import pytest

from perfledger.records import Side
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.rocm import dispatches
from perfledger_profiles.rocm.dispatches import (
    MAX_NANOSECONDS,
    KernelDispatch,
    dispatch_profile,
    kernel_name,
)


@pytest.mark.parametrize("text", ["k.kd", "k [clone .kd]", "k"])
def test_a_name_has_no_suffix_of_its_descriptor(text):
    assert kernel_name(text) == "k"


def test_more_dispatches_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(dispatches, "MAX_DISPATCHES", 1)
    one = KernelDispatch(name="k", start_ns=0, end_ns=1)

    with pytest.raises(ProfileError, match="more than 1 dispatches"):
        dispatch_profile([one, one], workload="m:f", side=Side.HEAD)


@pytest.mark.parametrize(
    ("start_ns", "end_ns", "dropped"),
    [
        (5, 5, 0),
        (5, 4, 1),
        (-1, 5, 1),
        (0, MAX_NANOSECONDS, 0),
        (0, MAX_NANOSECONDS + 1, 1),
    ],
)
def test_a_dispatch_that_ends_before_it_starts_or_outside_all_clocks_is_dropped(
    start_ns, end_ns, dropped
):
    some = KernelDispatch(name="k", start_ns=0, end_ns=10)
    other = KernelDispatch(name="other", start_ns=start_ns, end_ns=end_ns)

    profile = dispatch_profile([some, other], workload="m:f", side=Side.HEAD)

    assert len(profile.kernels) == 2 - dropped
    assert ("unreadable lines or values: 1" in profile.notes) is bool(dropped)
