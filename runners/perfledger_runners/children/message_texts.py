"""Defines the texts that a child's messages may hold."""

import re
from typing import Annotated

from msgspec import Meta

from perfledger.registration.argument_faults import MAX_ID_LENGTH, TAG_MARKS
from perfledger_runners.safe_text import MAX_DETAIL

NO_CONTROLS = r"\A[^\x00-\x1f\x7f]*\Z"
VARIANT = r"\A([a-z-]+(:[\w=.+-]+)?)?\Z"
TAG = rf"\A[\w{re.escape(TAG_MARKS)}]+\Z"

Id = Annotated[str, Meta(min_length=1, max_length=MAX_ID_LENGTH, pattern=NO_CONTROLS)]
ShortText = Annotated[str, Meta(max_length=MAX_ID_LENGTH, pattern=NO_CONTROLS)]
Text = Annotated[str, Meta(max_length=100_000)]
FilePath = Annotated[str, Meta(max_length=MAX_DETAIL, pattern=NO_CONTROLS)]
# "" for a file that could not be read.
Digest = Annotated[str, Meta(pattern=r"\A([0-9a-f]{64})?\Z")]
