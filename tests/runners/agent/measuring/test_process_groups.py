from dataclasses import replace

from perfledger.records import Framework, WorkloadSpec
from perfledger_runners.measuring.process_groups import Separation, process_groups

HOST = WorkloadSpec(id="m:host", module="m", function="host")
TORCH = replace(HOST, id="m:torch", framework=Framework.TORCH)
MORE = replace(TORCH, id="m:more")
OTHER_FILE = replace(TORCH, id="n:other", module="n")
THREADS = "its imports leave 2 threads running"
RANKS = replace(TORCH, id="m:ranks", devices=2)


def test_forks_of_one_process_run_the_workloads_of_one_framework():
    assert process_groups([TORCH, HOST, RANKS, MORE], is_forking=True) == (
        ("m:torch", "m:more"),
        ("m:host",),
        ("m:ranks",),
    )


def test_without_forks_each_has_a_process_of_its_own():
    assert process_groups([TORCH, HOST, MORE], is_forking=False) == (
        ("m:torch",),
        ("m:host",),
        ("m:more",),
    )


def test_what_cannot_fork_has_a_process_of_its_own():
    separation = Separation(workloads={"m:torch": THREADS})
    groups = process_groups([TORCH, HOST, MORE], is_forking=True, separation=separation)

    assert groups == (("m:host",), ("m:more",), ("m:torch",))


def test_the_workloads_of_a_file_follow_each_other():
    groups = process_groups([TORCH, OTHER_FILE, MORE], is_forking=True)

    assert groups == (("m:torch", "m:more", "n:other"),)


def test_a_file_that_refuses_to_fork_has_a_process_and_then_each_of_its_workloads():
    group = ("m:torch", "m:more", "n:other")
    refused = {"m:torch": THREADS, "m:more": THREADS}
    first = Separation().without_forks(group, refused)
    second = first.without_forks(group[:2], refused)

    specs = [TORCH, OTHER_FILE, MORE]
    assert first == Separation(files={"m": THREADS})
    assert process_groups(specs, is_forking=True, separation=first) == (group[:2], group[2:])
    assert second == Separation(workloads=refused)
    assert process_groups(specs, is_forking=True, separation=second) == (
        ("n:other",),
        ("m:torch",),
        ("m:more",),
    )


def test_a_refusal_separates_what_was_not_asked_for_this_time():
    assert Separation().without_forks(("m:torch", "m:more"), {"m:more": THREADS}) == Separation(
        workloads=dict.fromkeys(("m:torch", "m:more"), THREADS)
    )
    assert Separation().without_forks(("m:torch", "m:more"), {"n:other": THREADS}) == Separation()


def test_a_note_names_the_workloads_that_lose_time():
    reasons = {f"m:w{number}": THREADS for number in range(5)}
    separation = Separation(
        files={"n": "its imports set CAREFUL, which torch may have read before"},
        workloads={**reasons, "m:only": "its imports leave a process running"},
    )

    own_processes, own_file = separation.notes()
    assert own_processes == (
        "m:w0, m:w1, m:w2 and 2 more each ran in a separate process, because its imports leave "
        "2 threads running: the check is faster if a set-up does that instead of the import"
    )
    assert own_file == (
        "the workloads of n shared no process with those of other files, because its imports set "
        "CAREFUL, which torch may have read before: the check is faster without that"
    )


def test_workloads_of_a_package_belong_to_the_file_that_registers_them():
    of_package = replace(TORCH, id="package.steps:train", module="package.steps")
    file_of = {"package.steps:train": "m", "m:torch": "m", "n:other": "n"}.__getitem__
    specs = [TORCH, OTHER_FILE, of_package]
    group = ("m:torch", "package.steps:train", "n:other")

    assert process_groups(specs, is_forking=True, file_of=file_of) == (group,)
    refused = dict.fromkeys(group[:2], THREADS)
    separation = Separation().without_forks(group, refused, file_of=file_of)
    assert separation == Separation(files={"m": THREADS})
    assert process_groups(specs, is_forking=True, separation=separation, file_of=file_of) == (
        group[:2],
        group[2:],
    )
