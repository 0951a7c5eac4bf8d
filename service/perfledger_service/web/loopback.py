"""Tells which addresses only this machine reaches."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address; other names may lead anywhere."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
