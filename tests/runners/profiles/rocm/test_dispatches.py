import pytest

from perfledger.records import Side
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.rocm import dispatches
from perfledger_profiles.rocm.dispatches import KernelDispatch, dispatch_profile, kernel_name


@pytest.mark.parametrize("text", ["k.kd", "k [clone .kd]", "k"])
def test_a_name_has_no_suffix_of_its_descriptor(text):
    assert kernel_name(text) == "k"


def test_more_dispatches_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(dispatches, "MAX_DISPATCHES", 1)
    one = KernelDispatch(name="k", start_ns=0, end_ns=1)

    with pytest.raises(ProfileError, match="more than 1 dispatches"):
        dispatch_profile([one, one], workload="m:f", side=Side.HEAD)
