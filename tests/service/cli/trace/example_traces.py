"""Traces of a few steps, made up as torch.profiler writes them."""

import json

STEP_US = 1000


def a_trace(*, copies_us=100, steps=4):
    """Return a Chrome trace as torch.profiler writes them, made up: steps of two operations."""
    events = []
    for number in range(steps):
        start = number * (STEP_US + copies_us)
        for name, category, offset, length in (
            (f"ProfilerStep#{number}", "user_annotation", 0, STEP_US + copies_us),
            ("aten::mm", "cpu_op", 100, 700),
            ("aten::copy_", "cpu_op", 850, copies_us),
        ):
            events.append(
                {
                    "ph": "X",
                    "cat": category,
                    "name": name,
                    "pid": 1,
                    "tid": 1,
                    "ts": start + offset,
                    "dur": length,
                }
            )
    return json.dumps({"schemaVersion": 1, "traceEvents": events})
