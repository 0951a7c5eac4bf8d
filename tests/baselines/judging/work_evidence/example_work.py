"""Evidence and counts of work for made-up checks, and what is judged of them."""

from perfledger.step_evidence import ResultState, StepEvidence
from perfledger.step_work import Count, CountedWork, StepWork
from perfledger_baselines.judging.judge import judge_bundle, judgement_of
from perfledger_baselines.judging.work_evidence import work_doubts

FINITE = StepEvidence(result=ResultState.FINITE)


def count(name, value, *, is_complete=True):
    return Count(name=name, unit="FLOP", value=value, source="a counter", is_complete=is_complete)


def work(side, *counts):
    return CountedWork(workload="m:f", side=side, work=StepWork(counts=counts))


def failures_of(bundle):
    return work_doubts(bundle).failures


def outcome(bundle):
    (verdict,) = judge_bundle(bundle)
    return verdict.outcome


def whys(bundle):
    return [failure.why for failure in judgement_of(bundle).failures]
