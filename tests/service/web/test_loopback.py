import pytest

from perfledger_service.web.loopback import is_loopback


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1"])
def test_only_this_machine_reaches_a_loopback_address(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "192.0.2.7", "ledger.example"])
def test_others_reach_any_other_address_or_name(host):
    assert not is_loopback(host)
