"""Lists workloads, of asv's benchmarks only in files that may hold a chosen one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from perfledger.process.asv.chosen_files import chosen_files
from perfledger.protocol import BenchmarkSuite, ChildRequest
from perfledger.records import Side
from perfledger_runners.checkouts.source_tree import first_few
from perfledger_runners.children.harness import Harness
from perfledger_runners.machine.accelerators import may_have_accelerator
from perfledger_runners.measuring.discovery import Discovery, list_both_sides
from perfledger_runners.safe_text import clean_text
from perfledger_service.usecases.check.side_code import SideCode
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice


def discover_sides(
    code: SideCode, harness: Harness, choice: WorkloadChoice
) -> Mapping[Side, Discovery]:
    """List the workloads of both sides, at once if they cannot contend for a device."""

    def list_files(listed: tuple[str, ...]) -> tuple[Discovery, ...]:
        requests = {
            side: replace(request, listed_files=listed) for side, request in code.requests.items()
        }
        task = replace(code, requests=requests).discover
        sides = list_both_sides(harness, task, is_at_once=not may_have_accelerator())
        return tuple(sides[side] for side in Side)

    return dict(zip(Side, discover_chosen(code.requests.values(), choice, list_files), strict=True))


def discover_chosen(
    requests: Collection[ChildRequest],
    choice: WorkloadChoice,
    list_files: Callable[[tuple[str, ...]], tuple[Discovery, ...]],
) -> tuple[Discovery, ...]:
    """Return what `list_files` finds in the files that may hold a chosen workload; () means all.

    A note names the other files. If none of the workloads found is chosen, all files are listed: a
    benchmark may get its name from what its file computes.
    """
    chosen, other_paths = chosen_files(requests, choice.may_choose) if str(choice) else ((), ())
    if not (chosen and other_paths):
        return list_files(())
    discoveries = list_files(chosen)
    if not any(choice.is_chosen(spec) for each in discoveries for spec in each.workloads):
        return list_files(())
    note = _note(other_paths, choice)
    return tuple(replace(each, notes=(*each.notes, note)) for each in discoveries)


def no_workloads_message(child_request: ChildRequest, choice: WorkloadChoice) -> str:
    """Return that no workload is there or chosen, and what to do."""
    suite = child_request.suite
    option = "" if suite is BenchmarkSuite.PERFLEDGER else f" --{suite}"
    where = ", ".join(child_request.paths) or f"the folders that {suite} is configured for"
    if str(choice):
        return f"no workload in {where} matches {choice}: perfledger bench list{option} lists them"
    if option:
        return (
            f"{where} have no benchmark that can be measured: perfledger bench list{option} names "
            "what is left out and why, and `paths` sets other folders"
        )
    return f"no workload is registered in {where}: run perfledger init, or set `paths`"


def _note(paths: Sequence[str], choice: WorkloadChoice) -> str:
    names = first_few([clean_text(path) for path in paths])
    return f"not imported, because {choice} names nothing in their text: {names}"
