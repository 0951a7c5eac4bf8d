"""Measures how soon and how falsely the two tiers raise alarms, on made-up histories.

python benchmarks/history_two_tiers.py [--series 12] [--seed N]

After every commit `detect` searches the series and alarms each change once; `tail_suspects` asks
for an A/B of a commit and its parent. The A/B is made of made-up pairs with the judge of a check,
and its pairs are counted. An alarm on a stretch of fewer than twenty commits is confirmed the same
way. What the machine does to both runs of a pair (drift, dependence, bursts) is not in it.
"""

import argparse
import math
from dataclasses import dataclass, field

import numpy as np
from made_up_series import NOISES, Values

from perfledger.metrics import STEP_TIME
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.history.commits.attribution import Series
from perfledger_baselines.history.commits.confirmation import record_ab_result, request_ab_runs
from perfledger_baselines.history.commits.confirmation_state import (
    AbCandidate,
    AbRequest,
    ConfirmationLimits,
    ConfirmationState,
)
from perfledger_baselines.history.detection.changes import ChangePoint, Suspect
from perfledger_baselines.history.detection.detect import detect
from perfledger_baselines.history.detection.tail_suspects import tail_suspects
from perfledger_baselines.judging.judge import judge_tests
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import planned_looks
from perfledger_baselines.significance.spread_prior import prior_from_runs

BEFORE, AFTER, FIRST = 60, 30, 30  # commits before the step, after it, and not watched yet
YOUNG = 20  # commits of a stretch whose alarm is not believed alone
PAIRS = 8
LIMITS = ConfirmationLimits(max_pairs=PAIRS, pairs_per_window=200)
WORKLOAD, MACHINE = "made_up:step", "cuda:made up:1"
NEAR = 2  # commits
CHANGES = (0.0, 0.02, 0.05)
# Of a process, beyond what the machine does to both of a pair.
PROCESS_SD = {"drift": 0.008, "dependent": 0.005, "bursts": 0.006, "quiet": 0.0004}


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
        logs = NOISES[noise](rng, BEFORE + AFTER)
        logs[BEFORE:] += math.log1p(change)
        self.values: Values = 100 * np.exp(logs)
        self.state = ConfirmationState()
        self.alarmed: list[ChangePoint] = []
        self.reported: list[int] = []

    def run(self, tally: Tally) -> None:
        self.new_alarms(FIRST - 1)
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
        alarms = self.new_alarms(commit)
        old = [alarm for alarm in alarms if commit - alarm.index >= YOUNG]
        young = [self.young_candidate(alarm, commit) for alarm in alarms if alarm not in old]
        (odd,) = tail_suspects([self.values[: commit + 1].tolist()])
        candidates = young + ([self.candidate(odd, commit)] if odd else [])
        self.state, requests = request_ab_runs(
            self.state, candidates, window=str(commit), limits=LIMITS
        )
        places = [alarm.index for alarm in old]
        while requests:
            for request in requests:
                places += self.measured(request, commit, tally)
            self.state, requests = request_ab_runs(
                self.state, [], window=str(commit), limits=LIMITS
            )
        return places

    def new_alarms(self, commit: int) -> list[ChangePoint]:
        """Search the series up to a commit; return the changes that no earlier search found."""
        alarms = [
            change
            for change in detect(self.values[: commit + 1].tolist()).changes
            if not any(is_same_change(change, other) for other in self.alarmed)
        ]
        self.alarmed += alarms
        return alarms

    def candidate(self, odd: Suspect, commit: int) -> AbCandidate:
        return AbCandidate.from_suspect(
            odd, series=SERIES, commits=range(commit + 1), pair_seconds=30.0
        )

    def young_candidate(self, alarm: ChangePoint, commit: int) -> AbCandidate:
        """Return an alarm of a young stretch as a candidate."""
        odd = Suspect(
            index=alarm.index,
            observations=commit + 1 - alarm.index,
            change=alarm.change,
            strength=10.0,
        )
        return self.candidate(odd, commit)

    def measured(self, request: AbRequest, commit: int, tally: Tally) -> list[int]:
        """Measure an A/B, record its result, and return the confirmed commits."""
        shift = self.change if request.base < BEFORE <= request.head else 0.0
        verdict, pairs = self.judged(shift, commit)
        tally.requests += 1
        tally.pairs += pairs
        self.state, alerts = record_ab_result(self.state, request, verdicts=[verdict], pairs=pairs)
        return [alert.commits.first for alert in alerts if alert.is_final]

    def judged(self, shift: float, commit: int) -> tuple[Verdict, int]:
        """Draw pairs until the judge of a check has decided, or all are drawn."""
        count = 2 * PAIRS
        if self.noise in PROCESS_SD:
            logs = PROCESS_SD[self.noise] * self.rng.standard_normal(count)
        else:
            logs = NOISES[self.noise](self.rng, 40)[:count]
        base, head = np.exp(logs[::2]), np.exp(logs[1::2]) * (1 + shift)
        history = self.values[max(0, commit - 40) : commit - 5]
        priors = {(WORKLOAD, STEP_TIME.name): prior_from_runs(history.tolist())}
        looks = planned_looks(PAIRS, fewest=1)
        rule = DecisionRule(looks=looks, alpha=0.05, margin=0.01, floor=0.003)
        for pairs in looks:
            test = PairedTest(
                workload=WORKLOAD,
                metric=STEP_TIME,
                base=tuple(base[:pairs].tolist()),
                head=tuple(head[:pairs].tolist()),
                numbers=tuple(range(1, pairs + 1)),
            )
            (verdict,) = judge_tests([test], rule=rule, priors=priors)
            if verdict.outcome is not Outcome.UNDECIDED or pairs == PAIRS:
                return verdict, pairs
        raise AssertionError


def is_same_change(change: ChangePoint, other: ChangePoint) -> bool:
    """Return whether two change points may be one: in one direction, at places that overlap."""
    overlap = min(change.latest, other.latest) - max(change.earliest, other.earliest)
    return overlap >= 0 and change.movement is other.movement


SERIES = Series(WORKLOAD, STEP_TIME, MACHINE)


def by(tally: Tally, commits: int) -> str:
    return f"{np.mean([delay <= commits for delay in tally.delays]):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=12)
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    print(
        "| noise | false per 1000 commits | A/Bs per 1000 commits | pairs per 1000 commits "
        "| 2 % by 3 / 5 / 10 | 5 % by 1 / 3 / 5 |"
    )
    print("|---" * 6 + "|")
    totals = {change: Tally() for change in CHANGES}
    for number, noise in enumerate(NOISES):
        tallies = {change: Tally() for change in CHANGES}
        for place, change in enumerate(CHANGES):
            rng = np.random.default_rng([arguments.seed, number, place])
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
        f"{1000 * count / still.commits:.1f}"
        for count in (still.false, still.requests, still.pairs)
    ]
    small = " / ".join(by(tallies[0.02], commits) for commits in (3, 5, 10))
    large = " / ".join(by(tallies[0.05], commits) for commits in (1, 3, 5))
    return f"| {name} | " + " | ".join(rates) + f" | {small} | {large} |"


if __name__ == "__main__":
    main()
