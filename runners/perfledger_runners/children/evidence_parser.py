"""Parses and validates a child's evidence that its steps do their work, and counts of it."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from perfledger.records import Param
from perfledger.step_evidence import (
    MAX_ANSWERS,
    MAX_STEPS_PER_READING,
    EndCost,
    ResultState,
    StepEvidence,
)
from perfledger_runners.children.message_texts import Id, ShortText
from perfledger_runners.children.reading_checks import MAX_READING
from perfledger_runners.safe_text import clean_text

MAX_ANSWER_TEXT = 300
MAX_OUTLINE = 10  # entries of the outline of a result
MAX_TASKS = 2**22  # Linux has no more on a machine

AnswerText = Annotated[str, Meta(max_length=MAX_ANSWER_TEXT)]
AnswerNumber = Annotated[float, Meta(ge=-MAX_READING, le=MAX_READING)]


class EndCostFields(Struct, frozen=True, kw_only=True):
    """What a process did after its last step, with the fields of an EndCost."""

    steps: Annotated[int, Meta(ge=1)]
    cpu_s: Annotated[float, Meta(ge=0, le=MAX_READING)]
    tasks: Annotated[int, Meta(ge=0, le=MAX_TASKS)] = 0
    asleep_s: Annotated[float, Meta(ge=0, le=MAX_READING)] = 0.0

    def end_cost(self) -> EndCost:
        """Return it as a value of the records."""
        return EndCost(**msgspec.structs.asdict(self))


class Evidence(Struct, frozen=True, kw_only=True):
    """What a step returned and how it was read, with the fields of a StepEvidence."""

    result: ResultState = ResultState.UNKNOWN
    answer: Annotated[
        dict[AnswerText, bool | AnswerNumber | AnswerText], Meta(max_length=MAX_ANSWERS)
    ] = {}
    tolerance: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    steps_per_reading: Annotated[int, Meta(ge=1, le=MAX_STEPS_PER_READING)] = 1
    empty_step_s: Annotated[float, Meta(ge=0, le=MAX_READING)] | None = None
    paused_cores: Annotated[float, Meta(ge=0, le=MAX_READING)] | None = None
    leftover_s: Annotated[float, Meta(ge=0, le=MAX_READING)] | None = None
    ends_by_clock: bool = False
    has_unseen_programs: bool = False
    outline: Annotated[
        dict[AnswerText, AnswerNumber | AnswerText], Meta(max_length=MAX_OUTLINE)
    ] = {}
    start_cpu_s: Annotated[float, Meta(ge=0, le=MAX_READING)] | None = None

    def step_evidence(self) -> StepEvidence:
        """Return the evidence with texts that are safe to show and store."""
        return StepEvidence(
            result=self.result,
            answer={clean_text(path): _clean(value) for path, value in self.answer.items()},
            tolerance=self.tolerance,
            steps_per_reading=self.steps_per_reading,
            empty_step_s=self.empty_step_s,
            paused_cores=self.paused_cores,
            leftover_s=self.leftover_s,
            ends_by_clock=self.ends_by_clock,
            has_unseen_programs=self.has_unseen_programs,
            outline={clean_text(name): _clean(value) for name, value in self.outline.items()},
            start_cpu_s=self.start_cpu_s,
        )


def _clean(value: Param) -> Param:
    return clean_text(value) if isinstance(value, str) else value


class CountValue(Struct, frozen=True, kw_only=True):
    """One count of a step, with the fields of a Count."""

    name: Id
    unit: ShortText
    value: Annotated[float, Meta(ge=0, le=MAX_READING)]
    source: ShortText
    is_complete: bool = True
