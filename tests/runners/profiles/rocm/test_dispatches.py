import pytest

from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.rocm import dispatches
from perfledger_profiles.rocm.dispatches import kernel_call, kernel_name, rocm_trace


@pytest.mark.parametrize("text", ["k.kd", "k [clone .kd]", "k"])
def test_a_name_has_no_suffix_of_its_descriptor(text):
    assert kernel_name(text) == "k"


def test_more_calls_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(dispatches, "MAX_CALLS", 1)
    one = kernel_call("k", (0, 1), device=0)

    with pytest.raises(ProfileError, match="more than 1 dispatches"):
        rocm_trace([one, one])
