"""Says what to do if head moves the folder of its workloads, and changes `paths` with it."""

from collections.abc import Sequence
from dataclasses import replace

from perfledger.records import FailureReason
from perfledger_runners.measuring.discovery import Discovery
from perfledger_runners.safe_text import MAX_DETAIL, clean_text

MAX_NAMES = 3  # folders named in a sentence


def with_moved_paths(head: Discovery, *, head_paths: Sequence[str]) -> Discovery:
    """Return head's workloads, with the reason for a path that is missing because head moved it.

    `head_paths` are head's own `paths`, if base's apply and differ.
    """
    if not head_paths:
        return head
    listed = clean_text(", ".join(head_paths[:MAX_NAMES]))
    return replace(
        head,
        broken=tuple(
            replace(
                each,
                detail=(
                    f"head has no {each.path!r} and sets `paths` to {listed}, but base's `paths` "
                    "decide: `perfledger check --workloads-from HEAD` measures both sides with the "
                    "workloads of head; once this is merged, checks find them"
                )[:MAX_DETAIL],
            )
            if each.reason is FailureReason.MISSING
            else each
            for each in head.broken
        ),
    )
