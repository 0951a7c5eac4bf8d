"""Examples of what makes the peak of memory grow, and of what compilers say."""

from dataclasses import replace

from perfledger.profile import CallingLine, Compilation, CompilationKind
from perfledger_profiles.diff.cause import MemoryCause, MemoryExplanation


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
