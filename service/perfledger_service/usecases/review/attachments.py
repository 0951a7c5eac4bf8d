"""Reads the files that a plan attaches to its review: quotes, discounts, invoices."""

from hashlib import sha256
from pathlib import Path

from perfledger_cost_models.procurement.plan import ProcurementPlan
from perfledger_cost_models.review.document import ReviewAttachment, ReviewSource
from perfledger_service.usecases.inputs.files import read_bytes

MAX_ATTACHMENT_BYTES = 32 * 2**20  # a quote with pictures has a tenth of this


def read_attachments(plan: ProcurementPlan, folder: Path) -> tuple[ReviewAttachment, ...]:
    """Return the files beside the plan, unchanged; raises NotFoundError and TooLargeError."""
    contents = [
        (each, read_bytes(folder / each.file, most_bytes=MAX_ATTACHMENT_BYTES))
        for each in plan.attachment
    ]
    return tuple(
        ReviewAttachment(name=each.name, file=each.file, sha256=sha256(data).hexdigest(), data=data)
        for each, data in contents
    )


def attachment_source(attachment: ReviewAttachment) -> ReviewSource:
    """Return an attached file as a source with its hash."""
    return ReviewSource(
        name=attachment.name, origin=attachment.file, as_of="", sha256=attachment.sha256
    )
