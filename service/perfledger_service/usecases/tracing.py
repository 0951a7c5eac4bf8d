"""Profiler files in, what they say and what changed between them out."""

import os
from collections.abc import Mapping
from pathlib import Path

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_runners.explain import ReaderError, read_trace
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.pages.speedscope import speedscope
from perfledger_service.usecases.explaining import explain_change, look_at, suppose
from perfledger_service.usecases.histories import shown
from perfledger_service.views import TraceDiffView, TraceView, WhatIfView


def summarize(path: Path) -> TraceView:
    """Read one profiler file and say what it says; raises NotFoundError and UsageError."""
    name = shown(path)
    return look_at(name, _profile(path, workload=name, side=Side.HEAD))


def difference(base: Path, head: Path) -> TraceDiffView:
    """Read two profiler files and say what changed; raises NotFoundError and UsageError."""
    workload = shown(head)
    sides = tuple(
        _profile(path, workload=workload, side=side)
        for path, side in ((base, Side.BASE), (head, Side.HEAD))
    )
    _check_same_kind(*sides)
    return TraceDiffView(
        base=look_at(shown(base), sides[0]),
        head=look_at(shown(head), sides[1]),
        explanation=explain_change(*sides),
    )


def what_if(path: Path, *, changes: Mapping[str, float]) -> WhatIfView:
    """Say what a file's step would take if parts of it were so many times faster.

    Raises NotFoundError and UsageError.
    """
    name = shown(path)
    return suppose(name, _profile(path, workload=name, side=Side.HEAD), changes)


def export(view: TraceView) -> str:
    """Return a trace's timeline as speedscope reads it; raises UsageError if it has none."""
    if not view.profile.slices:
        msg = (
            f"{view.name} has no timeline to export: speedscope shows calls one after another, and "
            "this file has sums only"
        )
        raise UsageError(msg)
    return speedscope(view.profile, name=view.name)


def _profile(path: Path, *, workload: str, side: Side) -> Profile:
    """Read a file in a child with limits: it may be anybody's."""
    if path.is_dir():
        msg = f"{shown(path)} is a folder: give one profiler file, such as trace.json or xplane.pb"
        raise UsageError(msg)
    if not path.is_file():
        msg = f"there is no file {shown(path)}"
        raise NotFoundError(msg)
    try:
        return read_trace(
            "auto", path.resolve(), workload=workload, side=side, environment=os.environ
        )
    except ReaderError as error:
        name, words = shown(path), str(error)
        msg = words if name in words else f"{name}: {words}"
        raise UsageError(msg) from error


def _check_same_kind(base: Profile, head: Profile) -> None:
    if base.has_steps is not head.has_steps:
        whole, steps = (base, head) if head.has_steps else (head, base)
        msg = (
            f"a file of {whole.tool} without steps cannot be held against one of {steps.tool} with "
            "steps: compare two files of one kind"
        )
        raise UsageError(msg)
