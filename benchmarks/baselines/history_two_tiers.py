"""Measures how soon and how falsely the two tiers raise alarms, on made-up histories.

python benchmarks/baselines/history_two_tiers.py [--series 12] [--seed N] [--held-out]

After every commit the service's watching runs: `ab_candidates` finds suspects and changes,
`request_ab_runs` asks for A/Bs, and only what they confirm is an alarm. An A/B is a check of at
most eight made-up pairs, with the spreads that the service learns from six earlier checks and from
the A/Bs before; its pairs are counted. What the machine does to both runs of a pair (drift,
dependence, bursts, waves) is not in it. With --held-out the noises are those that no rule was made
for.
"""

import argparse
import math
from dataclasses import dataclass, field

import numpy as np
from made_up_series import HELD_OUT, NOISES, Values
from simulated_checks import History, Pairs, bundle_of, measured_check, pairs_of, plan_of

from perfledger.metrics import STEP_TIME
from perfledger.rounding import decimals
from perfledger_baselines.history.commits.ab_candidates import CandidateSeries, ab_candidates
from perfledger_baselines.history.commits.attribution import Series
from perfledger_baselines.history.commits.confirmation import record_ab_result, request_ab_runs
from perfledger_baselines.history.commits.confirmation_state import (
    AbRequest,
    ConfirmationLimits,
    ConfirmationState,
)
from perfledger_baselines.judging.judge import judgement_of
from perfledger_baselines.judging.verdict import Verdict

BEFORE, AFTER, FIRST = 60, 30, 30  # commits before the step, after it, and not watched yet
PAIRS = 8
EARLIER_CHECKS, EARLIER_PAIRS = 6, 5
LIMITS = ConfirmationLimits(max_pairs=PAIRS, pairs_per_window=200)
WORKLOAD, MACHINE = "made_up:step", "cuda:made up:1"
NEAR = 2  # commits
CHANGES = (0.0, 0.02, 0.05)
ALL_NOISES = NOISES | HELD_OUT
# Of a process, beyond what the machine does to both of a pair.
PROCESS_SD = {
    "drift": 0.008,
    "dependent": 0.005,
    "bursts": 0.006,
    "quiet": 0.0004,
    "machines": 0.004,
    "waves": 0.006,
    "wandering": 0.006,
}


@dataclass
class Tally:
    """What came of some series of one kind."""

    commits: int = 0
    false: int = 0
    requests: int = 0
    pairs: int = 0
    delays: list[float] = field(default_factory=list)


class Bench:
    """One series as it grows, and the A/Bs that it leads to."""

    def __init__(self, noise: str, change: float, rng: np.random.Generator) -> None:
        self.noise, self.change, self.rng = noise, change, rng
        logs = ALL_NOISES[noise](rng, BEFORE + AFTER)
        logs[BEFORE:] += math.log1p(change)
        self.values: Values = 100 * np.exp(logs)
        self.state = ConfirmationState()
        self.history = History()
        self.reported: list[int] = []
        for _ in range(EARLIER_CHECKS):
            runs = [run for pair in self.pairs(0.0, EARLIER_PAIRS) for run in pair]
            plan = plan_of(EARLIER_PAIRS, has_history=False)
            bundle = bundle_of([WORKLOAD], runs, STEP_TIME, plan)
            self.history.keep(judgement_of(bundle).tests, bundle.machines())

    def run(self, tally: Tally) -> None:
        delay = math.inf
        for commit in range(FIRST, BEFORE + AFTER):
            tally.commits += 1
            for place in self.look(commit, tally):
                is_right = self.change > 0 and abs(place - BEFORE) <= NEAR
                if is_right:
                    delay = min(delay, commit + 1 - BEFORE)
                elif all(abs(place - other) > NEAR for other in self.reported):
                    tally.false += 1
                self.reported.append(place)
        if self.change:
            tally.delays.append(delay)

    def look(self, commit: int, tally: Tally) -> list[int]:
        """Take in one commit; return the places of alarms."""
        watched_series = CandidateSeries(
            series=SERIES,
            commits=tuple(range(commit + 1)),
            values=tuple(self.values[: commit + 1].tolist()),
            pair_seconds=30.0,
        )
        candidates = ab_candidates([watched_series])
        places: list[int] = []
        window = str(commit)
        self.state, requests = request_ab_runs(self.state, candidates, window=window, limits=LIMITS)
        while requests:
            for request in requests:
                places += self.answer(request, tally)
            self.state, requests = request_ab_runs(self.state, [], window=window, limits=LIMITS)
        return places

    def answer(self, request: AbRequest, tally: Tally) -> list[int]:
        """Measure an A/B, record its result, and return the confirmed commits."""
        verdict, pairs = self.check(self.change if request.base < BEFORE <= request.head else 0.0)
        tally.requests += 1
        tally.pairs += pairs
        self.state, alerts = record_ab_result(self.state, request, verdicts=[verdict], pairs=pairs)
        return [alert.commits.first for alert in alerts if alert.is_final]

    def check(self, shift: float) -> tuple[Verdict, int]:
        """Measure pairs until the check may stop, judge its bundle, and learn from it."""
        priors = self.history.priors(STEP_TIME)
        bundle = measured_check(
            {WORKLOAD: self.pairs(shift, PAIRS)},
            plan=plan_of(PAIRS, has_history=bool(priors)),
            metric=STEP_TIME,
            priors=priors,
        )
        judgement = judgement_of(bundle, priors=priors)
        self.history.keep(judgement.tests, bundle.machines())
        (verdict,) = judgement.verdicts
        return verdict, len(bundle.runs) // 2

    def pairs(self, shift: float, count: int) -> Pairs:
        if self.noise in PROCESS_SD:
            logs = PROCESS_SD[self.noise] * self.rng.standard_normal(2 * count)
        else:
            logs = ALL_NOISES[self.noise](self.rng, 40)[: 2 * count]
        logs[1::2] += math.log1p(shift)
        return pairs_of(
            np.exp(logs).reshape(count, 2, 1),
            metric=STEP_TIME,
            workload=WORKLOAD,
            head_position=np.ones(count, dtype=np.int64),
        )


SERIES = Series(WORKLOAD, STEP_TIME, MACHINE)


def by(tally: Tally, commits: int) -> str:
    return decimals(float(np.mean([delay <= commits for delay in tally.delays])), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=12)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--held-out", action="store_true")
    arguments = parser.parse_args()
    print(
        "| noise | false per 1000 commits | A/Bs per 1000 commits | pairs per 1000 commits "
        "| 2 % by 3 / 5 / 10 | 5 % by 1 / 3 / 5 |"
    )
    print("|---" * 6 + "|")
    totals = {change: Tally() for change in CHANGES}
    for number, noise in enumerate(HELD_OUT if arguments.held_out else NOISES):
        tallies = {change: Tally() for change in CHANGES}
        for index, change in enumerate(CHANGES):
            rng = np.random.default_rng([arguments.seed, number, index])
            for _ in range(arguments.series):
                Bench(noise, change, rng).run(tallies[change])
            for name in ("commits", "false", "requests", "pairs"):
                total = getattr(totals[change], name) + getattr(tallies[change], name)
                setattr(totals[change], name, total)
            totals[change].delays += tallies[change].delays
        print(line(noise, tallies), flush=True)
    print(line("all", totals))


def line(name: str, tallies: dict[float, Tally]) -> str:
    still = tallies[0.0]
    rates = [
        decimals(1000 * count / still.commits, 1)
        for count in (still.false, still.requests, still.pairs)
    ]
    small = " / ".join(by(tallies[0.02], commits) for commits in (3, 5, 10))
    large = " / ".join(by(tallies[0.05], commits) for commits in (1, 3, 5))
    return f"| {name} | " + " | ".join(rates) + f" | {small} | {large} |"


if __name__ == "__main__":
    main()
