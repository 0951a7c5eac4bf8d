"""Presents the registered workloads."""

from perfledger import rounding
from perfledger.records import WorkloadSpec
from perfledger_runners.measuring.discovery import Discovery
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    CellKind,
    Column,
    Document,
    Paragraph,
    TextStyle,
    display,
    fact,
    figure,
    name,
    notes,
    table,
)
from perfledger_service.rendering.layout.provenance_facts import metric_words

_MAX_NAME = 400


def _own_rules(spec: WorkloadSpec) -> str:
    """Return a workload's own settings, "" if the configuration applies to all of them."""
    parts = (
        f"margin {number_format.margin(spec.margin)}" if spec.margin is not None else "",
        f"judged by {metric_words(spec.metrics)}" if spec.metrics else "",
        f"at most {rounding.typed(spec.timeout)} s in one process"
        if spec.timeout is not None
        else "",
        f"{spec.devices} devices" if spec.devices > 1 else "",
        f"launched by `{spec.launch}`" if spec.launch else "",
        f"tags {', '.join(spec.tags)}" if spec.tags else "",
    )
    return "; ".join(filter(None, parts))


_COLUMNS: tuple[Column[WorkloadSpec], ...] = (
    name("id", "workload", lambda spec: spec.id, limit=_MAX_NAME),
    name("unit", "unit", lambda spec: spec.unit),
    figure("units_per_step", "units per step", lambda spec: spec.units_per_step, rounding.typed),
    name("device", "device", lambda spec: spec.device),
    name("framework", "framework", lambda spec: spec.framework),
    display("of its own", _own_rules, kind=CellKind.REMARK),
    fact("tags", lambda spec: ", ".join(spec.tags)),
    fact("timeout_s", lambda spec: spec.timeout),
    fact("margin", lambda spec: spec.margin),
    fact("devices", lambda spec: spec.devices),
    fact("launch", lambda spec: spec.launch),
    fact("variant", lambda spec: spec.variant),
    fact("metrics", lambda spec: ", ".join(spec.metrics)),
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
    is_empty = not (discovery.workloads or discovery.broken or discovery.left_out)
    nothing = (Paragraph(text="no workload is registered or chosen"),) if is_empty else ()
    return Document(
        name="perfledger-workloads",
        facts={
            "not_importable": [
                {"path": file.path, "detail": file.detail} for file in discovery.broken
            ],
            "notes": discovery.notes,
            "left_out": [
                {"benchmark": name, "reason": why} for name, why in discovery.left_out.items()
            ],
        },
        blocks=(
            table(_COLUMNS, discovery.workloads, key="workloads"),
            *nothing,
            *failures,
            *left_out,
            *notes(discovery.notes),
        ),
    )
