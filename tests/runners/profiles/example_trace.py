"""A trace of four training steps on two devices, with every kind of call that torch records."""

from tests.runners.profiles.conftest import AUTOGRAD, MAIN, Trace

HEADER = {
    "deviceProperties": [
        {
            "id": number,
            "name": "NVIDIA A100-SXM4-80GB",
            "totalGlobalMem": 85_052_030_976,
            "computeMajor": 8,
            "computeMinor": 0,
            "numSms": 108,
            "warpSize": 32,
        }
        for number in (0, 1)
    ],
    "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
}
GEMM = {
    "grid": [16, 27, 1],
    "block": [256, 1, 1],
    "registers per thread": 122,
    "shared memory": 32768,
    "est. achieved occupancy %": 37,
}
SMALL = {
    "grid": [52, 1, 1],
    "block": [128, 1, 1],
    "registers per thread": 32,
    "shared memory": 0,
    "est. achieved occupancy %": 12,
}
HALF = "c10::Half"


def training_trace(*, gemm_us=240):
    """Return the trace; its products take so long."""
    trace = Trace()
    trace.header = HEADER
    start = 10_000
    for number in range(4):
        start += _add_step(trace, number, start, gemm_us=gemm_us)
    return trace


def _add_step(trace, number, start, *, gemm_us):
    """Add a step, whose parts take a little longer each time, and return when the next starts."""
    length = 2_000 + 40 * number + 2 * (gemm_us - 240)
    trace.step(number + 5, start, length)
    _add_input(trace, start + 10, 130 + 7 * number)
    for device in (0, 1):
        at = start + 220 + 300 * device
        link = 1_000 * number + 100 * device
        _add_copy(trace, at, device, link, size=1_048_576 + number)
        _add_forward(trace, at + 60, device, link + 10, gemm_us=gemm_us)
        _add_backward(trace, at + 700, device, link + 50, gemm_us=gemm_us + 30 * device)
    _add_optimizer(trace, start + 1_300, 1_000 * number + 500)
    _add_read_back(trace, start + 1_600 + 2 * (gemm_us - 240), 1_000 * number + 600)
    _add_memory(trace, start, number)
    return length + 25


def _add_input(trace, at, length):
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    trace.add(name, at, length, cat="user_annotation")
    trace.add("aten::stack", at + 20, length - 40)
    trace.add("aten::cat", at + 25, length - 60)


def _add_copy(trace, at, device, link, *, size):
    trace.add("aten::to", at, 50)
    trace.add("aten::copy_", at + 5, 40, **_inputs([[64, 4096]], ["float"]))
    trace.add("cudaMemcpyAsync", at + 10, 30, cat="cuda_runtime", correlation=link)
    _on_device(
        trace,
        "Memcpy HtoD (Pageable -> Device)",
        at + 20,
        18,
        device=device,
        correlation=link,
        cat="gpu_memcpy",
        bytes=size,
    )
    trace.add("cudaMemsetAsync", at + 42, 6, cat="cuda_runtime", correlation=link + 1)
    _on_device(
        trace,
        "Memset (Device)",
        at + 45,
        3,
        device=device,
        correlation=link + 1,
        cat="gpu_memset",
        bytes=4096,
    )


def _add_forward(trace, at, device, link, *, gemm_us):
    trace.add("aten::linear", at, 60, **_inputs([[512, 4096], [4096, 4096], [4096]]))
    dims = [[4096], [512, 4096], [4096, 4096]]
    trace.add("aten::addmm", at + 5, 50, **_inputs(dims))
    trace.add("cudaLaunchKernel", at + 20, 12, cat="cuda_runtime", correlation=link)
    _on_device(
        trace,
        "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn",
        at + 40,
        gemm_us,
        device=device,
        correlation=link,
        **GEMM,
    )
    trace.add("aten::softmax", at + 70, 30, **_inputs([[8, 16, 512, 512]]))
    trace.add("aten::_softmax", at + 74, 22, **_inputs([[8, 16, 512, 512]]))
    trace.add("cudaLaunchKernel", at + 80, 9, cat="cuda_runtime", correlation=link + 1)
    _on_device(
        trace,
        "void at::native::vectorized_softmax<float>(float*)",
        at + 45 + gemm_us,
        55,
        device=device,
        correlation=link + 1,
        **SMALL,
    )
    trace.add("aten::dropout", at + 110, 14)
    trace.add("cudaLaunchKernel", at + 113, 5, cat="cuda_runtime", correlation=link + 2)
    _on_device(
        trace,
        "void at::native::fused_dropout_kernel_vec<float>()",
        at + 102 + gemm_us,
        7,
        device=device,
        correlation=link + 2,
        **SMALL,
    )


def _add_backward(trace, at, device, link, *, gemm_us):
    trace.add("autograd::engine::evaluate_function: AddmmBackward0", at, 80, thread=AUTOGRAD)
    trace.add("AddmmBackward0", at + 6, 70, thread=AUTOGRAD)
    trace.add("aten::mm", at + 10, 40, thread=AUTOGRAD, **_inputs([[4096, 512], [512, 4096]]))
    trace.add(
        "cudaLaunchKernel", at + 20, 11, cat="cuda_runtime", thread=AUTOGRAD, correlation=link
    )
    _on_device(
        trace,
        "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_nt",
        at + 35,
        gemm_us // 2,
        device=device,
        correlation=link,
        **GEMM,
    )
    trace.add("nccl:all_reduce", at + 62, 12, cat="user_annotation", thread=AUTOGRAD)
    trace.add(
        "cudaLaunchKernelExC", at + 64, 8, cat="cuda_runtime", thread=AUTOGRAD, correlation=link + 1
    )
    _on_device(
        trace,
        "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        at + 90,
        95 + 20 * (1 - device),
        device=device,
        correlation=link + 1,
        stream=20,
        **{
            "Collective name": "allreduce",
            "In msg nelems": 4_194_304,
            "dtype": "Half",
            "Group size": 8,
        },
    )
    _on_device(
        trace,
        "Memcpy PtoP (Device -> Device)",
        at + 190 + 20 * (1 - device),
        13,
        device=device,
        correlation=link + 2,
        cat="gpu_memcpy",
        stream=20,
        bytes=262_144,
    )


def _add_optimizer(trace, at, link):
    trace.add("Optimizer.step#AdamW.step", at, 180, cat="user_annotation")
    for number in range(6):
        begin = at + 10 + 25 * number
        trace.add("aten::_foreach_add_", begin, 18, **_inputs([[4096, 4096]], ["float"]))
        trace.add("cudaLaunchKernel", begin + 4, 7, cat="cuda_runtime", correlation=link + number)
        _on_device(
            trace,
            "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<2>>()",
            begin + 14,
            6 + number,
            device=number % 2,
            correlation=link + number,
            **SMALL,
        )


def _add_read_back(trace, at, link):
    trace.add("aten::item", at, 150)
    trace.add("aten::_local_scalar_dense", at + 4, 140, **_inputs([[]], ["float"]))
    trace.add("cudaMemcpyAsync", at + 8, 10, cat="cuda_runtime", correlation=link)
    _on_device(
        trace,
        "Memcpy DtoH (Device -> Pageable)",
        at + 100,
        2,
        correlation=link,
        cat="gpu_memcpy",
        bytes=4,
    )
    trace.add("cudaStreamSynchronize", at + 20, 110, cat="cuda_runtime", correlation=link + 1)


def _add_memory(trace, at, number):
    for place, allocated in enumerate((3, 7, 5)):
        for device in (0, 1):
            trace.events.append(
                {
                    "ph": "i",
                    "cat": "cpu_instant_event",
                    "name": "[memory]",
                    "pid": MAIN[0],
                    "tid": MAIN[1],
                    "ts": at + 300 * place + device - 5,
                    "args": {
                        "Total Allocated": (allocated + number) * 2**28 + device,
                        "Total Reserved": 9 * 2**28 + device,
                        "Bytes": 2**20,
                        "Device Type": 1,
                        "Device Id": device,
                    },
                }
            )


def _on_device(trace, name, at, length, *, correlation, device=0, stream=7, cat="kernel", **args):
    trace.add(
        name,
        at,
        length,
        cat=cat,
        thread=(device, f"stream {stream}"),
        device=device,
        stream=stream,
        correlation=correlation,
        **args,
    )


def _inputs(dims, types=None):
    return {"Input Dims": dims, "Input type": types or [HALF] * len(dims)}
