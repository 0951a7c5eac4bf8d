"""Counts the work of torch steps: FLOPs, operators and the bytes they access.

The workload is set up and stepped on fake tensors (torch's FakeTensorMode): every operator
determines the shape of its result, and nothing is computed. A step that needs its tensors' values
is counted in one real step instead, with a note. Fake tensors may remain in the workload's globals,
so this runs in a process that measures nothing.
"""

import sys
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, cast

from perfledger import step_work
from perfledger.failure_reason import error_line
from perfledger.meters.foreign_arrays import foreign_arrays
from perfledger.meters.torch_formulas import (
    OWN_NAMESPACE,
    missing_formulas,
    needs_formula,
    operator_name,
)
from perfledger.meters.torch_lines import DISPATCH
from perfledger.step_work import Count, StepWork
from perfledger.workload import Step

MAX_NAMES = 5  # listed in one limit
FLOP_COUNTER = "torch.utils.flop_counter"
TRITON = "triton.runtime.jit"
FAKE_TENSOR = "torch._subclasses.fake_tensor"
# torch imports it with the first operator that it counts, in more than a second.
COMPILER = "torch._dynamo"

# Operators that return uninitialised memory.
_UNWRITTEN = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})
# Operators that return their input's memory, although torch does not mark them as views.
_SAME_MEMORY = frozenset({"_unsafe_view", "_reshape_alias", "lift_fresh"})

Foreign = Any  # an object of torch, see torch_clock
TorchLoader = Callable[[str], Foreign]  # importlib.import_module


def load_counter(load: TorchLoader = import_module) -> None:
    """Import what torch needs to count operators, so that forks of this process have it."""
    with suppress(Exception):  # a torch without it counts without it
        load(COMPILER)


def count_torch_work(torch: Foreign, load: TorchLoader, set_up: Callable[[], Step]) -> StepWork:
    """Return the work of the second step, because the first fills optimisers and caches.

    It tries in order: set-up and step on fake tensors; a real set-up (moving a module to a device
    needs it) and a step on fake tensors; a real step. Errors of a real set-up are raised.
    """
    try:
        with _without_data(load):
            return _count_work(torch, load, set_up())
    except Exception:  # a boundary: fake tensors do not support all user code
        step = set_up()
    try:
        with _without_data(load):
            return _count_work(torch, load, step)
    except Exception as error:  # a boundary: the step may need a tensor's value
        limit = f"counted in a real step, because it needs tensor values: {error_line(error)}"
    step = set_up()
    try:
        work = _count_work(torch, load, step)
        return replace(work, limits=(limit, *work.limits))
    except Exception as error:  # a boundary: some code fails under a dispatch mode
        return StepWork(limits=(f"its step fails while it is counted: {error_line(error)}",))


def _without_data(load: TorchLoader) -> AbstractContextManager[object]:
    context: AbstractContextManager[object] = load(FAKE_TENSOR).FakeTensorMode(
        allow_non_fake_inputs=True
    )
    return context


def _count_work(torch: Foreign, load: TorchLoader, step: Step) -> StepWork:
    counter = load(FLOP_COUNTER)
    formulas = missing_formulas(torch.ops.aten, getattr(counter, "flop_registry", {}))
    flops = counter.FlopCounterMode(display=False, custom_mapping=formulas)
    traffic = _Traffic(torch.Tensor)
    with ExitStack() as stack:
        stack.enter_context(_without_compiling(torch))
        step()
        launches = stack.enter_context(_triton_launches())
        stack.enter_context(traffic.mode(load(DISPATCH).TorchDispatchMode))
        stack.enter_context(flops)
        libraries = stack.enter_context(foreign_arrays("torch"))
        step()
    counted = {str(operator) for operator in flops.get_flop_counts().get("Global", {})}
    called = traffic.called.items()
    without = [name for name, operator in called if needs_formula(operator, counted)]
    limits = (
        *_limit("operators that torch has no FLOP formula for", without),
        *_limit("Triton kernels called without an operator", launches),
        *_limit("libraries whose arrays the step uses beside torch's", libraries),
    )
    is_visible = not (launches or libraries)
    counts = _counts(flops, traffic, is_complete=not limits, is_visible=is_visible)
    return StepWork(counts=counts, limits=limits)


def _limit(what: str, names: Collection[str]) -> tuple[str, ...]:
    more = len(names) - MAX_NAMES
    first = ", ".join(sorted(names)[:MAX_NAMES])
    text = f"the work of {what} is not counted: {first}"
    return (f"{text} and {more} more" if more > 0 else text,) if names else ()


@contextmanager
def _triton_launches() -> Generator[Collection[str]]:
    """Yield the names of the Triton kernels that Python launches in the meantime.

    Dispatch modes do not see them, unless they are wrapped as operators of torch.library.
    """
    names: dict[str, None] = {}
    kernel: Foreign = getattr(sys.modules.get(TRITON), "JITFunction", None)
    run = getattr(kernel, "run", None)
    if run is None:
        yield names.keys()
        return

    def record(self: Foreign, *arguments: object, **options: object) -> object:
        names[str(getattr(self, "__name__", "a kernel"))] = None
        return run(self, *arguments, **options)

    kernel.run = record
    try:
        yield names.keys()
    finally:
        kernel.run = run


def _counts(
    flops: Foreign, traffic: "_Traffic", *, is_complete: bool, is_visible: bool
) -> tuple[Count, ...]:
    """Return the counts; work is `is_visible` unless there was some that is no operator's."""
    return (
        Count(
            name=step_work.FLOPS,
            unit="FLOP",
            value=float(flops.get_total_flops()),
            source="torch's FlopCounterMode",
            is_complete=is_complete,
        ),
        Count(
            name=step_work.BYTES,
            unit="B",
            value=float(traffic.bytes),
            source="inputs and outputs of every operator, unfused",
            is_complete=is_visible,
        ),
        Count(
            name=step_work.OPERATORS,
            unit="1",
            value=float(traffic.operators),
            source="torch's dispatcher, unfused",
            is_complete=is_visible,
        ),
    )


def _without_compiling(torch: Foreign) -> AbstractContextManager[object]:
    """Return a context in which torch.compile does nothing, because modes do not see inside it."""
    set_stance = getattr(torch.compiler, "set_stance", None)  # since torch 2.6
    if set_stance is None:
        return nullcontext()
    context: AbstractContextManager[object] = set_stance("force_eager")
    return context


class _Traffic:
    """The operators of a step, and the bytes of their inputs and outputs."""

    def __init__(self, tensor: type) -> None:
        self._tensor = tensor
        self.operators = 0
        self.bytes = 0
        self.called: dict[str, Foreign] = {}  # by name: what the FLOP counter did not decompose

    def mode(self, base: type) -> AbstractContextManager[object]:
        """Return a dispatch mode that counts every operator."""

        def dispatch(
            _: object,
            operator: Foreign,
            __: object,
            arguments: Sequence[object] = (),
            options: Mapping[str, object] | None = None,
        ) -> object:
            result = operator(*arguments, **(options or {}))
            self._add(operator, arguments, options or {}, result)
            return result

        kind = type("Traffic", (base,), {"__torch_dispatch__": dispatch})
        return cast("AbstractContextManager[object]", kind())

    def _add(
        self,
        operator: Foreign,
        arguments: Sequence[object],
        options: Mapping[str, object],
        result: object,
    ) -> None:
        name = str(getattr(operator, "_opname", ""))
        tensors = tuple(self._tensors((arguments, tuple(options.values()), result)))
        is_own = str(getattr(operator, "namespace", "")) == OWN_NAMESPACE
        # An operator of another library may multiply whole numbers, as quantized products do.
        if any(map(_is_floating, tensors)) or (tensors and not is_own):
            self.called.setdefault(operator_name(operator), operator)
        # In-place operators on lists return nothing: they write their first argument.
        written = list(self._tensors(arguments[:1] if result is None else result))
        if not written or getattr(operator, "is_view", False) or name in _SAME_MEMORY:
            return
        self.operators += 1
        if name not in _UNWRITTEN:
            read = self._tensors((arguments, tuple(options.values())))
            self.bytes += sum(map(_size, (*read, *written)))

    def _tensors(self, value: object) -> Iterator[Foreign]:
        if isinstance(value, self._tensor):
            yield value
        elif isinstance(value, tuple | list):
            for each in cast("Sequence[object]", value):
                yield from self._tensors(each)


def _size(tensor: Foreign) -> int:
    return int(tensor.numel()) * int(tensor.element_size())


def _is_floating(tensor: Foreign) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())
