"""Presents the order of a project's default branch after it was read again."""

from perfledger.records import short_sha
from perfledger_service.rendering.layout.document import Document, Preformatted
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.branch_views import BranchOrder

MAX_SHOWN = 20


def reorder_document(order: BranchOrder) -> Document:
    """Return how many commits have a place, how many moved, and which have none."""
    commits, moves = (
        quantity(len(order.commits), "measured commit"),
        quantity(order.moved_commits, "commit"),
    )
    lines = [
        f"{order.repository}: {commits} on the default branch, {moves} moved",
        f"according to {order.source}",
    ]
    if order.unattested:
        names = [short_sha(sha) for sha in order.unattested[:MAX_SHOWN]]
        left_out = len(order.unattested) - len(names)
        more = f" and {left_out:,} more" if left_out else ""
        lines.append(f"unattested, in no baseline: {', '.join(names)}{more}")
    return Document(
        name="perfledger-branch-order",
        facts={
            "repository": order.repository,
            "source": order.source,
            "commits": list(order.commits),
            "moved_commits": order.moved_commits,
            "unattested": list(order.unattested),
        },
        blocks=(Preformatted("\n".join(lines)),),
    )
