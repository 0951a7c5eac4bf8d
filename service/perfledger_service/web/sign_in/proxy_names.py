"""Reads the name of the person who signed in at a proxy, from the header that the proxy sets.

The header is trusted only from the proxy's declared addresses, and only if sent once: a proxy that
adds its header to one that the browser sent passes on two.
"""

import re

from starlette.requests import Request

from perfledger_service.errors import RefusedError
from perfledger_service.settings.network_addresses import is_within
from perfledger_service.usecases.people.sign_in import SignInOptions

# Printable, not a list (two headers in one), and short enough for the table.
_NAME = re.compile(r"[!-+\--:<-~]{1,200}", re.ASCII)


def proxy_name(request: Request, options: SignInOptions) -> str:
    """Return the name that the proxy sent, "" if it sent none.

    Raises RefusedError for the header from any other address, sent twice, or with an invalid name.
    """
    names = request.headers.getlist(options.proxy_header)
    if not names:
        return ""
    peer = request.client.host if request.client else ""
    if not is_within(peer, options.proxy_addresses):
        msg = (
            f"only the proxy may send {options.proxy_header}, from one of "
            "PERFLEDGER_PROXY_ADDRESSES"
        )
        raise RefusedError(msg)
    if len(names) > 1 or not _NAME.fullmatch(names[0]):
        msg = f"{options.proxy_header} has no name, or more than one: the proxy must replace it"
        raise RefusedError(msg)
    return names[0]
