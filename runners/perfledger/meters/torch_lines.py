"""Records which lines of the user's code call torch's operators, and hold memory, in one step.

A profiler's stacks name functions and cost up to 1.9 times the step, so this runs a separate step
that is not timed. An operator of the backward pass runs without its caller on the stack: it gets
the line whose forward call made its node of the graph, known by the node's sequence number.
"""

import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfledger.meters.compilation_log import Row, write_record
from perfledger.meters.torch_memory import NotedStorage, TensorMemory
from perfledger.workload import Step

OVERRIDES = "torch.overrides"
DISPATCH = "torch.utils._python_dispatch"
TREE = "torch.utils._pytree"
MAX_LINES = 20_000  # of operators, sizes and source lines in one step
# Its argument is a tensor that torch.tensor has just made.
NEW_FROM_PYTHON = "aten::lift_fresh"
MAX_HELD = 200  # kinds of tensors: those with most bytes

Foreign = Any  # an object of torch, see torch_clock
SourceLine = tuple[str, int]  # a path relative to the repository, and a line
NO_LINE: SourceLine = ("", 0)
Maker = tuple[str, SourceLine, bool]  # an operator, its line, and whether it is of a backward pass
Call = tuple[str, str, SourceLine, bool]  # with the sizes of its tensors


def record_lines(
    torch: Foreign,
    load: Callable[[str], Foreign],
    step: Step,
    *,
    root: Path,
    path: Path,
    device: str = "cpu",
    compilations: Sequence[Row] = (),
) -> Path | None:
    """Run one step and write the calls of each operator by line; return None if that fails.

    The file has {"calls": [{"operator", "sizes", "path", "line", "is_backward", "calls"}],
    "peak_tensors": [{"operator", "tensor", "path", "line", "is_backward", "bytes", "tensors"}]},
    the latter in the memory of `device` at its peak, and `compilations`. Tensors older than the
    step have the operator "" and the first line that uses them. `root` is the repository; the line
    is that of its innermost frame. Calls from elsewhere are left out; tensors from there have the
    path "".
    """
    calls: Counter[Call] = Counter()
    memory: TensorMemory[Maker] = TensorMemory(torch, load(TREE).tree_leaves, device=device)
    try:
        callers, operators = _recorders(
            torch, load, root=f"{root}{os.sep}", calls=calls, memory=memory
        )
        with operators, callers:
            step()
    except Exception:  # a boundary: some code fails under torch's modes
        return write_record(path, compilations=compilations) if compilations else None
    rows = [
        {
            "operator": operator,
            "sizes": sizes,
            "path": line[0],
            "line": line[1],
            "is_backward": is_backward,
            "calls": count,
        }
        for (operator, sizes, line, is_backward), count in calls.most_common(MAX_LINES)
        if line != NO_LINE
    ]
    return write_record(
        path,
        calls=rows,
        peak_tensors=_peak_rows(memory.at_peak()),
        compilations=compilations,
    )


def _peak_rows(storages: Iterable[NotedStorage[Maker]]) -> list[Row]:
    """Return what tensors hold memory, those with most bytes first."""
    size_bytes: Counter[tuple[Maker, str]] = Counter()
    tensors: Counter[tuple[Maker, str]] = Counter()
    for one in storages:
        operator, line, is_backward = one.maker
        key = ("" if one.is_older else operator, line, is_backward), one.tensor
        size_bytes[key] += one.size_bytes
        tensors[key] += 1
    return [
        {
            "operator": operator,
            "tensor": tensor,
            "path": line[0],
            "line": line[1],
            "is_backward": is_backward,
            "bytes": held_bytes,
            "tensors": tensors[(operator, line, is_backward), tensor],
        }
        for ((operator, line, is_backward), tensor), held_bytes in size_bytes.most_common(MAX_HELD)
    ]


def _recorders(
    torch: Foreign,
    load: Callable[[str], Foreign],
    *,
    root: str,
    calls: Counter[Call],
    memory: TensorMemory[Maker],
) -> tuple[Foreign, Foreign]:
    """Return two contexts that together count calls of operators by line."""
    next_node = torch.autograd._get_sequence_nr
    line_of_node: dict[int, SourceLine] = {}

    class Calls(load(OVERRIDES).TorchFunctionMode):  # type: ignore[misc]  # a class of torch
        """A recorder of the line of each node that a call adds to the graph."""

        def __torch_function__(
            self,
            function: Foreign,
            types: object,
            args: tuple[Foreign, ...] = (),
            kwargs: Mapping[str, object] | None = None,
        ) -> object:
            first = next_node()
            try:
                return function(*args, **(kwargs or {}))
            finally:
                if next_node() > first:
                    line = _source_line(root)
                    for node in range(first, next_node()):
                        line_of_node.setdefault(node, line)

    class Operators(load(DISPATCH).TorchDispatchMode):  # type: ignore[misc]  # a class of torch
        """A counter of operators by the line that calls them."""

        def __torch_dispatch__(
            self,
            function: Foreign,
            types: object,
            args: tuple[Foreign, ...] = (),
            kwargs: Mapping[str, object] | None = None,
        ) -> object:
            node = torch._C._current_autograd_node()
            line = line_of_node.get(node._sequence_nr()) if node is not None else None
            sizes = "".join(
                str(list(one.shape)).replace(" ", "")
                for one in args
                if isinstance(one, torch.Tensor) and one.dim()
            )
            is_backward = line is not None
            line = line or _source_line(root)
            operator = function._schema.name
            calls[operator, sizes, line, is_backward] += 1
            maker = operator, line, is_backward
            memory.note((args, kwargs), maker, is_older=operator != NEW_FROM_PYTHON)
            result = function(*args, **(kwargs or {}))
            memory.note(result, maker, is_older=False)
            return result

    return Calls(), Operators()


def _source_line(root: str) -> SourceLine:
    """Return the innermost line of a file below the folder `root` that is being run."""
    frame = inspect.currentframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(root):
            return name[len(root) :], frame.f_lineno
        frame = frame.f_back
    return NO_LINE
