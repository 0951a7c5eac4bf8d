"""Suggests what to do about a change if the profiles have evidence."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.bottleneck.device_advice import FLOAT64_SHAPES
from perfledger_profiles.bottleneck.host_bound import may_be_python
from perfledger_profiles.diff.cause import ChangeKind
from perfledger_profiles.diff.grouping import longest_operation
from perfledger_profiles.diff.input_differences import element_count
from perfledger_profiles.diff.matching import is_attention_part, is_fused_attention
from perfledger_profiles.diff.operation_change import MatchStage, OperationChange
from perfledger_profiles.diff.stable_names import is_fused_name
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS
from perfledger_profiles.xla.host_events import COMPILING_LABEL, TRACING_LABEL, XLA_RUNTIME

COMPILE = (
    "a function is traced and compiled in the step: call jax.jit once, outside of it, and keep the "
    "shapes, types and static arguments of its calls the same"
)
RECOMPILE = (
    "torch.compile compiles in the step: keep the shapes and types of its inputs the same, mark "
    "those that vary with torch._dynamo.mark_dynamic, and see TORCH_LOGS=recompiles"
)
GRAPH_BREAK = (
    "torch.compile covers less of the step than before: find graph breaks with "
    "TORCH_LOGS=graph_breaks, and calls that moved out of the compiled function"
)
PIECES = (
    "torch.compile's code runs in more pieces than before: find graph breaks with "
    "TORCH_LOGS=graph_breaks, unless the step calls more compiled functions"
)
ATTENTION = (
    "the fused attention is gone: call torch.nn.functional.scaled_dot_product_attention instead of "
    "matmul and softmax, with a mask, types and dropout that its fused kernels support"
)
FLOAT64 = (
    "float64 is new here, and runs at half the rate of float32 or less: keep the type with dtype= "
    "or .to(), also for constants from NumPy and Python"
)
READ_BACK = (
    "values are read back in the step (.item(), .cpu(), print, a comparison), which waits for all "
    "work before it: keep them on the device and read them only every N steps"
)
WORKERS = (
    "the step waits for data that is now loaded in the main process: give the DataLoader "
    "num_workers, with persistent_workers=True and pin_memory=True for a GPU"
)
INPUT = (
    "the step waits longer for its data: give the DataLoader more workers or a larger "
    "prefetch_factor, or move its work per item out of training"
)
FUSED_OPTIMIZER = (
    "the optimizer updates its parameters one by one: construct it with fused=True, or foreach=True"
)
GRADIENTS = (
    "gradients are filled with zeros and added to, which reads and writes all of them again: call "
    "zero_grad(set_to_none=True)"
)
RECOMPUTE = (
    "activations are recomputed in the backward pass: checkpoint fewer layers, or only those that "
    "are cheap to compute and large to keep"
)
ONE_HOT = (
    "a row is looked up by multiplying with a one-hot matrix: use torch.nn.functional.embedding or "
    "an index instead"
)
SORT = (
    "sorting is new here: use topk or kthvalue for a few values, else sort once, outside the step"
)
LOOP = (
    "the same operation is called more often, on smaller inputs: batch them with another "
    "dimension, torch.vmap or jax.vmap"
)
MASK = (
    "elements are selected by a mask, so the host waits for the size of the result: use "
    "torch.where, or multiply with the mask"
)
DROPOUT = "dropout is active: call model.eval() unless the step trains"
MORE_CALLS = (
    "the same operation is called more often: if that is unintended, look for an added layer, pass "
    "or repeated computation"
)
SEQUENTIAL = (
    "a loop runs its iterations in sequence inside the compiled program: use jax.vmap for "
    "independent iterations, or unroll= for dependent ones"
)
CALLBACK = (
    "the compiled program calls back into Python and waits for it: compute it in JAX, or only "
    "every N steps"
)
GATHER = (
    "single elements are gathered or scattered by index: use slices, lax.dynamic_slice or a matrix "
    "product where the indices are regular"
)
EAGER = "operations are dispatched to the device one by one: put the step into one jax.jit function"
SMALL_CALLS = (
    "the step calls many more operations than before: call fewer and larger ones, or compile the "
    "step"
)
PYTHON = (
    "the time is spent in Python between operations: profile the step with stacks (cProfile, "
    "py-spy), and move work out of the step"
)
COPIES = (
    "tensors are copied or converted more often: create them once, outside the step, with the "
    "right type, device and memory format"
)
LAYOUT = (
    "the same inputs have a different memory layout, because contiguous() is called on them: keep "
    "one memory format, torch.channels_last for convolutions, through inputs and model"
)
LARGER_INPUTS = (
    "the inputs are larger than before: if that is intended, accept the change; if not, check what "
    "feeds this operation"
)
CLOCK = (
    "all operations changed by the same ratio, as with a different clock or fewer threads: lock "
    "the clocks, check for throttling and other processes, and compare torch.get_num_threads()"
)

# From this ratio on, calls on smaller inputs count as a loop.
MIN_LOOP_RATIO = 3.0

_READ_BACK = re.compile(
    r"aten::(item|_local_scalar_dense)\b|(Stream|Device)Synchronize|np\.asarray\(jax|copy_to_host"
)
# On the CPU, a loop that reads values one by one spends most of its time here.
_READ_BACK_LOOP = (OUTSIDE_OPERATIONS, "aten::select", "aten::slice", "aten::unbind")
_COPIES = ("aten::_to_copy", "aten::copy_")
_COPY = re.compile(r"copy([._]?\d+)?(\.clone)?$|^copy_|_copy_fusion|wrapped_copy")
_DYNAMO = re.compile(r"dynamo_timed|_compile\.compile_inner|TorchDynamo|OutputGraph|compile_fx")
_REGION = re.compile(r"Torch-Compiled Region(?:: .*(?=/))?")  # "0/1" is compilation 1 of code 0
_COMPILED_REGION = re.compile(rf"{_REGION.pattern}|CompiledFunction|CompiledFxGraph")
_SINGLE_LOADER = re.compile(r"_SingleProcessDataLoaderIter")
_SEVERAL_LOADERS = re.compile(r"_MultiProcessingDataLoaderIter")
_OPTIMIZER = re.compile(r"Optimizer\.step")
_ZERO_GRAD = re.compile(r"Optimizer\.zero_grad|AccumulateGrad")
_FILL = re.compile(r"aten::zero_|_foreach_zero_")
_CHECKPOINT = re.compile(r"CheckpointFunction|checkpoint|Backward\d*(/[^/]+)*/aten::(linear|conv)")
_ONE_HOT = re.compile(r"aten::one_hot|one_hot")
_MASK = re.compile(r"aten::(nonzero|masked_select|index)\b")
_DROPOUT = re.compile(r"dropout|bernoulli")
_BATCHED = re.compile(r"aten::(bmm|baddbmm)\b")
_PRODUCT = re.compile(r"aten::(mm|addmm|mv|bmm)$")
_SORT = re.compile(r"(?i)\b(aten::)?(arg)?sort\b|radixsort|sort[._]\d|bitonic")
_CALLBACK = re.compile(r"(?i)callback")
_WHILE = re.compile(r"(^|/|_)(while|condition|body)\b")
_GATHER = re.compile(r"(?i)gather|scatter")
_WAIT = re.compile(re.escape(XLA_RUNTIME))  # for a program's operations, on the CPU
_DISPATCH = re.compile(rf"Pjit|_?Function\(|Execute|Dispatch|{_WAIT.pattern}")


@dataclass(frozen=True, slots=True)
class _ChangeContext:
    """A change that costs time, in the context of the two profiles."""

    change: OperationChange
    base: Profile
    head: Profile

    @property
    def is_more_often(self) -> bool:
        return self.change.head_count > self.change.base_count

    @property
    def advised_operations(self) -> tuple[Operation, ...]:
        """Return the head's operations that advice may refer to: the longest of each group."""
        head = self.change.head
        return (longest_operation(head),) if self.change.label and head else head

    def concerns(self, pattern: re.Pattern[str]) -> bool:
        """Return whether a head operation, or an operation around it, matches."""
        return any(pattern.search(_where(operation)) for operation in self.advised_operations)

    def calls(self, pattern: re.Pattern[str]) -> tuple[float, float]:
        """Return how often base's step and head's step call matching operations."""
        before, after = (
            sum(one.count for one in side.operations if pattern.search(one.name))
            for side in (self.base, self.head)
        )
        return before, after

    def has_more(self, pattern: re.Pattern[str]) -> bool:
        before, after = self.calls(pattern)
        return after > before


def suggestion(change: OperationChange, base: Profile, head: Profile) -> str:
    """Return what to do about a change that costs time, or "" without evidence."""
    if change.delta_seconds <= 0:
        return ""
    context = _ChangeContext(change, base, head)
    return next((text for text, holds in _EVIDENCE if holds(context)), "")


def _where(operation: Operation) -> str:
    return f"{operation.path}/{operation.name}"


def _is_compiling(context: _ChangeContext) -> bool:
    names = [operation.name for operation in context.change.head]
    return context.is_more_often and any(
        name.startswith((COMPILING_LABEL, TRACING_LABEL)) for name in names
    )


def _is_fused_attention_lost(context: _ChangeContext) -> bool:
    is_attention = any(
        is_attention_part(operation) or is_fused_attention(operation)
        for operation in (*context.change.base, *context.change.head)
    )
    return is_attention and _fused_calls(context.head) < _fused_calls(context.base)


def _fused_calls(profile: Profile) -> float:
    return sum(operation.count for operation in profile.operations if is_fused_attention(operation))


def _is_new_float64(context: _ChangeContext) -> bool:
    before, after = (
        any(FLOAT64_SHAPES.search(operation.shapes) for operation in side)
        for side in (context.change.base, context.change.head)
    )
    return after and not before


def _is_reading_back(context: _ChangeContext) -> bool:
    is_around = any(one.name in _READ_BACK_LOOP for one in context.change.head)
    has_more = _read_backs(context.head) > _read_backs(context.base)
    return has_more and (is_around or context.concerns(_READ_BACK))


def _read_backs(profile: Profile) -> float:
    return sum(one.count for one in profile.operations if _READ_BACK.search(_where(one)))


def _is_loading_here(context: _ChangeContext) -> bool:
    is_here, was_here = (
        any(_SINGLE_LOADER.search(_where(one)) for one in side)
        for side in (context.change.head, context.change.base)
    )
    was_elsewhere = any(_SEVERAL_LOADERS.search(_where(one)) for one in context.change.base)
    return is_here and not was_here and was_elsewhere


def _is_input(context: _ChangeContext) -> bool:
    return context.change.stage is MatchStage.INPUT or all(
        one.bucket is Bucket.INPUT for one in context.change.head
    )


def _is_optimizer_taken_apart(context: _ChangeContext) -> bool:
    was_fused, is_fused = (
        any(_OPTIMIZER.search(one.path) and is_fused_name(one.name) for one in side.operations)
        for side in (context.base, context.head)
    )
    return context.concerns(_OPTIMIZER) and was_fused and not is_fused


def _is_recomputing(context: _ChangeContext) -> bool:
    is_slower = context.head.step_seconds > context.base.step_seconds
    return is_slower and context.is_more_often and context.concerns(_CHECKPOINT)


def _is_one_hot(context: _ChangeContext) -> bool:
    return context.has_more(_ONE_HOT) and (
        context.concerns(_ONE_HOT) or context.change.kind in {ChangeKind.NEW, ChangeKind.REPLACED}
    )


def _is_newly(
    pattern: re.Pattern[str], *, around: re.Pattern[str] | None = None
) -> Callable[[_ChangeContext], bool]:
    """Return a test for operations that a step calls more often, which a change is or is around."""
    return lambda context: context.concerns(around or pattern) and context.has_more(pattern)


def _is_covered_less(context: _ChangeContext) -> bool:
    before, after = (
        sum(one.seconds for one in side.operations if _COMPILED_REGION.search(one.name))
        for side in (context.base, context.head)
    )
    breaks, now_breaks = context.calls(_REGION)
    return context.change.stage is MatchStage.FUSION and (now_breaks > breaks or after < before)


def _is_in_more_pieces(context: _ChangeContext) -> bool:
    before, after = (
        {region for one in side.operations for region in _REGION.findall(one.name)}
        for side in (context.base, context.head)
    )
    is_new = context.concerns(_COMPILED_REGION) and context.has_more(_REGION)
    return is_new and len(after) > len(before) > 0


def _is_unbatched(context: _ChangeContext) -> bool:
    before, after = context.calls(_BATCHED)
    is_many = context.change.head_count >= MIN_LOOP_RATIO * max(context.change.base_count, 1.0)
    return is_many and context.concerns(_PRODUCT) and after < before


def _is_called_more(context: _ChangeContext) -> bool:
    before, after = (
        {one.shapes for one in side} for side in (context.change.base, context.change.head)
    )
    return context.change.kind is ChangeKind.COUNT and before == after and not _is_outside(context)


def _is_looping(context: _ChangeContext) -> bool:
    if context.change.base_count <= 0 or context.change.kind is not ChangeKind.COUNT:
        return False
    before, after = (
        {one.shapes for one in side if one.shapes}
        for side in (context.change.base, context.change.head)
    )
    ratio = context.change.head_count / context.change.base_count
    return ratio >= MIN_LOOP_RATIO and bool(after - before)


def _is_eager(context: _ChangeContext) -> bool:
    before, after = context.calls(re.compile(r"PjitFunction\(|Function\("))
    is_host = context.concerns(_DISPATCH) or _is_outside(context)
    return is_host and after >= MIN_LOOP_RATIO * max(before, 1.0)


def _is_copying(context: _ChangeContext) -> bool:
    return context.is_more_often and any(
        one.name in _COPIES or _COPY.search(one.name) for one in context.advised_operations
    )


def _is_many_calls(context: _ChangeContext) -> bool:
    """Return whether most of the change is Python code that makes additional calls."""
    is_around = context.change.between_seconds > context.change.delta_seconds / 2
    return is_around or (_is_outside(context) and context.change.kind is ChangeKind.COUNT)


def _is_outside(context: _ChangeContext) -> bool:
    return any(operation.name == OUTSIDE_OPERATIONS for operation in context.change.head)


def _has_new_layout(context: _ChangeContext) -> bool:
    """Return whether calls on the same sizes are slower after a new contiguous() on them."""
    sizes = {one.shapes.partition(" ")[0] for one in context.change.head if one.shapes}
    before, after = (
        sum(
            one.count
            for one in side.operations
            if one.name == "aten::contiguous" and one.shapes in sizes
        )
        for side in (context.base, context.head)
    )
    return context.change.is_same_work and after > before


def _is_grown(context: _ChangeContext) -> bool:
    before = {one.shapes for one in context.change.base if one.shapes}
    after = {one.shapes for one in context.change.head if one.shapes}
    if not before or not after or before & after or context.is_more_often:
        return False
    return element_count(context.change.head) > element_count(context.change.base)


# The first suggestion with evidence is used; those that say most about the code come first.
_EVIDENCE: tuple[tuple[str, Callable[[_ChangeContext], bool]], ...] = (
    (CLOCK, lambda context: context.change.stage is MatchStage.CLOCK),
    (COMPILE, _is_compiling),
    (RECOMPILE, _is_newly(_DYNAMO)),
    (ATTENTION, _is_fused_attention_lost),
    (WORKERS, _is_loading_here),
    (INPUT, _is_input),
    (FUSED_OPTIMIZER, _is_optimizer_taken_apart),
    (RECOMPUTE, _is_recomputing),
    (GRADIENTS, _is_newly(_FILL, around=_ZERO_GRAD)),
    (FLOAT64, _is_new_float64),
    (READ_BACK, _is_reading_back),
    (ONE_HOT, _is_one_hot),
    (SORT, _is_newly(_SORT)),
    (CALLBACK, _is_newly(_CALLBACK)),
    (CALLBACK, _is_newly(_CALLBACK, around=_WAIT)),
    (GRAPH_BREAK, _is_covered_less),
    (PIECES, _is_in_more_pieces),
    (EAGER, _is_eager),
    (SEQUENTIAL, _is_newly(_WHILE)),
    (SEQUENTIAL, _is_newly(_WHILE, around=_WAIT)),
    (GATHER, _is_newly(_GATHER)),
    (MASK, _is_newly(_MASK)),
    (DROPOUT, _is_newly(_DROPOUT)),
    (LOOP, _is_looping),
    (LOOP, _is_unbatched),
    (COPIES, _is_copying),
    (SMALL_CALLS, _is_many_calls),
    (PYTHON, lambda one: one.head.is_host_known and may_be_python(one.head) and _is_outside(one)),
    (LAYOUT, _has_new_layout),
    (LARGER_INPUTS, _is_grown),
    (MORE_CALLS, _is_called_more),
)
