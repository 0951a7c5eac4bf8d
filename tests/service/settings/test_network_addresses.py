from ipaddress import ip_network

import pytest

from perfledger_service.settings.network_addresses import is_address, is_loopback, is_within


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1"])
def test_only_this_machine_reaches_a_loopback_address(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "192.0.2.7", "ledger.example"])
def test_others_reach_any_other_address_or_name(host):
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("host", "is_inside"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("2001:db8::7", True),
        ("10.2.0.0", False),
        ("::ffff:10.2.0.0", False),
        ("::10.1.2.3", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_an_address_is_within_networks_of_its_family(host, is_inside):
    networks = (ip_network("10.1.0.0/16"), ip_network("2001:db8::/64"))

    assert is_within(host, networks) is is_inside
    assert not is_within(host, ())


def test_an_address_is_told_from_other_text():
    texts = ("192.0.2.7", "::1", "a.example", "", "1.2.3", "fe80::1%<b>")
    assert [is_address(text) for text in texts] == [*(True, True, False, False, False, False)]
