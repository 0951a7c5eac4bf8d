"""A torch step becomes the work that it asks for: FLOPs, operators and the bytes that they touch.

The workload is set up and stepped on tensors without data (torch's FakeTensorMode): every operator
works out the shape of its result, and nothing is computed. A step that needs its tensors' values
is counted in one real step instead, and that is said. Fake tensors may stay in the workload's
globals, so this is done in a process that measures nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, cast

from perfledger import work
from perfledger.failure import text_of
from perfledger.work import Count, Work
from perfledger.workload import Step

MAX_REASON = 300
FLOP_COUNTER = "torch.utils.flop_counter"
DISPATCH = "torch.utils._python_dispatch"
FAKE = "torch._subclasses.fake_tensor"

# What they return is memory that nobody has written yet.
_UNWRITTEN = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})
# What they return is what they were given, though torch does not call them views.
_SAME_MEMORY = frozenset({"_unsafe_view", "_reshape_alias", "lift_fresh"})

Foreign = Any  # torch's own, which is fenced in: see torch_clock
Load = Callable[[str], Foreign]  # importlib.import_module


def torch_work(torch: Foreign, load: Load, set_up: Callable[[], Step]) -> Work:
    """Return what one step asks for, the second one: the first fills optimisers and caches.

    Tried in turn: set up and step on tensors without data; set up with data (moving a module to a
    device needs it) and step without; a real step. What `set_up` raises with data is raised.
    """
    try:
        with _without_data(load):
            return Work(counts=_counts(torch, load, set_up()))
    except Exception:  # a door: torch cannot do without data whatever the user's code does
        step = set_up()
    try:
        with _without_data(load):
            return Work(counts=_counts(torch, load, step))
    except Exception as error:  # a door: the step may want a tensor's value
        limit = f"counted in a real step, since it needs the values of tensors: {_reason(error)}"
    step = set_up()
    try:
        return Work(counts=_counts(torch, load, step), limits=(limit,))
    except Exception as error:  # a door: some code does not run while it is looked at
        return Work(limits=(f"its step does not run while it is counted: {_reason(error)}",))


def _without_data(load: Load) -> AbstractContextManager[object]:
    context: AbstractContextManager[object] = load(FAKE).FakeTensorMode(allow_non_fake_inputs=True)
    return context


def _counts(torch: Foreign, load: Load, step: Step) -> tuple[Count, ...]:
    flops = load(FLOP_COUNTER).FlopCounterMode(display=False)
    traffic = _Traffic(torch.Tensor)
    with ExitStack() as stack:
        stack.enter_context(_without_compiling(torch))
        step()
        stack.enter_context(traffic.mode(load(DISPATCH).TorchDispatchMode))
        stack.enter_context(flops)
        step()
    return (
        Count(
            name=work.FLOPS,
            unit="FLOP",
            value=float(flops.get_total_flops()),
            source="torch's FlopCounterMode",
        ),
        Count(
            name=work.BYTES,
            unit="B",
            value=float(traffic.bytes),
            source="inputs and outputs of every operator, unfused",
        ),
        Count(
            name=work.OPERATORS,
            unit="1",
            value=float(traffic.operators),
            source="torch's dispatcher, unfused",
        ),
    )


def _without_compiling(torch: Foreign) -> AbstractContextManager[object]:
    """Return a context in which torch.compile does nothing: no mode sees into compiled code."""
    set_stance = getattr(torch.compiler, "set_stance", None)  # since torch 2.6
    if set_stance is None:
        return nullcontext()
    context: AbstractContextManager[object] = set_stance("force_eager")
    return context


class _Traffic:
    """Counts operators and the bytes of what goes into them and comes out."""

    def __init__(self, tensor: type) -> None:
        self._tensor = tensor
        self.operators = 0
        self.bytes = 0

    def mode(self, base: type) -> AbstractContextManager[object]:
        """Return the mode in which torch tells of every operator."""

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
        # What works on lists in place returns nothing: it writes its first argument.
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


def _reason(error: BaseException) -> str:
    lines = text_of(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:MAX_REASON]
