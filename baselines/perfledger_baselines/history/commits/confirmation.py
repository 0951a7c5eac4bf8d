"""Confirms possible changes by A/B runs, and bisects confirmed ones down to a commit.

One or two bad points raise no alarm: a detector that called them would be wrong dozens of times in
a thousand commits. But they are reason enough to measure. A *candidate* leads to a *request*: an
A/B of its commit against the last good one. A change that the A/B confirms becomes an *alert*;
anything else stays silent. Where commits lie between the two, further A/Bs halve them until one is
left.

Nothing here waits or knows the time. The caller passes all present candidates to
`request_ab_runs`, measures the requests in any order, and passes each A/B's verdicts to
`record_ab_result`; it stores the `ConfirmationState` from call to call.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from perfledger_baselines.history.commits.attribution import CommitRange, Harm, Series
from perfledger_baselines.history.commits.bisection import (
    bisection_status,
    divide_bisection,
    middle_of,
    sure_change,
)
from perfledger_baselines.history.commits.confirmation_state import (
    AbCandidate,
    AbPurpose,
    AbRequest,
    Alert,
    AnsweredCandidate,
    Bisection,
    BisectionStatus,
    ConfirmationError,
    ConfirmationLimits,
    ConfirmationState,
    ConfirmedChange,
    PendingConfirmation,
)
from perfledger_baselines.judging.verdict import Outcome, Verdict

# Each A/B of commits that did not change is another chance of a false alarm. Each further A/B of
# the same commits requires a quarter more strength: the n-th needs 1.25^n times the first's.
# Requiring half more found 79 of 100 changes of 2 % instead of 83, for a twentieth fewer A/Bs.
STRONGER_BY = 1.25


def request_ab_runs(
    state: ConfirmationState,
    candidates: Iterable[AbCandidate],
    *,
    window: str,
    limits: ConfirmationLimits,
) -> tuple[ConfirmationState, tuple[AbRequest, ...]]:
    """Return the A/Bs to start now, most promising first, and the state that includes them.

    `candidates` are all current ones; pass one for which no pairs are left again next time, unless
    its series is back to normal. `window` names the period of the limit, such as a date: a new name
    starts a new allowance. One request covers all metrics of a workload at a commit; a metric that
    becomes a candidate while it runs joins it.

    An answered candidate is requested again only when newer points make it stronger by STRONGER_BY,
    or when nothing could be measured and there are newer points.
    """
    if window != state.window:
        state = replace(state, window=window, pairs=0)
    trials = [
        PendingConfirmation(_confirmation_request(state, group, limits), group)
        for group in _by_commit(candidate for candidate in candidates if _is_open(state, candidate))
    ]
    nexts = [_bisection_request(state, search, limits) for search in state.bisections]
    requests = _affordable([*nexts, *(trial.request for trial in trials)], state, limits)
    pending = {_ab_key(request): request for request in (*state.requests, *requests)}
    state = replace(
        state,
        pending_confirmations=state.pending_confirmations
        + tuple(
            replace(trial, request=pending[_ab_key(trial.request)])
            for trial in trials
            if _ab_key(trial.request) in pending
        ),
        bisections=tuple(
            replace(search, request=pending.get(_ab_key(following)))
            for search, following in zip(state.bisections, nexts, strict=True)
        ),
        pairs=state.pairs + limits.max_pairs * len(requests),
    )
    return state, requests


def record_ab_result(
    state: ConfirmationState, request: AbRequest, *, verdicts: Iterable[Verdict], pairs: int
) -> tuple[ConfirmationState, tuple[Alert, ...]]:
    """Record the verdicts and pairs of an A/B; return the new state and the alerts to raise.

    An A/B that could not be measured has no verdicts. Reserved pairs that were not needed go back
    to their window. Raises ConfirmationError for a request that is not under way, such as one that
    was answered before.
    """
    if request not in state.requests or pairs < 0:
        msg = f"{request} with {pairs} pairs is not under way: record each requested A/B once"
        raise ConfirmationError(msg)
    by_metric = {v.metric.name: v for v in verdicts if v.workload == request.workload}
    trials = [trial for trial in state.pending_confirmations if trial.request == request]
    searches = [search for search in state.bisections if search.request == request]
    candidates = [candidate for trial in trials for candidate in trial.candidates]
    confirmed, cleared = _confirmations(request, candidates, by_metric, pairs)
    parts = [
        part
        for search in searches
        for part in divide_bisection(search, request.head, by_metric, pairs)
    ]
    alerts = tuple(_alert(search, narrowing) for search, narrowing in (*confirmed, *parts))
    continuing = [
        s for s, narrowing in (*confirmed, *parts) if narrowing is BisectionStatus.UNDER_WAY
    ]
    returned = request.max_pairs - pairs if request.window == state.window else 0
    state = replace(
        state,
        pending_confirmations=tuple(
            trial for trial in state.pending_confirmations if trial not in trials
        ),
        bisections=(*(s for s in state.bisections if s not in searches), *continuing),
        answered_candidates=(
            *state.answered_candidates,
            *cleared,
            *(s for a in alerts if a.is_final for s in _answers(a)),
        ),
        pairs=state.pairs - returned,
    )
    return state, alerts


def drop_answers(state: ConfirmationState, *, before: int) -> ConfirmationState:
    """Drop the answers about commits before this one, which cannot become candidates again."""
    answers = tuple(answer for answer in state.answered_candidates if answer.commits.last >= before)
    return replace(state, answered_candidates=answers)


def _is_open(state: ConfirmationState, candidate: AbCandidate) -> bool:
    """Return whether this candidate has neither an A/B under way nor an answer that still holds."""
    under_way = [
        (s.series, s.harm, s.commits)
        for trial in state.pending_confirmations
        for s in trial.candidates
    ]
    under_way += [
        (change.candidate.series, change.candidate.harm, search.commits)
        for search in state.bisections
        for change in search.changes
    ]
    return not any(_is_same_change(candidate, *other) for other in under_way) and not any(
        _is_same_change(candidate, answered.series, answered.harm, answered.commits)
        and _answer_stands(answered, candidate)
        for answered in state.answered_candidates
    )


def _is_same_change(
    candidate: AbCandidate, series: Series, harm: Harm, commits: CommitRange
) -> bool:
    return (
        candidate.series == series
        and candidate.harm is harm
        and candidate.commits.distance(commits) == 0
    )


def _answer_stands(answer: AnsweredCandidate, candidate: AbCandidate) -> bool:
    """Return whether an answer still holds for a candidate of the same commits."""
    is_stronger = candidate.strength >= STRONGER_BY * answer.strength
    return answer.is_confirmed or candidate.newest <= answer.newest or not is_stronger


def _by_commit(candidates: Iterable[AbCandidate]) -> list[tuple[AbCandidate, ...]]:
    """Group the candidates that one A/B can answer; of two for one change keep the stronger."""
    strongest: dict[tuple[Series, Harm], list[AbCandidate]] = {}
    groups: dict[tuple[str, str, int], list[AbCandidate]] = {}
    for candidate in sorted(candidates, key=_strongest_first):
        series = candidate.series
        stronger = strongest.setdefault((series, candidate.harm), [])
        if any(candidate.commits.distance(other.commits) == 0 for other in stronger):
            continue
        stronger.append(candidate)
        groups.setdefault((series.workload, series.machine_class, candidate.bad), []).append(
            candidate
        )
    return [tuple(sorted(group, key=_by_series)) for group in groups.values()]


def _confirmation_request(
    state: ConfirmationState, candidates: Sequence[AbCandidate], limits: ConfirmationLimits
) -> AbRequest:
    """Return the request for the candidates' commit against one that is good for all of them.

    If an A/B of that commit against a good one is already under way, it is used instead.
    """
    series, head = candidates[0].series, candidates[0].bad
    good = min(candidate.good for candidate in candidates)
    bases = [
        request.base
        for request in state.requests
        if (request.workload, request.machine_class) == (series.workload, series.machine_class)
        and request.head == head
        and request.base <= good
    ]
    return _request(
        state,
        candidates,
        AbPurpose.CONFIRM,
        base=max(bases, default=good),
        head=head,
        limits=limits,
    )


def _bisection_request(
    state: ConfirmationState, search: Bisection, limits: ConfirmationLimits
) -> AbRequest:
    """Return the request for the middle one of the remaining commits against the last good one."""
    candidates = [change.candidate for change in search.changes]
    return _request(
        state, candidates, AbPurpose.BISECT, base=search.good, head=middle_of(search), limits=limits
    )


def _request(
    state: ConfirmationState,
    candidates: Sequence[AbCandidate],
    purpose: AbPurpose,
    *,
    base: int,
    head: int,
    limits: ConfirmationLimits,
) -> AbRequest:
    series = candidates[0].series
    seconds = limits.max_pairs * max(candidate.pair_seconds for candidate in candidates)
    strength = max(candidate.strength for candidate in candidates)
    return AbRequest(
        workload=series.workload,
        machine_class=series.machine_class,
        base=base,
        head=head,
        max_pairs=limits.max_pairs,
        purpose=purpose,
        priority=_trust(state, series) * strength / seconds,
        window=state.window,
    )


def _trust(state: ConfirmationState, series: Series) -> float:
    """Return the share of a workload's candidates that were confirmed, by Laplace's estimate.

    A workload with many false candidates thus waits behind the others.
    """
    answers = [
        answer.is_confirmed
        for answer in state.answered_candidates
        if (answer.series.workload, answer.series.machine_class)
        == (series.workload, series.machine_class)
    ]
    return (sum(answers) + 1) / (len(answers) + 2)


def _affordable(
    drafts: Iterable[AbRequest], state: ConfirmationState, limits: ConfirmationLimits
) -> tuple[AbRequest, ...]:
    """Return the drafts that are not under way and that this window's remaining pairs allow."""
    pending = {_ab_key(request) for request in state.requests}
    new: dict[tuple[str, str, int, int], AbRequest] = {}
    for draft in sorted(drafts, key=_urgency):
        if _ab_key(draft) not in pending:
            new.setdefault(_ab_key(draft), draft)
    remaining = max(0, limits.pairs_per_window - state.pairs)
    return tuple(new.values())[: remaining // limits.max_pairs]


def _confirmations(
    request: AbRequest,
    candidates: Sequence[AbCandidate],
    verdicts: Mapping[str, Verdict],
    pairs: int,
) -> tuple[list[tuple[Bisection, BisectionStatus]], list[AnsweredCandidate]]:
    """Return the bisection of the confirmed candidates, if any, and the answers to the others."""
    confirmed: list[ConfirmedChange] = []
    cleared: list[AnsweredCandidate] = []
    for candidate in sorted(candidates, key=_by_series):
        verdict = verdicts.get(candidate.series.metric.name)
        if (estimate := sure_change(verdict, candidate.harm)) is not None:
            confirmed.append(ConfirmedChange(candidate, estimate))
        else:
            is_measured = verdict is not None and verdict.outcome is not Outcome.NOT_MEASURED
            strength = candidate.strength if is_measured else 0.0
            cleared.append(_answer(candidate, candidate.commits, strength, is_confirmed=False))
    if not confirmed:
        return [], cleared
    search = Bisection(
        workload=request.workload,
        machine_class=request.machine_class,
        suspected_range=CommitRange(request.base + 1, request.head),
        good=request.base,
        bad=request.head,
        changes=tuple(confirmed),
        pairs=pairs,
    )
    return [(search, bisection_status(search))], cleared


def _alert(search: Bisection, narrowing: BisectionStatus) -> Alert:
    return Alert(
        workload=search.workload,
        machine_class=search.machine_class,
        suspected_range=search.suspected_range,
        commits=search.commits,
        changes=search.changes,
        narrowing=narrowing,
        pairs=search.pairs,
    )


def _answers(alert: Alert) -> list[AnsweredCandidate]:
    return [
        _answer(change.candidate, alert.commits, change.candidate.strength, is_confirmed=True)
        for change in alert.changes
    ]


def _answer(
    candidate: AbCandidate, commits: CommitRange, strength: float, *, is_confirmed: bool
) -> AnsweredCandidate:
    return AnsweredCandidate(
        series=candidate.series,
        harm=candidate.harm,
        commits=commits,
        newest=candidate.newest,
        strength=strength,
        is_confirmed=is_confirmed,
    )


def _ab_key(request: AbRequest) -> tuple[str, str, int, int]:
    """Return the key that identifies an A/B, whatever its purpose."""
    return (request.workload, request.machine_class, request.base, request.head)


def _urgency(request: AbRequest) -> tuple[bool, float, tuple[str, str, int, int]]:
    is_confirmation = request.purpose is AbPurpose.CONFIRM
    return (is_confirmation, -request.priority, _ab_key(request))


def _strongest_first(
    candidate: AbCandidate,
) -> tuple[float, int, int, int, float, tuple[str, str, str]]:
    return (
        -candidate.strength,
        candidate.bad,
        candidate.good,
        -candidate.newest,
        candidate.change,
        candidate.series.key,
    )


def _by_series(candidate: AbCandidate) -> tuple[tuple[str, str, str], Harm]:
    return (candidate.series.key, candidate.harm)
