"""Maps the categories of Chrome trace events to kinds of calls."""

from perfledger_profiles.timeline.trace import CallKind

# Categories of torch 1.13 to 2.13 on CUDA, ROCm, XPU, MTIA and HPU, then those of 1.8 to 1.12.
# Others take no time of their own: flow arrows, Python frames, the profiler's overhead.
KINDS = {
    "kernel": CallKind.KERNEL,
    "gpu_memcpy": CallKind.COPY,
    "gpu_memset": CallKind.MEMSET,
    "cuda_sync": CallKind.DEVICE_WAIT,
    "xpu_sync": CallKind.DEVICE_WAIT,
    "gpu_user_annotation": CallKind.DEVICE_ANNOTATION,
    "cpu_op": CallKind.OPERATOR,
    "user_annotation": CallKind.ANNOTATION,
    "cuda_runtime": CallKind.RUNTIME,
    "cuda_driver": CallKind.RUNTIME,
    "hip_runtime": CallKind.RUNTIME,
    "xpu_runtime": CallKind.RUNTIME,
    "xpu_driver": CallKind.RUNTIME,
    "mtia_runtime": CallKind.RUNTIME,
    "mtia_ccp_events": CallKind.KERNEL,
    "glow_runtime": CallKind.RUNTIME,
    "privateuse1_runtime": CallKind.RUNTIME,
    "privateuse1_driver": CallKind.RUNTIME,
    "hpu_op": CallKind.KERNEL,
    "Kernel": CallKind.KERNEL,
    "Memcpy": CallKind.COPY,
    "Memset": CallKind.MEMSET,
    "Operator": CallKind.OPERATOR,
    "Runtime": CallKind.RUNTIME,
}
# Categories of memory events; an old version gives them none.
INSTANTS = ("cpu_instant_event", "")
UNUSED = len(CallKind)
INSTANT = UNUSED + 1

# A CallKind as a number, or INSTANT; all other categories are UNUSED.
CODES = {**{name: int(kind) for name, kind in KINDS.items()}, **dict.fromkeys(INSTANTS, INSTANT)}
