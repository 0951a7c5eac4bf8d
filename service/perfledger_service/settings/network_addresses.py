"""Classifies network addresses: those of this machine, and those within networks."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine's loopback; names but "localhost" may lead anywhere."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_address(text: str) -> bool:
    """Return whether a text is an IP address without a zone; a zone could be any text."""
    try:
        return bool(ip_address(text)) and "%" not in text
    except ValueError:
        return False


def is_within(host: str, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Return whether an address is within any of the networks; False for other host names.

    An IPv4 address written as IPv6 (IPv4-mapped) counts as the IPv4 address.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in networks)
