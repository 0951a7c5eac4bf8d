from dataclasses import replace

from perfledger.records import Framework, WorkloadSpec
from perfledger_runners.measuring.process_groups import own_process_notes, process_groups

HOST = WorkloadSpec(id="m:host", module="m", function="host")
TORCH = replace(HOST, id="m:torch", framework=Framework.TORCH)
MORE = replace(TORCH, id="m:more")
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
    groups = process_groups([TORCH, HOST, MORE], is_forking=True, alone={"m:torch"})

    assert groups == (("m:host",), ("m:more",), ("m:torch",))


def test_a_note_names_the_workloads_that_lose_time():
    reasons = {f"m:w{number}": "its imports leave 2 threads running" for number in range(5)}
    (note,) = own_process_notes({**reasons, "m:only": "its imports leave a process running"})

    assert note == (
        "m:w0, m:w1, m:w2 and 2 more each ran in a separate process, because its imports leave "
        "2 threads running: the check is faster if a set-up does that instead of the import"
    )
