"""A trace of three steps."""

import pytest

DATALOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@pytest.fixture
def steps(trace):
    """Return a trace of three steps with a loader, a kernel, a collective and a copy in each."""
    for number, begin in ((4, 0), (5, 1000), (6, 2000)):
        trace.step(number, begin, 1000).add(DATALOADER, begin, 100)
        for place, (kernel, at, lasts, stream, category) in enumerate(
            [
                ("volta_sgemm_128x64_nt", 200, 300, 7, "kernel"),
                ("ncclDevKernel_AllReduce", 400, 200, 20, "kernel"),
                ("Memcpy HtoD (Pinned -> Device)", 700, 100, 7, "gpu_memcpy"),
            ]
        ):
            trace.launch(
                "cudaLaunchKernel",
                begin + 110 + 10 * place,
                5,
                kernel=kernel,
                at=begin + at,
                lasts=lasts,
                correlation=10 * number + place,
                stream=stream,
                cat=category,
                bytes=1_000_000,
            )
    return trace
