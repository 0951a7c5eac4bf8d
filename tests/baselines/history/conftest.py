"""Made-up series whose truth is known, seeded; candidates and what A/Bs say of them; events."""

import math

import numpy as np
import pytest

from perfledger.metrics import STEP_TIME
from perfledger_baselines.history.commits.attribution import ObservedSeries, Series
from perfledger_baselines.history.commits.confirmation import record_ab_result, request_ab_runs
from perfledger_baselines.history.commits.confirmation_state import (
    AbCandidate,
    ConfirmationLimits,
    ConfirmationState,
)
from perfledger_baselines.history.commits.grouping import group_changes
from perfledger_baselines.history.detection.changes import ChangePoint
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome, Verdict

LIMITS = ConfirmationLimits(max_pairs=8, pairs_per_window=80)
MACHINE = "cuda:H100:1"


class Make:
    """Makes series of one value per commit around 100."""

    def noise(self, count, *, seed, sd=0.01, dependence=0.0):
        """Return logs of Gaussian noise, AR(1) with this lag-1 dependence."""
        fresh = np.random.default_rng(seed).standard_normal(count)
        logs = np.empty(count)
        logs[0] = fresh[0]
        for index in range(1, count):
            logs[index] = dependence * logs[index - 1] + (1 - dependence**2) ** 0.5 * fresh[index]
        return sd * logs

    def series(self, logs, steps=()):
        """Return values of these logs, with (place, relative change) steps."""
        values = 100 * np.exp(logs)
        for place, change in steps:
            values[place:] *= 1 + change
        return values

    def two_states(self, count, *, seed, sd=0.003, distance=0.025, share=0.35):
        """Return logs that switch between two states, each observation four times out of ten."""
        rng = np.random.default_rng(seed)
        states = np.empty(count)
        states[0] = rng.random() < share
        for index in range(1, count):
            stays = rng.random() < 0.6
            states[index] = states[index - 1] if stays else rng.random() < share
        return sd * rng.standard_normal(count) + distance * states


class AbRuns:
    """Builds candidates, verdicts on them, and the states between."""

    def candidate(self, good, bad, *, workload="m:f", metric=STEP_TIME, newest=None, **values):
        return AbCandidate(
            **{
                "series": Series(workload, metric, MACHINE),
                "good": good,
                "bad": bad,
                "newest": bad if newest is None else newest,
                "change": 0.05,
                "strength": 5.0,
                "pair_seconds": 10.0,
                **values,
            }
        )

    def estimate(self, change, low=None, high=None, *, pairs=4):
        low = change - 0.004 if low is None else low
        high = change + 0.004 if high is None else high
        return EffectEstimate(
            base=1.0,
            head=1.0 + change,
            change=change,
            low=low,
            high=high,
            narrow_low=low,
            narrow_high=high,
            pairs=pairs,
            p_value=0.001,
            smallest_detectable=0.01,
        )

    def estimate_of_logs(self, change, half_width, *, pairs=8):
        """Return an estimate from figures on the log scale."""
        ends = (math.expm1(change - half_width), math.expm1(change + half_width))
        return self.estimate(math.expm1(change), *ends, pairs=pairs)

    def verdict(self, outcome, measured=None, *, metric=STEP_TIME, workload="m:f"):
        return Verdict(
            workload=workload,
            metric=metric,
            outcome=outcome,
            estimate=measured,
            adjusted_p=0.01,
            is_warning=False,
            reason="",
        )

    @property
    def regressed(self):
        return self.verdict(Outcome.REGRESSED, self.estimate(0.05))

    @property
    def improved(self):
        return self.verdict(Outcome.IMPROVED, self.estimate(-0.05))

    @property
    def unchanged(self):
        return self.verdict(Outcome.UNCHANGED, self.estimate(0.0))

    @property
    def undecided(self):
        return self.verdict(Outcome.UNDECIDED, self.estimate(0.024, -0.03, 0.08))

    @property
    def not_measured(self):
        return self.verdict(Outcome.NOT_MEASURED)

    def request(self, state, *candidates, window="Monday", limits=LIMITS):
        return request_ab_runs(state, candidates, window=window, limits=limits)

    def answer(self, state, *verdicts, request=None, pairs=4):
        """Answer the one request that is under way, or the given one."""
        if request is None:
            requests = [t.request for t in state.pending_confirmations] + [
                s.request for s in state.bisections
            ]
            (request,) = set(requests)
        return record_ab_result(state, request, verdicts=verdicts, pairs=pairs)

    def confirmed(self, *candidates):
        """Return a state after an A/B that bore the candidates out, and its alert."""
        state, _ = self.request(ConfirmationState(), *candidates)
        verdicts = [
            self.verdict(Outcome.REGRESSED, self.estimate(0.05), metric=one.series.metric)
            for one in candidates
        ]
        state, (alert,) = self.answer(state, *verdicts)
        return state, alert


class Past:
    """Builds series that were observed at every commit, and what happened in them."""

    def change(self, index, earliest=None, latest=None, *, size=0.05, p_value=1e-6):
        return ChangePoint(
            index=index,
            earliest=index if earliest is None else earliest,
            latest=index if latest is None else latest,
            before=1.0,
            after=1 + size,
            change=size,
            low=size,
            high=size,
            confidence=1 - p_value,
        )

    def history(
        self, workload, *changes, metric=STEP_TIME, on=MACHINE, commits=range(100), driver_at=0
    ):
        """Return a series, on a new driver from `driver_at` on."""
        commits = tuple(commits)
        environments = tuple("old" if commit < driver_at else "new" for commit in commits)
        return ObservedSeries(
            series=Series(workload, metric, on),
            commits=commits,
            changes=changes,
            environments=environments if driver_at else (),
        )

    def only_event(self, *histories):
        grouped_changes = group_changes(histories)
        assert not grouped_changes.environment_changes
        (event,) = grouped_changes.events
        return event

    def workloads(self, event):
        return sorted(member.change.series.workload for member in event.members)


@pytest.fixture(scope="session")
def make():
    return Make()


@pytest.fixture(scope="session")
def ab():
    return AbRuns()


@pytest.fixture(scope="session")
def past():
    return Past()
