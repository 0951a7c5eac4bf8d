"""A checkout in, the workloads that it registers and its broken files out."""

from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.discovery import source_files
from perfledger.protocol import Command, Request
from perfledger.records import Why, WorkloadSpec
from perfledger_runners.child import Ended, run_child
from perfledger_runners.harness import Harness
from perfledger_runners.messages import Broken, Facts, Failed, Listed


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenFile:
    """A path of the checkout whose workloads could not be listed, and why."""

    path: str
    why: Why
    detail: str
    log_tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What one checkout registers. `facts` is None when no child lived to tell them."""

    workloads: tuple[WorkloadSpec, ...] = ()
    broken: tuple[BrokenFile, ...] = ()
    facts: Facts | None = None


def discover(harness: Harness, request: Request) -> Discovery:
    """List the workloads below `request.root`; the request's command is ignored.

    A file that kills or hangs the child that imports it costs the others nothing: the files are
    then imported one by one, in a child each.
    """
    found, death = _list(harness, request)
    if death is None:
        return found
    _, is_hopeless = _list(harness, replace(request, paths=()))  # without any file of the user's
    files = () if is_hopeless else _source_paths(request)
    if not files:
        return replace(found, broken=(*found.broken, death))
    workloads: dict[str, WorkloadSpec] = {}
    broken: list[BrokenFile] = []
    facts = found.facts
    for file in files:
        each, death = _list(harness, replace(request, paths=(file,)))
        workloads |= {spec.id: spec for spec in each.workloads}
        broken += each.broken if death is None else (*each.broken, death)
        facts = facts or each.facts
    return Discovery(workloads=tuple(workloads.values()), broken=tuple(broken), facts=facts)


def _list(harness: Harness, request: Request) -> tuple[Discovery, BrokenFile | None]:
    """Return what one child lists, and what became of it if it died over it."""
    workloads: list[WorkloadSpec] = []
    broken: list[BrokenFile] = []
    facts: Facts | None = None
    death: BrokenFile | None = None
    for message in run_child(harness, replace(request, command=Command.LIST, workloads=())):
        match message:
            case Facts():
                facts = message
            case Listed():
                workloads.append(_spec(message))
            case Broken(path=path, why=why, detail=detail):
                broken.append(BrokenFile(path=path, why=why, detail=detail))
            case Failed(why=why, detail=detail):
                death = BrokenFile(path=", ".join(request.paths), why=why, detail=detail)
            case Ended(log_tail=log_tail) if death is not None:
                death = replace(death, log_tail=log_tail)
            case _:
                pass
    found = Discovery(workloads=tuple(workloads), broken=tuple(broken), facts=facts)
    return found, death


def _spec(message: Listed) -> WorkloadSpec:
    return WorkloadSpec(
        id=message.id,
        module=message.module,
        function=message.function,
        params=message.params,
        unit=message.unit,
        units_per_step=message.units_per_step,
        device=message.device,
        framework=message.framework,
    )


def _source_paths(request: Request) -> tuple[str, ...]:
    root = Path(request.root).resolve()
    tops = [(root / path).resolve() for path in request.paths]
    inside = [top for top in tops if top.exists() and top.is_relative_to(root)]
    sources = dict.fromkeys(file for top in inside for file in source_files(top))
    return tuple(str(file.relative_to(root)) for file in sources)
