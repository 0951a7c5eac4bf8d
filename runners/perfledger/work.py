"""What one step of a workload asks for, as values: counted from the code, before it is measured."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """One figure that follows from the code alone: the same code gives the same, to the last digit.

    Two counts compare only when they were made in the same way, as `source` says it.
    """

    name: str
    unit: str
    value: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one step asks for.

    What could not be counted is not there, never zero; `limits` say why, and what else the counts
    leave out. `program` is a hash of the programs that the step runs, "" where there are none:
    equal ones compute the same in the same way.
    """

    counts: tuple[Count, ...] = ()
    limits: tuple[str, ...] = ()
    program: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedWork:
    """The work of one workload's step on one side."""

    workload: str
    side: Side
    work: Work
