"""The share of a GPU that a MIG profile such as "3g.40gb" takes from other jobs.

NVIDIA's MIG user guide, https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ ("Supported MIG
Profiles"): a GPU is divided into seven slices of compute and eight of memory. A profile takes the
larger of its two shares, as nothing else fits beside it there: 3g has three of seven compute slices
and four of eight memory slices, so that two of them fill a GPU.
"""

import re

from perfledger_cost_models.prices.accelerator_names import BYTES_PER_GB

COMPUTE_SLICES, MEMORY_SLICES = 7, 8
WHOLE_GPU_MILLI = 1000
# Memory slices of a profile, by its compute slices.
_MEMORY_OF = {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}
# The thousandths of a GPU by compute slices, for GPUs whose memory is not known.
MIG_PARTS = {
    compute: int(WHOLE_GPU_MILLI * max(compute / COMPUTE_SLICES, memory / MEMORY_SLICES))
    for compute, memory in _MEMORY_OF.items()
}
# Memory in GB of the GPU, by profiles that no other GPU has: those of A30, and those of A100, H100,
# GH200, H200, B200 and B300 with one compute slice and two memory slices. "1g.10gb" is both such a
# profile of A100-40GB and the usual one of A100-80GB, so it is not among them.
_MEMORY_GB = {
    **dict.fromkeys(("1g.6gb", "2g.12gb", "4g.24gb"), 24.0),
    "1g.20gb": 80.0,
    "1g.24gb": 96.0,
    "1g.35gb": 141.0,
    "1g.36gb": 144.0,
    "1g.45gb": 180.0,
    "1g.67gb": 269.0,
}
# "3g.40gb", "a100_3g.20gb" of Slurm, "nvidia_com_mig_3g_40gb" of Kubernetes, "1g.6gb+me".
_PROFILE = re.compile(r"(?:^|[_ ])([1-7])g[._](\d{1,4})gb(?![0-9a-z])")


def mig_share(text: str, *, gpu_bytes: float | None = None) -> float | None:
    """Return the share of a GPU that the profile in a text takes; None without a profile.

    `gpu_bytes` is the nominal memory of the whole GPU, if known: it distinguishes profiles of the
    same name. A profile that no GPU has counts as a whole GPU.
    """
    profile = _PROFILE.search(text)
    if profile is None:
        return None
    compute, gigabytes = int(profile[1]), int(profile[2])
    if compute not in _MEMORY_OF:
        return 1.0
    total = gpu_bytes / BYTES_PER_GB if gpu_bytes else _MEMORY_GB.get(f"{compute}g.{gigabytes}gb")
    memory = round(MEMORY_SLICES * gigabytes / total) if total else _MEMORY_OF[compute]
    return min(1.0, max(compute / COMPUTE_SLICES, memory / MEMORY_SLICES))


def mig_milli(text: str) -> int:
    """Return the thousandths of a GPU that the profile in a text takes; all of one without it."""
    share = mig_share(text)
    return WHOLE_GPU_MILLI if share is None else int(WHOLE_GPU_MILLI * share)
