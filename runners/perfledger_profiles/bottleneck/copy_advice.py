"""Holds the rules of advice on exposed copies between the host and a device."""

import re
from collections.abc import Callable

from perfledger.profile import Bucket, Operation
from perfledger.rounding import percentage
from perfledger_profiles.bottleneck.advice import (
    MIN_SHARE,
    Advice,
    AdviceContext,
    Rule,
    name_operations,
)
from perfledger_profiles.bottleneck.any_language_advice import (
    BESIDE_COMPUTE,
    COPY_LESS,
    PINNED_MEMORY,
)
from perfledger_profiles.bottleneck.classification import Recommendation
from perfledger_profiles.bottleneck.host_bound import may_be_python
from perfledger_profiles.bottleneck.step_shares import is_on_cpu, is_sum_of_kernels
from perfledger_profiles.parsing.copy_names import (
    is_copy_to_host,
    is_page_migration,
    is_pageable_copy,
)
from perfledger_profiles.xla.host_events import STAGED_COPY

STAGED_COPIES = Advice(
    "keep data on the device, or prepare the next batch in a thread while this one computes: "
    "XLA's runtime first copies it into pinned memory on the host",
    "if the device waits for none of it",
)
PINNED = Advice(
    "copy from pinned memory, so that copies are several times as fast and overlap compute: "
    "pin_memory=True and .to(device, non_blocking=True)",
    f"{BESIDE_COMPUTE}, at its current rate",
    is_beside_compute=True,
)
OVERLAP_COPIES = Advice(
    "copy the next batch on a separate stream while this one computes",
    BESIDE_COMPUTE,
    is_beside_compute=True,
)
OFFLOAD = Advice(
    "start the copies from host memory earlier and keep more of them in flight, or offload less: "
    "the device waits for them",
    BESIDE_COMPUTE,
    is_beside_compute=True,
)
COPY_BACK = Advice(
    "the device waits while results are copied to the host: copy only what the host needs and only "
    "every N steps, or on a separate stream into pinned memory while the next work computes",
    "if no result is copied in the step",
)

# Smaller exposed copies are not worth a stream of their own.
NOTABLE_COPIES = 0.03

_HOST_COPY = re.compile(r"^copy-(done|start)")
_TO_DEVICE = re.compile(r"(?i)HtoD|H2D")


def _pageable(case: AdviceContext) -> Recommendation | None:
    operations = _exposed_operations(
        case, lambda name: is_pageable_copy(name) and not is_copy_to_host(name)
    )
    share = case.share(operations)
    if share < MIN_SHARE:
        return None
    trigger = (
        f"{percentage(share)} of the step is exposed copies from memory that is not pinned "
        f"({name_operations(operations)})"
    )
    advice = PINNED if may_be_python(case.profile) else PINNED_MEMORY
    return case.recommendation(
        advice, trigger=trigger, share=share, hidden_share=case.hidden_copies_share
    )


def _exposed_copies(case: AdviceContext) -> Recommendation | None:
    """Return advice on copies to the device; XLA's TPUs call them copy-start and copy-done."""
    offloaded = _exposed_operations(case, _HOST_COPY.search)
    operations = offloaded or [
        op for op in _exposed_operations(case, _TO_DEVICE.search) if not is_pageable_copy(op.name)
    ]
    share = case.share(operations)
    if share < NOTABLE_COPIES:
        return None
    trigger = f"{percentage(share)} of the step is exposed copies ({name_operations(operations)})"
    hidden_share = case.hidden_copies_share
    is_hideable = case.overlappable_share(hidden_share) >= COPY_LESS.saved * share
    advice = OVERLAP_COPIES if is_hideable else COPY_LESS
    advice = OFFLOAD if offloaded else advice
    return case.recommendation(advice, trigger=trigger, share=share, hidden_share=hidden_share)


def _copies_back(case: AdviceContext) -> Recommendation | None:
    operations = _exposed_operations(case, is_copy_to_host)
    share = case.share(operations)
    # The host waits for a copy to memory that is not pinned, even if it is short.
    pageable_share = case.share(op for op in operations if is_pageable_copy(op.name))
    if share < NOTABLE_COPIES and pageable_share < MIN_SHARE:
        return None
    trigger = (
        f"{percentage(share)} of the step is exposed copies to the host "
        f"({name_operations(operations)})"
    )
    return case.recommendation(COPY_BACK, trigger=trigger, share=share)


def _exposed_operations(
    case: AdviceContext, has_kind: Callable[[str], object]
) -> tuple[Operation, ...]:
    """Return the exposed copies of a kind that the program itself makes."""
    if is_on_cpu(case.profile) or is_sum_of_kernels(case.profile):
        return ()  # sums do not show what is exposed
    return case.select(
        lambda op: (
            op.bucket is Bucket.COPY and bool(has_kind(op.name)) and not is_page_migration(op.name)
        )
    )


def _staged_copies(case: AdviceContext) -> Recommendation | None:
    operations = case.select(lambda op: op.name == STAGED_COPY)
    what = "prepares copies in the host's memory"
    return case.advise(STAGED_COPIES, operations, what, least=NOTABLE_COPIES)


RULES: tuple[Rule, ...] = (_pageable, _exposed_copies, _copies_back, _staged_copies)
