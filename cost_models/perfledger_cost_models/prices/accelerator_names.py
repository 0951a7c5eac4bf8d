"""Maps the names that devices report to the accelerator names of the price sheets."""

# As nvidia-smi, rocm-smi or JAX's device_kind print it, without a leading "NVIDIA ", in lower case
# → the price sheet's name and the nominal memory in GB. Other names are never guessed.
ACCELERATORS = {
    "tesla v100-sxm2-16gb": ("V100-16GB", 16),
    "tesla v100-sxm2-32gb": ("V100-32GB", 32),
    "tesla t4": ("T4", 16),
    "a10": ("A10", 24),
    "a10g": ("A10G", 24),
    "a100-sxm4-40gb": ("A100-40GB", 40),
    "a100-pg509-200": ("A100-40GB", 40),  # the SXM board of 40 GB, by its part number
    "a100-sxm4-80gb": ("A100-80GB", 80),
    "a100-sxm-80gb": ("A100-80GB", 80),
    "a100 80gb pcie": ("A100-80GB-PCIe", 80),
    "l4": ("L4", 24),
    "l40s": ("L40S", 48),
    "h100 80gb hbm3": ("H100-80GB", 80),
    "h100 sxm5 80gb": ("H100-80GB", 80),
    "h100 pcie": ("H100-80GB-PCIe", 80),
    "h100 nvl": ("H100-NVL-94GB", 94),
    "h200": ("H200-141GB", 141),
    "b200": ("B200", 180),
    "gb200": ("GB200", 186),
    "rtx pro 6000 blackwell server edition": ("RTX-PRO-6000", 96),
    "amd instinct mi300x": ("MI300X", 192),
    "tpu v4": ("TPU-v4", 32),
    "tpu v5 lite": ("TPU-v5e", 16),
    "tpu v5e": ("TPU-v5e", 16),
    "tpu v5": ("TPU-v5p", 95),
    "tpu v5p": ("TPU-v5p", 95),
    "tpu v6 lite": ("TPU-v6e", 32),
    "tpu v6e": ("TPU-v6e", 32),
}
MEMORY_GB = dict(ACCELERATORS.values())  # by the price sheet's name
# Least and most reported memory, relative to the nominal size. Devices report less than the nominal
# size (ECC, reserves) or more (GiB sold as GB), and JAX may report its allocator's limit of three
# quarters. The largest part of a GPU (MIG) has a half.
MEMORY_RATIO = (0.7, 1.3)
BYTES_PER_GB = 1_000_000_000


def accelerator_of(model: str, memory_bytes: int | None) -> str | None:
    """Return the price sheet's name of a device that reports itself as `model`.

    None for an unknown name, and for a device without the whole accelerator's memory (a MIG part),
    which is slower than the accelerator that the price is for.
    """
    entry = ACCELERATORS.get(model.strip().casefold().removeprefix("nvidia "))
    if entry is None:
        return None
    name, memory_gb = entry
    least, most = MEMORY_RATIO
    if memory_bytes is None or least <= memory_bytes / (memory_gb * BYTES_PER_GB) <= most:
        return name
    return None


def nominal_bytes(model: str) -> float | None:
    """Return the nominal memory of a device of this name; None if unknown."""
    entry = ACCELERATORS.get(model.strip().casefold().removeprefix("nvidia "))
    return None if entry is None else float(entry[1] * BYTES_PER_GB)
