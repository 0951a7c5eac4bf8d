"""Reads from the operator's settings how people sign in."""

import re
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network

from perfledger_service.errors import SettingsError
from perfledger_service.github.sign_in import GitHubSignIn
from perfledger_service.settings.service import ServiceSettings
from perfledger_service.usecases.people.sign_in import SignInOptions

_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
# Headers that the service or another part of HTTP reads itself.
_OTHER_HEADERS = frozenset({"authorization", "cookie", "host", "origin", "x-forwarded-for"})


def sign_in_options(settings: ServiceSettings) -> SignInOptions | None:
    """Return how people sign in, None if nobody does.

    Raises SettingsError for half of the App's settings, for a proxy's header without addresses, and
    for both ways at once.
    """
    with_github = _is_pair_set(
        ("PERFLEDGER_GITHUB_CLIENT_ID", settings.github_client_id),
        ("PERFLEDGER_GITHUB_CLIENT_SECRET", settings.github_client_secret),
    )
    proxies, with_proxy = proxy_networks(settings), bool(settings.proxy_header)
    if with_proxy and not proxies:
        msg = "PERFLEDGER_PROXY_HEADER is trusted only from the proxy: set "
        msg += "PERFLEDGER_PROXY_ADDRESSES, too"
        raise SettingsError(msg)
    if with_github and with_proxy:
        msg = (
            "people sign in either with GitHub or at the proxy: set the client id or the proxy's "
            "header, not both"
        )
        raise SettingsError(msg)
    if not (with_github or with_proxy):
        return None
    github = None
    if with_github and settings.github_client_secret is not None:
        github = GitHubSignIn(
            settings.github_api_url.rstrip("/"),
            client_id=settings.github_client_id,
            client_secret=settings.github_client_secret,
            public_url=settings.public_url.rstrip("/"),
        )
    return SignInOptions(
        idle=timedelta(hours=settings.session_idle_hours),
        lifetime=timedelta(days=settings.session_days),
        github=github,
        proxy_header=_header(settings.proxy_header),
        proxy_addresses=proxies,
        is_public=settings.public_read,
    )


def proxy_networks(settings: ServiceSettings) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the proxies that are trusted to name their clients; raise SettingsError if invalid."""
    names = (one.strip() for one in settings.proxy_addresses.split(","))
    try:
        return tuple(ip_network(name) for name in names if name)
    except ValueError as error:
        msg = f"PERFLEDGER_PROXY_ADDRESSES is wrong: {error}"
        raise SettingsError(msg) from None


def _is_pair_set(*pair: tuple[str, object]) -> bool:
    """Return whether both settings are set; raise SettingsError for one alone."""
    missing = [name for name, value in pair if not value]
    if len(missing) == 1:
        msg = f"{' and '.join(name for name, _ in pair)} go together: set {missing[0]}, too"
        raise SettingsError(msg)
    return not missing


def _header(name: str) -> str:
    if name and (not _HEADER.fullmatch(name) or name.lower() in _OTHER_HEADERS):
        msg = (
            f"PERFLEDGER_PROXY_HEADER is {name[:100]!r}, which cannot name a person: use the "
            "header "
        )
        msg += "that the proxy sets, such as X-Forwarded-User"
        raise SettingsError(msg)
    return name
