"""Writes and reads the cursors of lists: opaque, and bound to the list that they go on in.

A cursor grants nothing: what it goes on in is read for the project of the token. Its checksum finds
one that was cut, changed or taken from another list, or from the same list with other filters.
"""

import base64
import binascii
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec
from fastapi import Request
from fastapi.exceptions import RequestValidationError

from perfledger_service.store.api_reads.read_values import Key

MAX_CURSOR: Final = 400
_CHECKSUM_BYTES: Final = 12
_PAGING = frozenset({"cursor", "limit"})
_KEY: Final = msgspec.json.Decoder(tuple[int | str, ...])


def write_cursor(request: Request, project_id: int, key: Key) -> str:
    """Return the cursor of a request's next page."""
    content = msgspec.json.encode(key)
    data = _checksum(request, project_id, content) + content
    return base64.urlsafe_b64encode(data).decode().rstrip("=")  # no padding in a URL


def read_cursor(
    request: Request, project_id: int, cursor: str | None, types: tuple[type, ...]
) -> Key | None:
    """Return where a page begins, None without a cursor; `types` are those of the key's parts.

    Raises RequestValidationError for a cursor that this list did not give.
    """
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        data = base64.b64decode(padded, altchars=b"-_", validate=True)
        checksum, content = data[:_CHECKSUM_BYTES], data[_CHECKSUM_BYTES:]
        key = _KEY.decode(content)
    except (ValueError, binascii.Error, msgspec.MsgspecError, RecursionError):
        raise _not_ours() from None
    if checksum != _checksum(request, project_id, content) or tuple(map(type, key)) != types:
        raise _not_ours()
    return key


def query_of(request: Request) -> Mapping[str, str]:
    """Return a request's filters: all of its query but the paging."""
    return {name: value for name, value in request.query_params.items() if name not in _PAGING}


def _checksum(request: Request, project_id: int, content: bytes) -> bytes:
    of_list = [project_id, request.url.path, sorted(query_of(request).items())]
    return sha256(msgspec.json.encode(of_list) + content).digest()[:_CHECKSUM_BYTES]


def _not_ours() -> RequestValidationError:
    what = "no cursor of this list and these filters: begin without one"
    return RequestValidationError([{"loc": ("query", "cursor"), "msg": what, "type": "cursor"}])
