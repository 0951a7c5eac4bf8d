"""Presents an upload whose bundle, and possibly results, were removed by retention."""

from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.layout.environment import render
from perfledger_service.values.storage.retention import UploadPart
from perfledger_service.values.upload_views import UploadView

_SUBJECTS = {
    UploadPart.BUNDLE: "Causes, prices, samples and the bundle",
    UploadPart.RESULTS: "Verdicts, causes, prices and all measurements",
}


def is_removed(upload: UploadView) -> bool:
    """Return whether an upload's report can no longer be built."""
    return bool(removal_sentence(upload))


def removal_sentence(upload: UploadView) -> str:
    """Return which parts of an upload's report were removed, when and why; "" if none."""
    removals = {one.part: one for one in upload.removals}
    for part in (UploadPart.RESULTS, UploadPart.BUNDLE):
        if part in removals:
            return f"{_SUBJECTS[part]} were {removals[part].sentence}."
    return ""


def removed_page(upload: UploadView) -> str:
    """Return the page of a check with the data that remain."""
    return render(
        "html/removed_run.html.j2",
        upload=upload,
        head=stored_verdict_rows.upload_headline(upload),
        groups=stored_verdict_rows.stored_groups(upload),
        removal=removal_sentence(upload),
    )
