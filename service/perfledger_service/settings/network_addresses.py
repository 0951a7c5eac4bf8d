"""Network addresses: which only this machine reaches, and which are within networks."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address; other names may lead anywhere."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_address(text: str) -> bool:
    """Return whether a text is an IP address, without a zone, which may be any text."""
    try:
        return bool(ip_address(text)) and "%" not in text
    except ValueError:
        return False


def is_within(host: str, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Return whether an address is within any of some networks; other names are in none.

    An IPv4 address that a socket of both families writes as IPv6 is the IPv4 address.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in networks)
