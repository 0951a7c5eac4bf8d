"""Holds the counted work of a step, which follows from the code without measuring."""

from dataclasses import dataclass

from perfledger.records import Side

FLOPS = "flops_per_step"
BYTES = "bytes_per_step"
TRANSCENDENTALS = "transcendentals_per_step"
OPERATORS = "operators_per_step"
PROGRAMS = "programs_per_step"
PROGRAM_MEMORY = "program_memory"
ARGUMENT_MEMORY = "argument_memory"
OUTPUT_MEMORY = "output_memory"
TEMPORARY_MEMORY = "temporary_memory"
ALIASED_MEMORY = "aliased_memory"
CODE_MEMORY = "code_memory"

NOT_COUNTED = "not counted"  # starts the limit of a step whose process gave no counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """One count that follows from the code alone: the same code gives exactly the same count.

    Two counts are comparable only if their `source` is the same. One that is not complete is a
    lower bound: some of the step's work cannot be counted, and the step's limits name it.
    """

    name: str
    unit: str
    value: float
    source: str
    is_complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWork:
    """The work of one step.

    A count that is unavailable is missing, never zero; `limits` give the reasons, and what else the
    counts exclude. `program` is a hash of the step's programs, "" if there are none: equal hashes
    mean the same computation. `variant_remarks` are sentences on a variant: which parts of the step
    it leaves as written, and how its result differs. The counts of a variant of torch's are those
    of the step as written.
    """

    counts: tuple[Count, ...] = ()
    limits: tuple[str, ...] = ()
    program: str = ""
    variant_remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedWork:
    """The work of one workload's step on one side."""

    workload: str
    side: Side
    work: StepWork
