import pytest

from perfledger_runners.control_groups import GroupMemory, group_hierarchies, group_memories

# Docker on a host with version 2, in a namespace of its own.
CONTAINER = {
    "proc/self/cgroup": "0::/\n",
    "proc/self/mountinfo": (
        "24 1 0:22 / /proc rw - proc proc rw\n"
        "31 24 0:27 / /sys/fs/cgroup ro,nosuid shared:9 master:4 - cgroup2 cgroup rw,nsdelegate\n"
    ),
    "sys/fs/cgroup/memory.max": "4294967296\n",
    "sys/fs/cgroup/memory.current": "1073741824\n",
    "sys/fs/cgroup/memory.stat": "anon 5\nactive_file 4096\ninactive_file 1069547520\n",
}
# Docker on a host with version 1: the host's paths, and only its own part of each hierarchy.
OLD_CONTAINER = {
    "proc/self/cgroup": "9:memory:/docker/4f0c\n3:cpuset:/\n1:name=systemd:/docker/4f0c\n0::/x\n",
    "proc/self/mountinfo": (
        "40 31 0:30 /docker/4f0c /sys/fs/cgroup/systemd ro - cgroup cgroup rw,xattr,name=systemd\n"
        "42 31 0:32 /docker/4f0c /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
    ),
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "2000000000\n",
    "sys/fs/cgroup/memory/memory.stat": "total_inactive_file 1000\ntotal_active_file 500\n",
}
# A job of Slurm on a host with both: limits are in version 1, on the job and above it.
SLURM = {
    "proc/self/cgroup": "8:memory:/slurm/uid_7/job_9/step_0\n0::/system.slice/slurmd.service\n",
    "proc/self/mountinfo": (
        "32 25 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
        "42 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    ),
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "50000000000\n",
    "sys/fs/cgroup/memory/slurm/uid_7/memory.limit_in_bytes": "8000000000\n",
    "sys/fs/cgroup/memory/slurm/uid_7/memory.usage_in_bytes": "7500000000\n",
    "sys/fs/cgroup/memory/slurm/uid_7/job_9/memory.limit_in_bytes": "4000000000\n",
    "sys/fs/cgroup/memory/slurm/uid_7/job_9/memory.usage_in_bytes": "1000000000\n",
    "sys/fs/cgroup/memory/slurm/uid_7/job_9/step_0/memory.limit_in_bytes": "9223372036854771712\n",
}


@pytest.mark.parametrize(
    ("tree", "memories"),
    [
        (CONTAINER, (GroupMemory(4294967296, 1073741824 - 4096 - 1069547520),)),
        (OLD_CONTAINER, (GroupMemory(2147483648, 2000000000 - 1500),)),
        (SLURM, (GroupMemory(4000000000, 1000000000), GroupMemory(8000000000, 7500000000))),
        ({}, ()),
    ],
    ids=["container", "old container", "Slurm", "no groups"],
)
def test_the_memory_of_each_group_with_a_limit_is_known(kernel, tree, memories):
    assert group_memories(kernel(tree)) == memories


def test_a_process_has_its_own_group_and_those_above(kernel):
    hierarchies = {str(each.folders[-1].name): each for each in group_hierarchies(kernel(SLURM))}

    unified, memory = hierarchies["unified"], hierarchies["memory"]
    assert [folder.name for folder in memory.folders] == [
        *("step_0", "job_9", "uid_7", "slurm", "memory")
    ]
    assert (memory.has("memory"), memory.has("cpu"), unified.has("cpu")) == (True, False, True)
    assert unified.folders[0].name == "slurmd.service"


@pytest.mark.parametrize("group", ["/../../host", "/elsewhere/../..", "/docker/4f0c/../../other"])
def test_a_group_outside_of_the_mounted_part_is_that_part(kernel, group):
    tree = OLD_CONTAINER | {"proc/self/cgroup": f"9:memory:{group}\n"}

    (hierarchy,) = group_hierarchies(kernel(tree))

    assert [folder.name for folder in hierarchy.folders] == ["memory"]


@pytest.mark.parametrize(
    ("limit", "used", "available"), [(10, 4, 6), (10, 12, 0), (10, -2, 10), (10, 10, 0)]
)
def test_a_group_has_between_nothing_and_its_limit_left(limit, used, available):
    assert GroupMemory(limit, used).available == available
