"""The first line of a check's journal."""

from perfledger.bundle import Plan
from perfledger.records import Device, Machine
from perfledger_runners.measuring.pair_journal import (
    CheckEnvironments,
    CheckIdentity,
    JournalHeader,
)

HEADER = JournalHeader(
    check=CheckIdentity(
        repository="/repository",
        base="a" * 40,
        head="b" * 40,
        workloads="",
        laid_over=None,
        settings={"margin": 0.05, "paths": "benchmarks"},
        perfledger="1",
    ),
    workloads=("m:f", "m:g"),
    machine=Machine(device=Device.CPU, model="a CPU"),
    environments=CheckEnvironments(interpreter="/usr/bin/python3", base={"numpy": "2.1 (abc)"}),
    plan=Plan(seed=1, order=(), looks=(5, 6)),
    work=(),
    began=1_000_000_000.0,
)
