"""Holds what a process compiled: how long each phase took, and which programs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import fsum

MAX_PROGRAMS = 20  # per process: those that took longest
MAX_NAME = 200  # characters of a program's name
MAX_COMPILATIONS = 2**31  # of one program


class CompilePhase(StrEnum):
    """A phase of compiling; a process's phases do not overlap."""

    TRACING = "tracing"  # Python to a graph: torch's Dynamo, JAX's jaxpr
    LOWERING = "lowering"  # the graph to the backend's: AOTAutograd and its passes, StableHLO
    BACKEND = "backend compile"  # the graph to code: Inductor and its compilers, XLA


class CompilationKind(StrEnum):
    """A kind of compiler event that costs time in a step or leaves work out of its program."""

    GRAPH_BREAK = "graph break"  # torch.compile ends a graph
    RECOMPILATION = "recompilation"  # of a function, by torch.compile
    RETRACE = "retrace"  # of a function, by JAX
    START_RETRACE = "retrace at the start"  # the same, in set-up and warm-up


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledProgram:
    """A function that a process compiled, how often, and for how long in all."""

    name: str
    count: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileRecord:
    """What a process compiled for one workload, in its set-ups and steps.

    `phases_s` has the seconds of each phase by its name. `programs` are those that took longest;
    empty if the framework does not report all of them.
    """

    phases_s: Mapping[str, float] = field(default_factory=dict[str, float])
    programs: tuple[CompiledProgram, ...] = ()

    @property
    def seconds(self) -> float:
        """Return the seconds of all phases."""
        return fsum(self.phases_s.values())
