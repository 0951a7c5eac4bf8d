"""Damaged trees of the kernel's files, written below a temporary folder."""

import pytest

# No file below /proc or /sys may stop a check, whatever it holds.
HOSTILE = {
    "empty": b"",
    "not UTF-8": b"\xff\xfe\x00cpu0 \xff some avg10=\xff\n" * 40,
    "huge": b"9" * 2**21,
    "negative": b"cpu0 -1 -1 -1 -1 -1 -1 -1 -1\nMemTotal: -5 kB\nsome avg10=-3\n-1 -1\n",
    "all cores": b"0-4294967295",
    "half a line": b"41 (a",
    "columns": b":::\n - - - \n1:cpu\n0::/../../..\n1 2 3 / /sys - cgroup2 x y\n",
    "infinite": b"some avg10=inf\nnan nan\nmax max\n",
}


@pytest.fixture(params=[pytest.param(text, id=name) for name, text in HOSTILE.items()])
def hostile(request, kernel):
    """Return roots of which every file that is read holds nonsense."""
    names = (
        "proc/stat",
        "proc/meminfo",
        "proc/pressure/memory",
        "proc/self/cgroup",
        "proc/self/mountinfo",
        "proc/41/stat",
        "proc/99999999999999999999999/stat",
        "sys/fs/cgroup/cpu.max",
        "sys/fs/cgroup/cpu.stat",
        "sys/fs/cgroup/memory.pressure",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
        "sys/devices/system/cpu/intel_pstate/no_turbo",
        "sys/devices/system/cpu/isolated",
        "sys/devices/system/node/node0/cpulist",
        "sys/bus/pci/devices/0000:65:00.0/local_cpulist",
    )
    return kernel(dict.fromkeys(names, request.param))
