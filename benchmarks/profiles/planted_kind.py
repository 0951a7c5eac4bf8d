"""A planted change: the step before and after it, and which cause has to be named first.

What the kinds of the planted-causes benchmark share with the child process that records them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from perfledger.profile import Bucket
from perfledger.records import Framework, Side
from perfledger_profiles.diff.cause import Cause, ChangeKind

Step = Callable[[], object]
# Makes the step of one side, with the framework's module: what is set up is not profiled.
Build = Callable[[Any, Side], Step]

SLOWER = frozenset(ChangeKind) - {ChangeKind.GONE}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of change, and what a right answer to it is.

    `names` is searched for in the cause's path, name and what it replaced. An empty `names` means
    that both sides are the same code: the right answer is to say nothing.
    """

    name: str
    framework: Framework
    build: Build
    names: str
    kinds: frozenset[ChangeKind] = SLOWER
    buckets: frozenset[Bucket] = frozenset(Bucket)

    @property
    def is_same_code(self) -> bool:
        return not self.names

    def is_right(self, cause: Cause) -> bool:
        """Return whether this is the planted cause, at its place and of its kind."""
        where = f"{cause.path}/{cause.name} {cause.base_name}"
        return (
            cause.delta_seconds > 0
            and cause.kind in self.kinds
            and cause.bucket in self.buckets
            and re.search(self.names, where) is not None
        )
