"""Holds host advice for recordings of programs in any language, C++ as well as Python."""

from perfledger_profiles.bottleneck.advice import Advice

BESIDE_COMPUTE = "if it overlaps with all of the compute"
HOST_CODE = Advice(
    "find out which host code runs between its calls (NVTX or ROCTx ranges, or a sampling "
    "profiler), then move it out of the step or overlap it with work on the device",
    "if none of it stays in the step",
)
FEWER_LAUNCHES = Advice(
    "reduce launches: CUDA or HIP graphs (in PyTorch torch.compile(mode='reduce-overhead')), and "
    "small operations batched into larger ones",
    "if the host's work around launches takes no time",
)
FEWER_WAITS = Advice(
    "the host waits for the device in the step (synchronization, reading results; in PyTorch "
    ".item(), .cpu(), nonzero): keep values on the device and read them only every N steps",
    "if the host never waits",
)
ASYNCHRONOUS_COPIES = Advice(
    "the host waits inside copies: pin the host's memory (cudaMallocHost or hipHostMalloc, in "
    "PyTorch pin_memory=True), copy asynchronously (cudaMemcpyAsync or hipMemcpyAsync, "
    "non_blocking=True), and read results only every N steps",
    "if the host waits for no copy",
)
COPY_LESS = Advice(
    "move less data to the device, whose compute is too short to hide these copies: keep what is "
    "used again in its memory, and copy the rest in a narrower type",
    "if half of the bytes take half the time",
    saved=0.5,
)
PINNED_MEMORY = Advice(
    "copy from pinned memory, so that copies are several times as fast and overlap compute: "
    "cudaMallocHost and cudaMemcpyAsync, hipHostMalloc and hipMemcpyAsync, or in PyTorch "
    "pin_memory=True and .to(device, non_blocking=True)",
    f"{BESIDE_COMPUTE}, at its current rate",
    is_beside_compute=True,
)
