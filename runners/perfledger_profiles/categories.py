"""Turn the category of a Chrome trace's event into what sort of call it is."""

from perfledger_profiles.trace import Kind

# Categories of torch 1.13 to 2.13 on CUDA, ROCm, XPU, MTIA and HPU, then those of 1.8 to 1.12.
# What is not here takes no time of its own: flow arrows, Python's frames, the profiler's overhead.
KINDS = {
    "kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.COPY,
    "gpu_memset": Kind.MEMSET,
    "cuda_sync": Kind.DEVICE_WAIT,
    "xpu_sync": Kind.DEVICE_WAIT,
    "gpu_user_annotation": Kind.DEVICE_ANNOTATION,
    "cpu_op": Kind.OPERATOR,
    "user_annotation": Kind.ANNOTATION,
    "cuda_runtime": Kind.RUNTIME,
    "cuda_driver": Kind.RUNTIME,
    "hip_runtime": Kind.RUNTIME,
    "xpu_runtime": Kind.RUNTIME,
    "xpu_driver": Kind.RUNTIME,
    "mtia_runtime": Kind.RUNTIME,
    "mtia_ccp_events": Kind.KERNEL,
    "glow_runtime": Kind.RUNTIME,
    "privateuse1_runtime": Kind.RUNTIME,
    "privateuse1_driver": Kind.RUNTIME,
    "hpu_op": Kind.KERNEL,
    "Kernel": Kind.KERNEL,
    "Memcpy": Kind.COPY,
    "Memset": Kind.MEMSET,
    "Operator": Kind.OPERATOR,
    "Runtime": Kind.RUNTIME,
}
# Those of memory's instants; an old version gives them none.
INSTANTS = ("cpu_instant_event", "")
UNUSED = len(Kind)
INSTANT = UNUSED + 1

# A Kind as a plain number, or INSTANT; all other categories are UNUSED.
CODES = {**{name: int(kind) for name, kind in KINDS.items()}, **dict.fromkeys(INSTANTS, INSTANT)}
