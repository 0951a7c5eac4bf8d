import math

import pytest

from perfledger_runners.machine.cgroup_limits import CgroupLimits, read_limits

# As a container on a host with the unified hierarchy has them.
V2 = {
    "proc/self/cgroup": "0::/\n",
    "proc/self/mountinfo": (
        "24 1 0:22 / /proc rw - proc proc rw\n"
        "31 24 0:27 / /sys/fs/cgroup ro,nosuid shared:9 master:4 - cgroup2 cgroup rw,nsdelegate\n"
    ),
    "sys/fs/cgroup/cgroup.procs": "1\n",
}
# As Docker has them on a host with version 1, without a namespace of its own.
V1 = {
    "proc/self/cgroup": "3:cpuset:/\n2:cpu,cpuacct:/docker/4f0c\n0::/docker/4f0c\n",
    "proc/self/mountinfo": (
        "40 31 0:30 /docker/4f0c /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
        "41 31 0:31 /docker/4f0c /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n"
    ),
    "sys/fs/cgroup/cpu,cpuacct/cgroup.procs": "1\n",
    "sys/fs/cgroup/unified/cgroup.procs": "1\n",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
}


def test_a_container_of_version_2_has_its_quota_and_its_throttling(kernel):
    files = kernel(
        V2
        | {
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/cpu.stat": "usage_usec 9\nnr_periods 200\nnr_throttled 50\n",
            "sys/fs/cgroup/memory.pressure": "some avg10=0.00\n",
        }
    )

    assert read_limits(files) == CgroupLimits(
        quota_cores=1.5,
        throttled_share=0.25,
        memory_pressure=files.sys / "fs/cgroup/memory.pressure",
    )


def test_a_container_of_version_1_has_its_quota(kernel):
    files = kernel(V1 | {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000\n"})

    assert read_limits(files) == CgroupLimits(quota_cores=0.5)


@pytest.mark.parametrize(
    ("tree", "name", "text"),
    [
        (V2, "cpu.max", "max 100000\n"),
        (V2, "other", ""),
        (V1, "cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
    ],
)
def test_no_quota_is_infinite(kernel, tree, name, text):
    limits = read_limits(kernel(tree | {f"sys/fs/cgroup/{name}": text}))

    assert limits.quota_cores == math.inf
    assert limits.throttled_share is None


def test_the_narrowest_of_the_groups_above_counts(kernel):
    files = kernel(
        V2
        | {
            "proc/self/cgroup": "0::/jobs/seven\n",
            "sys/fs/cgroup/jobs/seven/cpu.max": "max 100000\n",
            "sys/fs/cgroup/jobs/cpu.max": "200000 100000\n",
            "sys/fs/cgroup/cpu.max": "400000 100000\n",
        }
    )

    assert read_limits(files).quota_cores == 2.0


def test_a_path_that_leads_out_of_the_mount_is_its_root(kernel):
    files = kernel(
        V2
        | {
            "proc/self/cgroup": "0::/../../host\n",
            "sys/fs/cgroup/cpu.max": "100000 100000\n",
            "sys/host/cpu.max": "1 100000\n",
        }
    )

    assert read_limits(files).quota_cores == 1.0


def test_no_group_is_unknown_and_not_without_a_quota(kernel):
    assert read_limits(kernel({})) == CgroupLimits()
    without_the_files = {name: text for name, text in V2.items() if name.startswith("proc")}
    assert read_limits(kernel(without_the_files)) == CgroupLimits()


def test_nonsense_is_unknown(hostile):
    assert read_limits(hostile) == CgroupLimits()


def test_this_computer_has_limits_or_tells_none():
    cores = read_limits().quota_cores

    assert cores is None or cores > 0


@pytest.mark.parametrize(
    ("counts", "share"),
    [((4, 1), 0.25), ((1, 0), 0.0), ((4, 4), 1.0), ((4, 5), 1.0), ((0, 0), None)],
)
def test_a_share_of_throttled_periods_is_at_most_all_of_them(kernel, counts, share):
    """The two counters are not read at one moment."""
    periods, throttled = counts
    files = kernel(
        V2
        | {
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/cpu.stat": f"nr_periods {periods}\nnr_throttled {throttled}\n",
        }
    )

    assert read_limits(files).throttled_share == share


STATISTICS = "active_file 1\ntotal_inactive_file 200\ntotal_active_file 100\n"


def test_the_memory_that_a_group_may_still_use_is_known_without_the_caches_of_files(kernel):
    of_v2 = {
        "memory.max": "1000\n",
        "memory.current": "900\n",
        "memory.stat": "inactive_file 100\nactive_file 100\n",
    }
    of_v1 = {
        "memory.limit_in_bytes": "1000\n",
        "memory.usage_in_bytes": "900\n",
        "memory.stat": STATISTICS,
    }
    mount = "42 31 0:32 /docker/4f0c /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
    groups = V1 | {
        "proc/self/cgroup": f"4:memory:/docker/4f0c\n{V1['proc/self/cgroup']}",
        "proc/self/mountinfo": mount + V1["proc/self/mountinfo"],
    }

    second = kernel(V2 | {f"sys/fs/cgroup/{name}": text for name, text in of_v2.items()})
    assert read_limits(second).free_memory_share == pytest.approx(0.3)
    first = kernel(groups | {f"sys/fs/cgroup/memory/{name}": text for name, text in of_v1.items()})
    assert read_limits(first).free_memory_share == pytest.approx(0.4)


@pytest.mark.parametrize(
    "files",
    [
        {"memory.max": "max\n", "memory.current": "900\n"},
        {"memory.limit_in_bytes": "9223372036854771712\n", "memory.usage_in_bytes": "900\n"},
        {"memory.max": "1000\n"},
        {"memory.max": "0\n", "memory.current": "0\n"},
    ],
)
def test_without_a_limit_on_memory_the_hosts_is_what_is_free(kernel, files):
    limits = read_limits(kernel(V2 | {f"sys/fs/cgroup/{name}": t for name, t in files.items()}))

    assert limits.free_memory_share is None
