"""Presents the registered workloads."""

from perfledger.records import WorkloadSpec
from perfledger_runners.measuring.discovery import Discovery
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Paragraph,
    TextStyle,
    figure,
    name,
    table,
)

_MAX_NAME = 400
_COLUMNS: tuple[Column[WorkloadSpec], ...] = (
    name("id", "workload", lambda spec: spec.id, limit=_MAX_NAME),
    name("unit", "unit", lambda spec: spec.unit),
    figure("units_per_step", "units per step", lambda spec: spec.units_per_step, "{:g}".format),
    name("device", "device", lambda spec: spec.device),
    name("framework", "framework", lambda spec: spec.framework),
    name("tags", "tags", lambda spec: ", ".join(spec.tags)),
)


def workloads_document(discovery: Discovery) -> Document:
    """Return workloads, and the files that could not be imported."""
    failures = (
        Paragraph(
            text=f"not importable: {file.path}: {file.detail}",
            style=TextStyle.WORSE,
            names=(file.path,),
        )
        for file in discovery.broken
    )
    left_out = (
        Paragraph(text=f"left out: {each}: {why}", names=(each,))
        for each, why in discovery.left_out.items()
    )
    return Document(
        name="perfledger-workloads",
        facts={
            "not_importable": [
                {"path": file.path, "detail": file.detail} for file in discovery.broken
            ],
            "left_out": [
                {"benchmark": name, "reason": why} for name, why in discovery.left_out.items()
            ],
        },
        blocks=(table(_COLUMNS, discovery.workloads, key="workloads"), *failures, *left_out),
    )
