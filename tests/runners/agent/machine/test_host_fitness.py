import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.records import FindingLevel
from perfledger_runners.machine.cgroup_limits import CgroupLimits
from perfledger_runners.machine.core_speed import CoreSpeed
from perfledger_runners.machine.cpu_settings import CpuSettings
from perfledger_runners.machine.host_fitness import (
    MAX_WORDS,
    finding,
    host_findings,
    other_programs,
    quiet_cores,
)
from perfledger_runners.machine.host_load import ForeignProgram, HostLoad
from perfledger_runners.machine.memory_state import MemoryState

QUIET = HostLoad(
    usable=frozenset(range(4)),
    foreign_cores=0.04,
    stolen_share=0.0,
    queued_per_core=0.1,
    busy_shares=dict.fromkeys(range(4), 0.01),
)
UNKNOWN = HostLoad(usable=frozenset({0}), busy_shares={})
METAL = CpuSettings(
    governors=frozenset({"performance"}),
    has_turbo=False,
    physical_cores=tuple(frozenset({core}) for core in range(4)),
    nodes=(frozenset(range(4)),),
    isolated=frozenset(),
)
FREE = CgroupLimits(quota_cores=math.inf)
STEADY = CoreSpeed(1e-3, 1.01e-3)
MEMORY = MemoryState(available_share=0.5, stalled_share=0.0)


def findings_by_name(load=QUIET, settings=METAL, limits=FREE, memory=MEMORY, speed=STEADY):
    return {each.name: each for each in host_findings(load, settings, limits, memory, speed)}


def test_a_tuned_and_quiet_machine_is_fine_in_everything():
    assert {each.level for each in findings_by_name().values()} == {FindingLevel.FINE}
    assert {each.advice for each in findings_by_name().values()} == {""}


def test_a_machine_that_tells_nothing_is_unknown_in_everything():
    findings = findings_by_name(UNKNOWN, CpuSettings(), CgroupLimits(), MemoryState(), None)

    assert {each.level for each in findings.values()} == {FindingLevel.UNKNOWN}


@pytest.mark.parametrize(
    ("cores", "queued", "level"),
    [
        (0.19, 0.4, "fine"),
        (0.2, 0.4, "noisy"),
        (0.99, 0.4, "noisy"),
        (1.0, 0.4, "busy"),
        (0.0, 0.5, "busy"),
        (4.0, None, "busy"),
        (0.0, None, "fine"),
        (None, 0.0, "unknown"),
        (None, None, "unknown"),
    ],
)
def test_a_quarter_of_the_cores_or_half_a_task_for_each_is_busy(cores, queued, level):
    load = replace(QUIET, foreign_cores=cores, queued_per_core=queued)

    assert other_programs(load, METAL).level == level


def test_the_programs_are_named_and_the_idle_cores_are_where_to_go():
    load = replace(
        QUIET,
        foreign_cores=2.1,
        queued_per_core=0.75,
        busy_shares={0: 1.0, 1: 1.0, 2: 0.02, 3: 0.01},
        programs=(ForeignProgram("cc1", 1.0), ForeignProgram("ld", 0.7)),
        hidden_cores=0.4,
    )

    findings_of_host = findings_by_name(load)["other programs"]

    assert findings_of_host.detail == (
        "they use 2.1 of 4 usable cores (cc1 1.0, ld 0.7, not visible from here 0.4); "
        "0.8 of their tasks per core run or wait"
    )
    assert findings_of_host.advice == (
        "stop the other programs, or pin to cores 2-3: taskset -c 2-3 perfledger check"
    )


def test_programs_may_run_on_cores_that_the_check_does_not_use():
    programs = (ForeignProgram("cc1", 6.0),)

    findings_of_host = findings_by_name(
        replace(QUIET, foreign_cores=2.0, programs=programs, has_other_cores=True)
    )

    assert (
        "they use 2.0 of 4 usable cores (on all cores: cc1 6.0)"
        in findings_of_host["other programs"].detail
    )


def test_programs_that_no_one_sees_are_said_to_be_there():
    load = replace(
        QUIET, foreign_cores=4.0, hidden_cores=4.0, busy_shares=dict.fromkeys(range(4), 1.0)
    )

    findings_of_host = findings_by_name(load)["other programs"]

    assert "(not visible from here)" in findings_of_host.detail
    assert findings_of_host.advice == "stop the other programs, or use a dedicated machine"


def test_a_quiet_core_has_no_busy_sibling_and_its_second_thread_is_left_free():
    load = replace(
        QUIET, usable=frozenset(range(8)), busy_shares={0: 0.9} | dict.fromkeys(range(1, 8), 0.0)
    )
    settings = replace(
        METAL,
        physical_cores=tuple(frozenset({core, core + 4}) for core in range(4)),
        nodes=(frozenset({0, 1, 4, 5}), frozenset({2, 3, 6, 7})),
    )

    assert quiet_cores(load, settings) == {2, 3}
    assert quiet_cores(load, CpuSettings()) == set(range(1, 8))


def test_without_a_quiet_core_or_with_nothing_but_quiet_ones_there_is_none_to_choose():
    assert quiet_cores(QUIET, METAL) == frozenset()
    assert (
        quiet_cores(replace(QUIET, busy_shares=dict.fromkeys(range(4), 1.0)), METAL) == frozenset()
    )
    assert quiet_cores(UNKNOWN, METAL) == frozenset()


@pytest.mark.parametrize(("share", "level"), [(0.009, "fine"), (0.01, "noisy"), (0.1, "busy")])
def test_time_stolen_by_other_machines(share, level):
    assert findings_by_name(replace(QUIET, stolen_share=share))["stolen time"].level == level


@pytest.mark.parametrize(
    ("high_s", "level"), [(4.19e-3, "fine"), (4.21e-3, "noisy"), (5e-3, "busy")]
)
def test_cores_that_do_not_keep_their_speed(high_s, level):
    assert findings_by_name(speed=CoreSpeed(4e-3, high_s))["core speed"].level == level


def test_how_uneven_the_cores_are_is_said_with_what_may_cause_it():
    uneven = findings_by_name(speed=CoreSpeed(0.0041, 0.0069))["core speed"]
    slightly = findings_by_name(speed=CoreSpeed(0.001067, 0.001134))["core speed"]

    assert uneven.detail.startswith(
        "the same work takes 4.1 to 6.9 ms of processor time, 1.68 times"
    )
    assert slightly.detail.startswith(
        "the same work takes 1.07 to 1.13 ms of processor time, 1.06 times"
    )
    assert "dedicated host" in uneven.advice


@pytest.mark.parametrize(("cores", "level"), [(4.0, "fine"), (3.9, "noisy")])
def test_a_quota_below_the_usable_cores_makes_steps_wait(cores, level):
    findings_of_host = findings_by_name(
        limits=CgroupLimits(quota_cores=cores, throttled_share=0.25)
    )["CPU quota"]

    assert findings_of_host.level == level
    assert findings_of_host.detail == (
        f"{cores:g} cores' worth of time on 4 usable cores; processes waited for more in 25 % of "
        "its periods"
    )


@pytest.mark.parametrize(
    ("available", "stalled", "level"),
    [
        (0.1, 0.009, "fine"),
        (0.09, None, "noisy"),
        (None, 0.01, "noisy"),
        (0.09, 0.1, "busy"),
        (0.5, None, "fine"),
    ],
)
def test_memory_is_scarce_when_little_is_free_or_tasks_wait_for_it(available, stalled, level):
    memory = MemoryState(available_share=available, stalled_share=stalled)

    assert findings_by_name(memory=memory)["memory"].level == level


def test_settings_that_add_noise_come_with_what_to_do():
    settings = CpuSettings(
        governors=frozenset({"powersave", "performance"}),
        has_turbo=True,
        physical_cores=(frozenset({0, 2}), frozenset({1, 3})),
        nodes=(frozenset({0, 2, 3}), frozenset({1})),
        isolated=frozenset({3, 8, 9}),
    )

    findings_of_host = findings_by_name(settings=settings)

    names = ("governor", "turbo", "hardware threads", "NUMA", "isolated cores")
    assert {findings_of_host[name].level for name in names} == {FindingLevel.NOISY}
    assert findings_of_host["governor"].detail == "performance, powersave"
    assert "cpupower frequency-set -g performance" in findings_of_host["governor"].advice
    assert "taskset -c 0-1 " in findings_of_host["hardware threads"].advice
    assert "--physcpubind=0,2-3 " in findings_of_host["NUMA"].advice
    assert "taskset -c 8-9 " in findings_of_host["isolated cores"].advice


def test_one_usable_thread_of_each_core_shares_with_nobody_of_the_check():
    settings = replace(
        METAL, physical_cores=tuple(frozenset({core, core + 4}) for core in range(4))
    )

    assert findings_by_name(settings=settings)["hardware threads"].level is FindingLevel.FINE


@given(st.text(), st.sampled_from(FindingLevel), st.text())
def test_a_finding_fits_a_cell_and_what_is_fine_needs_no_advice(detail, level, advice):
    host_finding = finding("x", level, detail * 20, advice * 20)

    assert len(host_finding.detail) <= MAX_WORDS
    assert len(host_finding.advice) <= MAX_WORDS
    assert level is not FindingLevel.FINE or host_finding.advice == ""
