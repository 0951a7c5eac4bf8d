"""Turn a change and the two profiles around it into advice, where there is evidence for it."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.breakdown import OUTSIDE
from perfledger_profiles.cause import How
from perfledger_profiles.change import Change, Stage
from perfledger_profiles.grouping import longest
from perfledger_profiles.matching import is_attention_part, is_fused_attention
from perfledger_profiles.names import is_fused_name
from perfledger_profiles.xla_host import COMPILING, TRACING

COMPILE = (
    "a function is traced and compiled in the step: call jax.jit once, outside of it, and keep the "
    "shapes, types and static arguments of its calls the same"
)
RECOMPILE = (
    "torch.compile compiles in the step: keep the shapes and types of its inputs the same, mark "
    "those that vary with torch._dynamo.mark_dynamic, and see TORCH_LOGS=recompiles"
)
GRAPH_BREAK = (
    "torch.compile covers less of the step than before: look for what it left with "
    "TORCH_LOGS=graph_breaks, and for calls that were taken out of the compiled function"
)
ATTENTION = (
    "the fused attention is gone: call torch.nn.functional.scaled_dot_product_attention instead of "
    "matmul and softmax, with a mask, types and dropout that its fused kernels take"
)
FLOAT64 = (
    "float64 is new here, and runs at half the rate of float32 or less: keep the type with dtype= "
    "or .to(), also of constants that come from NumPy and Python"
)
READ_BACK = (
    "values are read back in the step (.item(), .cpu(), print, a comparison), which waits for all "
    "work before it: keep them on the device and read them once in many steps"
)
WORKERS = (
    "the step waits for data that is now loaded in its own process: give the DataLoader "
    "num_workers, with persistent_workers=True and pin_memory=True for a GPU"
)
INPUT = (
    "the step waits longer for its data: give the DataLoader more workers or a larger "
    "prefetch_factor, or move what it does for each item out of training"
)
FUSED_OPTIMIZER = (
    "the optimizer updates its parameters one by one: construct it with fused=True, or foreach=True"
)
GRADIENTS = (
    "gradients are set to zero and added to, which reads and writes all of them once more: call "
    "zero_grad(set_to_none=True)"
)
RECOMPUTE = (
    "activations are computed again in the backward pass: checkpoint fewer layers, or only those "
    "that are cheap to compute and large to keep"
)
ONE_HOT = (
    "a row is looked up by multiplying with a one-hot matrix: use torch.nn.functional.embedding or "
    "an index instead"
)
SORT = (
    "sorting is new here: topk or kthvalue where a few values are needed, else sort once, outside "
    "of the step"
)
LOOP = (
    "the same operation is called more often, on smaller inputs: put them into one batch, with a "
    "dimension more, torch.vmap or jax.vmap"
)
MASK = (
    "elements are chosen by a mask, so that the size of the result is only known when it is there: "
    "use torch.where, or multiply with the mask"
)
DROPOUT = "dropout is on here: call model.eval() where nothing is trained"
MORE_CALLS = (
    "the same operation is called more often on the same inputs: if that is not meant, look for a "
    "layer, a pass or a repeated computation that was added"
)
SEQUENTIAL = (
    "a loop runs one iteration after the other inside the compiled program: use jax.vmap where the "
    "iterations do not depend on each other, or unroll= where they do"
)
CALLBACK = (
    "the compiled program calls back into Python and waits for it: compute it in JAX, or only once "
    "in many steps"
)
GATHER = (
    "single elements are gathered or scattered by index: use slices, lax.dynamic_slice or a matrix "
    "product where the indices are regular"
)
EAGER = "operations are dispatched to the device one by one: put the step into one jax.jit function"
SMALL_CALLS = (
    "the time goes into calling many more operations than before: call fewer and larger ones, or "
    "compile the step"
)
PYTHON = (
    "the time is spent in Python between operations: profile the step with stacks (cProfile, "
    "py-spy), and move what need not be in it outside"
)
COPIES = (
    "tensors are copied or converted more often: create them once, outside of the step, with the "
    "right type, device and memory format"
)
LAYOUT = (
    "the same inputs are laid out in memory in another way, since contiguous() is called on them: "
    "keep one memory format, torch.channels_last for convolutions, through inputs and model"
)
GROWN = (
    "the inputs are larger than before: if that is meant, accept the change; if not, look for what "
    "feeds this operation"
)
CLOCK = (
    "all of it changed alike, as by a clock or by fewer threads: lock the clocks, look for "
    "throttling and for other processes, and compare torch.get_num_threads()"
)

# Calls on smaller inputs are a loop's when there are so many times as many.
MIN_LOOP_RATIO = 3.0

_FLOAT64 = re.compile(r"\b(double|float64|f64)\[")
_READ_BACK = re.compile(
    r"aten::(item|_local_scalar_dense)\b|(Stream|Device)Synchronize|np\.asarray\(jax|copy_to_host"
)
# What a loop that reads values one by one spends most of its time on, when there is no device.
_READ_BACK_LOOP = (OUTSIDE, "aten::select", "aten::slice", "aten::unbind")
_COPIES = ("aten::_to_copy", "aten::copy_")
_COPY = re.compile(r"copy([._]?\d+)?(\.clone)?$|^copy_|_copy_fusion|wrapped_copy")
_DYNAMO = re.compile(r"dynamo_timed|_compile\.compile_inner|TorchDynamo|OutputGraph|Compile(d)?Fx")
_COMPILED_REGION = re.compile(r"Torch-Compiled Region|CompiledFunction|CompiledFxGraph")
_SINGLE_LOADER = re.compile(r"_SingleProcessDataLoaderIter")
_SEVERAL_LOADERS = re.compile(r"_MultiProcessingDataLoaderIter")
_OPTIMIZER = re.compile(r"Optimizer\.step")
_ZERO_GRAD = re.compile(r"Optimizer\.zero_grad|AccumulateGrad")
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
_DISPATCH = re.compile(r"Pjit|_?Function\(|Execute|Dispatch")


@dataclass(frozen=True, slots=True)
class _Look:
    """A change that costs time, and the two profiles around it."""

    change: Change
    base: Profile
    head: Profile

    @property
    def is_more_often(self) -> bool:
        return self.change.head_count > self.change.base_count

    @property
    def told(self) -> tuple[Operation, ...]:
        """The head's operations that advice may be about: the longest of a group of changes."""
        head = self.change.head
        return (longest(head),) if self.change.label and head else head

    def concerns(self, pattern: re.Pattern[str]) -> bool:
        """Tell whether an operation of the head, or what it is part of, is of this kind."""
        return any(pattern.search(_where(operation)) for operation in self.told)

    def calls(self, pattern: re.Pattern[str]) -> tuple[float, float]:
        """Return how often a step of base and one of head call operations of this kind."""
        before, after = (
            sum(one.count for one in side.operations if pattern.search(one.name))
            for side in (self.base, self.head)
        )
        return before, after

    def has_more(self, pattern: re.Pattern[str]) -> bool:
        before, after = self.calls(pattern)
        return after > before


def suggestion(change: Change, base: Profile, head: Profile) -> str:
    """Return what to do about a change that costs time, "" without evidence for a cause."""
    if change.delta_seconds <= 0:
        return ""
    look = _Look(change, base, head)
    return next((text for text, holds in _EVIDENCE if holds(look)), "")


def _where(operation: Operation) -> str:
    return f"{operation.path}/{operation.name}"


def _is_compiling(look: _Look) -> bool:
    names = [operation.name for operation in look.change.head]
    return look.is_more_often and any(name.startswith((COMPILING, TRACING)) for name in names)


def _is_recompiling(look: _Look) -> bool:
    return look.concerns(_DYNAMO) and look.has_more(_DYNAMO)


def _is_fused_attention_lost(look: _Look) -> bool:
    return _concerns_attention(look.change) and _fused_calls(look.head) < _fused_calls(look.base)


def _concerns_attention(change: Change) -> bool:
    return any(
        is_attention_part(operation) or is_fused_attention(operation)
        for operation in (*change.base, *change.head)
    )


def _fused_calls(profile: Profile) -> float:
    return sum(operation.count for operation in profile.operations if is_fused_attention(operation))


def _is_new_float64(look: _Look) -> bool:
    return _has_float64(look.change.head) and not _has_float64(look.change.base)


def _has_float64(operations: Iterable[Operation]) -> bool:
    return any(_FLOAT64.search(operation.shapes) for operation in operations)


def _is_reading_back(look: _Look) -> bool:
    is_around = any(one.name in _READ_BACK_LOOP for one in look.change.head)
    if not (is_around or look.concerns(_READ_BACK)):
        return False
    return _read_backs(look.head) > _read_backs(look.base)


def _read_backs(profile: Profile) -> float:
    return sum(one.count for one in profile.operations if _READ_BACK.search(_where(one)))


def _is_loading_here(look: _Look) -> bool:
    is_here, was_here = (
        any(_SINGLE_LOADER.search(_where(one)) for one in side)
        for side in (look.change.head, look.change.base)
    )
    return is_here and not was_here and _is_named(look.change.base, _SEVERAL_LOADERS)


def _is_input(look: _Look) -> bool:
    return look.change.stage is Stage.INPUT or all(
        one.bucket is Bucket.INPUT for one in look.change.head
    )


def _is_optimizer_taken_apart(look: _Look) -> bool:
    was_fused, is_fused = (
        any(_OPTIMIZER.search(one.path) and is_fused_name(one.name) for one in side.operations)
        for side in (look.base, look.head)
    )
    return look.concerns(_OPTIMIZER) and was_fused and not is_fused


def _is_setting_zero(look: _Look) -> bool:
    return look.concerns(_ZERO_GRAD) and look.has_more(re.compile(r"aten::zero_|_foreach_zero_"))


def _is_recomputing(look: _Look) -> bool:
    return look.is_more_often and look.concerns(_CHECKPOINT)


def _is_one_hot(look: _Look) -> bool:
    return look.has_more(_ONE_HOT) and (
        look.concerns(_ONE_HOT) or look.change.how in {How.NEW, How.REPLACED}
    )


def _is_newly(pattern: re.Pattern[str]) -> Callable[[_Look], bool]:
    """Return a test for operations of a kind that a step calls more often than before."""
    return lambda look: look.concerns(pattern) and look.has_more(pattern)


def _is_covered_less(look: _Look) -> bool:
    before, after = (
        sum(one.seconds for one in side.operations if _COMPILED_REGION.search(one.name))
        for side in (look.base, look.head)
    )
    breaks, now_breaks = look.calls(re.compile(r"Torch-Compiled Region"))
    return look.change.stage is Stage.FUSION and (now_breaks > breaks or after < before)


def _is_unbatched(look: _Look) -> bool:
    before, after = look.calls(_BATCHED)
    is_many = look.change.head_count >= MIN_LOOP_RATIO * max(look.change.base_count, 1.0)
    return is_many and look.concerns(_PRODUCT) and after < before


def _is_called_more(look: _Look) -> bool:
    before, after = ({one.shapes for one in side} for side in (look.change.base, look.change.head))
    return look.change.how is How.COUNT and before == after and not _is_outside(look)


def _is_looping(look: _Look) -> bool:
    if look.change.base_count <= 0 or look.change.how is not How.COUNT:
        return False
    before, after = (
        {one.shapes for one in side if one.shapes} for side in (look.change.base, look.change.head)
    )
    ratio = look.change.head_count / look.change.base_count
    return ratio >= MIN_LOOP_RATIO and bool(after - before)


def _is_eager(look: _Look) -> bool:
    before, after = look.calls(re.compile(r"PjitFunction\(|Function\("))
    is_host = look.concerns(_DISPATCH) or _is_named(look.change.head, re.compile(OUTSIDE_NAME))
    return is_host and after >= MIN_LOOP_RATIO * max(before, 1.0)


def _is_copying(look: _Look) -> bool:
    return look.is_more_often and any(
        one.name in _COPIES or _COPY.search(one.name) for one in look.told
    )


def _is_many_calls(look: _Look) -> bool:
    """Tell whether most of the change is Python that makes calls which were not made before."""
    is_around = look.change.between_seconds > look.change.delta_seconds / 2
    return is_around or (_is_outside(look) and look.change.how is How.COUNT)


def _is_outside(look: _Look) -> bool:
    return any(operation.name == OUTSIDE for operation in look.change.head)


def _is_laid_out_anew(look: _Look) -> bool:
    """Tell whether calls on the same sizes are slower and a contiguous() of those sizes is new."""
    sizes = {one.shapes.partition(" ")[0] for one in look.change.head if one.shapes}
    before, after = (
        sum(one.count for one in side.operations if _is_contiguous(one) and one.shapes in sizes)
        for side in (look.base, look.head)
    )
    return look.change.is_same_work and after > before


def _is_contiguous(operation: Operation) -> bool:
    return operation.name == "aten::contiguous"


def _is_grown(look: _Look) -> bool:
    before = {one.shapes for one in look.change.base if one.shapes}
    after = {one.shapes for one in look.change.head if one.shapes}
    return bool(before) and bool(after) and not before & after and not look.is_more_often


def _is_named(operations: Iterable[Operation], pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(_where(operation)) for operation in operations)


OUTSIDE_NAME = re.escape(OUTSIDE)
# The first whose evidence is there is given: what says most about the code comes first.
_EVIDENCE: tuple[tuple[str, Callable[[_Look], bool]], ...] = (
    (CLOCK, lambda look: look.change.stage is Stage.CLOCK),
    (COMPILE, _is_compiling),
    (RECOMPILE, _is_recompiling),
    (ATTENTION, _is_fused_attention_lost),
    (WORKERS, _is_loading_here),
    (INPUT, _is_input),
    (FUSED_OPTIMIZER, _is_optimizer_taken_apart),
    (RECOMPUTE, _is_recomputing),
    (GRADIENTS, _is_setting_zero),
    (FLOAT64, _is_new_float64),
    (READ_BACK, _is_reading_back),
    (ONE_HOT, _is_one_hot),
    (SORT, _is_newly(_SORT)),
    (CALLBACK, _is_newly(_CALLBACK)),
    (GRAPH_BREAK, _is_covered_less),
    (EAGER, _is_eager),
    (SEQUENTIAL, _is_newly(_WHILE)),
    (GATHER, _is_newly(_GATHER)),
    (MASK, _is_newly(_MASK)),
    (DROPOUT, _is_newly(_DROPOUT)),
    (LOOP, _is_looping),
    (LOOP, _is_unbatched),
    (COPIES, _is_copying),
    (SMALL_CALLS, _is_many_calls),
    (PYTHON, _is_outside),
    (LAYOUT, _is_laid_out_anew),
    (GROWN, _is_grown),
    (MORE_CALLS, _is_called_more),
)
