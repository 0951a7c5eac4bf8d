"""Defines the texts that a child's messages may hold, and the facts of a device."""

import re
from typing import Annotated

from msgspec import Meta, Struct

from perfledger.registration.argument_faults import MAX_ID_LENGTH, TAG_MARKS
from perfledger_runners.safe_text import MAX_DETAIL

NO_CONTROLS = r"\A[^\x00-\x1f\x7f]*\Z"
VARIANT = r"\A([a-z-]+(:[\w=.+-]+)?)?\Z"
TAG = rf"\A[\w{re.escape(TAG_MARKS)}]+\Z"

MAX_LISTED_DEVICES = 1024  # of one process

Id = Annotated[str, Meta(min_length=1, max_length=MAX_ID_LENGTH, pattern=NO_CONTROLS)]
ShortText = Annotated[str, Meta(max_length=MAX_ID_LENGTH, pattern=NO_CONTROLS)]
Text = Annotated[str, Meta(max_length=100_000)]
FilePath = Annotated[str, Meta(max_length=MAX_DETAIL, pattern=NO_CONTROLS)]
# "" for a file that could not be read.
Digest = Annotated[str, Meta(pattern=r"\A([0-9a-f]{64})?\Z")]


class DeviceFacts(Struct, frozen=True, kw_only=True):
    """What torch or JAX reports about the first device; unknown is "", 0, () or None.

    `more_uuids` are the ids of the others, in order.
    """

    kind: ShortText = ""  # torch: "cuda"
    name: ShortText = ""
    uuid: ShortText = ""
    more_uuids: Annotated[tuple[ShortText, ...], Meta(max_length=MAX_LISTED_DEVICES)] = ()
    count: Annotated[int, Meta(ge=0)] = 0
    memory_bytes: Annotated[int, Meta(ge=0)] | None = None
    cuda: ShortText = ""
    platform: ShortText = ""  # JAX: "cpu", "gpu" or "tpu"
    device_kind: ShortText = ""
    device_count: Annotated[int, Meta(ge=0)] = 0
    error: Text = ""
