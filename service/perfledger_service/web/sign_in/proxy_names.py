"""Reads the name of the person who signed in at a proxy, from the header that the proxy sets.

The header is believed from the declared addresses of the proxy only, and once: a proxy that adds
its header to one that the browser sent passes on two.
"""

import re

from starlette.requests import Request

from perfledger_service.errors import RefusedError
from perfledger_service.settings.network_addresses import is_within
from perfledger_service.usecases.people.sign_in import SignInOptions

# Printable, no list (two headers in one), and short enough for a table.
_NAME = re.compile(r"[!-+\--:<-~]{1,200}", re.ASCII)


def proxy_name(request: Request, options: SignInOptions) -> str:
    """Return the name that the proxy sent, "" where it sent none.

    Raises RefusedError for the header from any other address, twice, or with an invalid name.
    """
    names = request.headers.getlist(options.proxy_header)
    if not names:
        return ""
    peer = request.client.host if request.client else ""
    if not is_within(peer, options.proxy_addresses):
        msg = f"{options.proxy_header} is only for the proxy, at one of PERFLEDGER_PROXY_ADDRESSES"
        raise RefusedError(msg)
    if len(names) > 1 or not _NAME.fullmatch(names[0]):
        msg = f"{options.proxy_header} has no name, or more than one: the proxy must replace it"
        raise RefusedError(msg)
    return names[0]
