"""Examples of what makes the peak of memory grow, and of what compilers say and cost."""

from dataclasses import replace

from perfledger.compile_record import CompilationKind, CompilePhase
from perfledger.profile import CallingLine, Compilation
from perfledger_profiles.diff.cause import (
    CompileCause,
    CompileExplanation,
    CompilePhaseChange,
    MemoryCause,
    MemoryExplanation,
)


def memory_explanation():
    """What the unfused attention keeps: its scores, and what their softmax returns."""
    line = CallingLine(path="models/gpt.py", line=88, calls=12.0, is_changed=True)
    return MemoryExplanation(
        base_bytes=31.2 * 2**30,
        head_bytes=33.9 * 2**30,
        base_held_bytes=30.8 * 2**30,
        head_held_bytes=33.4 * 2**30,
        causes=(
            MemoryCause(
                name="aten::_softmax",
                base_tensor="",
                head_tensor="bfloat16[16,16,1024,1024]",
                base_bytes=0.0,
                head_bytes=1.5 * 2**30,
                base_count=0,
                head_count=3,
                lines=(line,),
            ),
            MemoryCause(
                name="aten::bmm",
                base_tensor="bfloat16[256,1024,64]",
                head_tensor="bfloat16[256,1024,1024]",
                base_bytes=0.25 * 2**30,
                head_bytes=1.25 * 2**30,
                base_count=8,
                head_count=10,
                lines=(replace(line, line=86, is_changed=False, is_backward=True),),
            ),
        ),
        rest_bytes=0.2 * 2**30,
        is_attributable=True,
    )


def compilations():
    """What head's compiler says of a print in the compiled model."""
    return (
        Compilation(
            kind=CompilationKind.GRAPH_BREAK,
            function="",
            reason="Dynamo does not know how to trace builtin operator `print`",
            count=1,
            lines=(CallingLine(path="models/gpt.py", line=90, calls=1.0, is_changed=True),),
        ),
        Compilation(
            kind=CompilationKind.RECOMPILATION,
            function="forward",
            reason="tensor 'tokens' size mismatch at index 1. expected 1024, actual 1025",
            count=7,
        ),
    )


def compile_explanation():
    """What a process compiles where the last batch is smaller than the others."""
    seconds = {
        CompilePhase.TRACING: (0.25, 0.5),
        CompilePhase.LOWERING: (0.125, 0.125),
        CompilePhase.BACKEND: (1.0, 4.0),
    }
    return CompileExplanation(
        base_seconds=1.375,
        head_seconds=4.625,
        phases=tuple(
            CompilePhaseChange(phase=phase, base_seconds=before, head_seconds=after)
            for phase, (before, after) in seconds.items()
        ),
        causes=(
            CompileCause(
                name="train_step",
                base_count=1,
                head_count=4,
                base_seconds=1.125,
                head_seconds=4.375,
                reason="at x, now f32[33,128] and before f32[32,128]",
                lines=(CallingLine(path="models/gpt.py", line=90, calls=3.0, is_changed=True),),
            ),
        ),
    )
