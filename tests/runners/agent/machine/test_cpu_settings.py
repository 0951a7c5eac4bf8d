import pytest

from perfledger_runners.machine.cpu_settings import CpuSettings, read_cpu_settings

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def test_a_server_with_two_sockets_and_hardware_threads(kernel):
    threads = {0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}
    files = kernel(
        {f"{CPU}/cpu{core}/topology/core_cpus_list": text for core, text in threads.items()}
        | {f"{CPU}/cpu{core}/cpufreq/scaling_governor": "schedutil\n" for core in (0, 1, 4)}
        | {f"{CPU}/cpu5/cpufreq/scaling_governor": "performance\n"}
        | {
            f"{CPU}/isolated": "6-7\n",
            f"{CPU}/cpufreq/boost": "1\n",
            f"{NODE}/node0/cpulist": "0-1,4-5\n",
            f"{NODE}/node1/cpulist": "2-3,6-7\n",
        }
    )

    assert read_cpu_settings((0, 1, 4, 5), files) == CpuSettings(
        governors=frozenset({"schedutil", "performance"}),
        has_turbo=True,
        physical_cores=(frozenset({0, 4}), frozenset({1, 5})),
        nodes=(frozenset({0, 1, 4, 5}),),
        isolated=frozenset({6, 7}),
    )


@pytest.mark.parametrize(
    ("name", "text", "has_turbo"),
    [
        ("intel_pstate/no_turbo", "1\n", False),
        ("intel_pstate/no_turbo", "0\n", True),
        ("cpufreq/boost", "0\n", False),
        ("cpufreq/boost", "unsupported\n", None),
    ],
)
def test_turbo_is_on_off_or_unknown(kernel, name, text, has_turbo):
    assert read_cpu_settings((0,), kernel({f"{CPU}/{name}": text})).has_turbo is has_turbo


def test_an_older_kernel_has_another_name_for_the_threads_of_a_core(kernel):
    files = kernel({f"{CPU}/cpu2/topology/thread_siblings_list": "2-3\n"})

    assert read_cpu_settings((2,), files).physical_cores == (frozenset({2, 3}),)


def test_threads_are_unknown_if_one_core_does_not_tell(kernel):
    files = kernel({f"{CPU}/cpu0/topology/core_cpus_list": "0\n"})

    assert read_cpu_settings((0, 1), files).physical_cores == ()


def test_no_isolated_core_is_not_unknown(kernel):
    assert read_cpu_settings((0,), kernel({f"{CPU}/isolated": "\n"})).isolated == frozenset()


def test_a_machine_that_tells_nothing_is_unknown(kernel):
    assert read_cpu_settings((0, 1), kernel({})) == CpuSettings()


def test_nonsense_is_no_setting(hostile):
    settings = read_cpu_settings((0,), hostile)

    assert (settings.has_turbo, settings.physical_cores, settings.nodes) == (None, (), ())
    assert all(len(governor) <= 40 for governor in settings.governors)


def test_this_computer_can_be_read():
    assert len(read_cpu_settings((0,)).nodes) <= 1
