"""Writes and reads the cursors of lists: opaque, and valid only for the list that issued them.

A cursor grants no rights: the next page is read for the token's project. Its checksum detects a
cursor that was cut, changed or taken from another list, or from the same list with other filters.
It is computed without a secret, so that every replica can check it; the parts of the key are
therefore untrusted.
"""

import base64
import binascii
import re
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final

import msgspec
from fastapi import Request
from fastapi.exceptions import RequestValidationError

from perfledger_service.store.api_reads.values import Key
from perfledger_service.web.uploads import UPLOAD_ID

MAX_CURSOR: Final = 400  # characters of a cursor in an address
_CHECKSUM_BYTES: Final = 12
_PAGING = frozenset({"cursor", "limit"})
_MAX_NUMBER: Final = 2**31 - 1  # of an integer column
_RUN_ID: Final = re.compile(UPLOAD_ID)
_MOMENTS: Final = (datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC))
_KEY: Final = msgspec.json.Decoder(tuple[int | str, ...])


class KeyPart(StrEnum):
    """Kind of a part of a key."""

    NUMBER = "number"
    MOMENT = "moment"
    RUN_ID = "run id"

    def fits(self, part: int | str) -> bool:
        """Return whether a part of this kind could be in a cursor of ours."""
        if isinstance(part, int):
            return self is KeyPart.NUMBER and 0 <= part <= _MAX_NUMBER
        if self is KeyPart.MOMENT:
            return _is_moment(part)
        return self is KeyPart.RUN_ID and _RUN_ID.fullmatch(part) is not None


def write_cursor(request: Request, project_id: int, key: Key) -> str:
    """Return the cursor of a request's next page."""
    content = msgspec.json.encode(key)
    data = _checksum(request, project_id, content) + content
    return base64.urlsafe_b64encode(data).decode().rstrip("=")  # no padding in a URL


def read_cursor(
    request: Request, project_id: int, cursor: str | None, parts: tuple[KeyPart, ...]
) -> Key | None:
    """Return the key after which a page begins, None without a cursor; `parts` describe the key.

    Raises RequestValidationError for a cursor that this list did not issue.
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
    is_ours = len(key) == len(parts) and all(map(KeyPart.fits, parts, key))
    if checksum != _checksum(request, project_id, content) or not is_ours:
        raise _not_ours()
    return key


def query_of(request: Request) -> tuple[tuple[str, str], ...]:
    """Return a request's filters by name: its query without the paging."""
    filters = request.query_params.multi_items()
    return tuple(sorted(one for one in filters if one[0] not in _PAGING))


def _checksum(request: Request, project_id: int, content: bytes) -> bytes:
    of_list = [project_id, request.url.path, query_of(request)]
    return sha256(msgspec.json.encode(of_list) + content).digest()[:_CHECKSUM_BYTES]


def _is_moment(text: str) -> bool:
    first, end = _MOMENTS
    try:
        return first <= datetime.fromisoformat(text) < end
    except (ValueError, TypeError, OverflowError):  # no time, a time without a zone, year 1 in UTC
        return False


def _not_ours() -> RequestValidationError:
    what = "the cursor is not from this list with these filters: start without one"
    return RequestValidationError([{"loc": ("query", "cursor"), "msg": what, "type": "cursor"}])
