"""Suspicions in, the A/Bs that settle them and in the end alerts with their commit out.

One or two bad points are no news: a detector that speaks so soon is wrong dozens of times in a
thousand commits. They are reason enough to measure. A *suspicion* leads to a *request*: an A/B of
its commit against the last good one. What the A/B bears out becomes an *alert*, everything else
stays silent. Where commits lie between the two, further A/Bs halve them until one is left.

Nothing here waits or knows the time. Whoever drives it calls `ask` with all that looks suspicious
now, has the requests measured in whatever order, and calls `answer` with each A/B's verdicts; the
`Docket` that goes from call to call is a value to store.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from perfledger_baselines.history.attribution import CommitRange, Harm, Series
from perfledger_baselines.history.bisection import divide, middle_of, narrowing_of, sure_change
from perfledger_baselines.history.docket import (
    Alert,
    ConfirmationError,
    Confirmed,
    Docket,
    Limits,
    Narrowing,
    Purpose,
    Request,
    Search,
    Settled,
    Suspicion,
    Trial,
)
from perfledger_baselines.verdict import Outcome, Verdict

# Each A/B of commits that did not change is another chance to call a change. Asking again only for
# a quarter more strength makes the n-th A/B of the same commits need 1.25^n times the first's. With
# half more instead, 79 of 100 changes of 2 % were found and not 83, for a twentieth fewer A/Bs.
STRONGER_BY = 1.25


def ask(
    docket: Docket, suspicions: Iterable[Suspicion], *, window: str, limits: Limits
) -> tuple[Docket, tuple[Request, ...]]:
    """Return the A/Bs to begin now, most promising first, and the docket that knows of them.

    `suspicions` are all that there are now; one that finds no pairs left is simply given again next
    time, or no longer if its series came to reason. `window` names the stretch of time that the
    limit is for, such as a date: another name is another allowance. One request stands for all
    metrics of a workload at a commit; one that becomes suspect while it runs joins it.

    A question that was answered is asked again only when newer points make the suspicion stronger
    by STRONGER_BY, or when nothing could be measured and there are newer points at all.
    """
    if window != docket.window:
        docket = replace(docket, window=window, pairs=0)
    trials = [
        Trial(_trial_request(docket, group, limits), group)
        for group in _by_commit(
            suspicion for suspicion in suspicions if _is_open(docket, suspicion)
        )
    ]
    nexts = [_next_request(docket, search, limits) for search in docket.searches]
    begun = _affordable([*nexts, *(trial.request for trial in trials)], docket, limits)
    under_way = {_question(request): request for request in (*docket.requests, *begun)}
    docket = replace(
        docket,
        trials=docket.trials
        + tuple(
            replace(trial, request=under_way[_question(trial.request)])
            for trial in trials
            if _question(trial.request) in under_way
        ),
        searches=tuple(
            replace(search, request=under_way.get(_question(following)))
            for search, following in zip(docket.searches, nexts, strict=True)
        ),
        pairs=docket.pairs + limits.max_pairs * len(begun),
    )
    return docket, begun


def answer(
    docket: Docket, request: Request, *, verdicts: Iterable[Verdict], pairs: int
) -> tuple[Docket, tuple[Alert, ...]]:
    """Take in what an A/B said and how many pairs it took; return what there is to say now.

    No verdicts at all is the answer of an A/B that could not be measured. Pairs that were promised
    and not needed go back to the window that promised them. Raises ConfirmationError for a request
    that is not under way, such as one that was answered before.
    """
    if request not in docket.requests or pairs < 0:
        msg = f"{request} with {pairs} pairs is no answer that is waited for: answer once, as asked"
        raise ConfirmationError(msg)
    said = {v.metric.name: v for v in verdicts if v.workload == request.workload}
    tried = [trial for trial in docket.trials if trial.request == request]
    searched = [search for search in docket.searches if search.request == request]
    suspicions = [suspicion for trial in tried for suspicion in trial.suspicions]
    convicted, cleared = _tried(request, suspicions, said, pairs)
    parts = [part for search in searched for part in divide(search, request.head, said, pairs)]
    alerts = tuple(_alert(search, narrowing) for search, narrowing in (*convicted, *parts))
    going_on = [s for s, narrowing in (*convicted, *parts) if narrowing is Narrowing.UNDER_WAY]
    back = request.max_pairs - pairs if request.window == docket.window else 0
    docket = replace(
        docket,
        trials=tuple(trial for trial in docket.trials if trial not in tried),
        searches=(*(s for s in docket.searches if s not in searched), *going_on),
        settled=(*docket.settled, *cleared, *(s for a in alerts if a.is_final for s in _closed(a))),
        pairs=docket.pairs - back,
    )
    return docket, alerts


def forget(docket: Docket, *, before: int) -> Docket:
    """Drop what was settled about commits before this one: nobody will suspect them again."""
    kept = tuple(settled for settled in docket.settled if settled.commits.last >= before)
    return replace(docket, settled=kept)


def _is_open(docket: Docket, suspicion: Suspicion) -> bool:
    """Tell whether nobody is looking into this suspicion and no answer to it stands."""
    looked_into = [
        (s.series, s.harm, s.commits) for trial in docket.trials for s in trial.suspicions
    ]
    looked_into += [
        (change.suspicion.series, change.suspicion.harm, search.commits)
        for search in docket.searches
        for change in search.changes
    ]
    return not any(_is_same(suspicion, *other) for other in looked_into) and not any(
        _is_same(suspicion, answered.series, answered.harm, answered.commits)
        and _stands(answered, suspicion)
        for answered in docket.settled
    )


def _is_same(suspicion: Suspicion, series: Series, harm: Harm, commits: CommitRange) -> bool:
    return (
        suspicion.series == series
        and suspicion.harm is harm
        and suspicion.commits.distance(commits) == 0
    )


def _stands(answered: Settled, suspicion: Suspicion) -> bool:
    """Tell whether an answer holds against a suspicion of the same commits."""
    is_stronger = suspicion.strength >= STRONGER_BY * answered.strength
    return answered.is_confirmed or suspicion.newest <= answered.newest or not is_stronger


def _by_commit(suspicions: Iterable[Suspicion]) -> list[tuple[Suspicion, ...]]:
    """Put those together that one A/B can answer; of two for the same commits keep the stronger."""
    kept: dict[tuple[Series, Harm], list[Suspicion]] = {}
    groups: dict[tuple[str, str, int], list[Suspicion]] = {}
    for suspicion in sorted(suspicions, key=_strongest_first):
        series = suspicion.series
        stronger = kept.setdefault((series, suspicion.harm), [])
        if any(suspicion.commits.distance(other.commits) == 0 for other in stronger):
            continue
        stronger.append(suspicion)
        groups.setdefault((series.workload, series.machine_class, suspicion.bad), []).append(
            suspicion
        )
    return [tuple(sorted(group, key=_by_series)) for group in groups.values()]


def _trial_request(docket: Docket, suspicions: Sequence[Suspicion], limits: Limits) -> Request:
    """Ask for the suspicions' commit against a commit that is good for all of them.

    If an A/B of that commit against one that is good for them all is under way, it is the same.
    """
    series, head = suspicions[0].series, suspicions[0].bad
    good = min(suspicion.good for suspicion in suspicions)
    bases = [
        request.base
        for request in docket.requests
        if (request.workload, request.machine_class) == (series.workload, series.machine_class)
        and request.head == head
        and request.base <= good
    ]
    return _request(
        docket,
        suspicions,
        Purpose.CONFIRM,
        base=max(bases, default=good),
        head=head,
        limits=limits,
    )


def _next_request(docket: Docket, search: Search, limits: Limits) -> Request:
    """Ask for the commit in the middle of those that are left against the last good one."""
    suspicions = [change.suspicion for change in search.changes]
    return _request(
        docket, suspicions, Purpose.BISECT, base=search.good, head=middle_of(search), limits=limits
    )


def _request(
    docket: Docket,
    suspicions: Sequence[Suspicion],
    purpose: Purpose,
    *,
    base: int,
    head: int,
    limits: Limits,
) -> Request:
    series = suspicions[0].series
    seconds = limits.max_pairs * max(suspicion.pair_seconds for suspicion in suspicions)
    strength = max(suspicion.strength for suspicion in suspicions)
    return Request(
        workload=series.workload,
        machine_class=series.machine_class,
        base=base,
        head=head,
        max_pairs=limits.max_pairs,
        purpose=purpose,
        priority=_trust(docket, series) * strength / seconds,
        window=docket.window,
    )


def _trust(docket: Docket, series: Series) -> float:
    """Return the share of a workload's answered questions that were confirmed, Laplace's estimate.

    A workload that cries wolf thus waits behind those that do not.
    """
    answers = [
        settled.is_confirmed
        for settled in docket.settled
        if (settled.series.workload, settled.series.machine_class)
        == (series.workload, series.machine_class)
    ]
    return (sum(answers) + 1) / (len(answers) + 2)


def _affordable(drafts: Iterable[Request], docket: Docket, limits: Limits) -> tuple[Request, ...]:
    """Return the drafts that nobody has asked and that this window has pairs for."""
    asked = {_question(request) for request in docket.requests}
    new: dict[tuple[str, str, int, int], Request] = {}
    for draft in sorted(drafts, key=_urgency):
        if _question(draft) not in asked:
            new.setdefault(_question(draft), draft)
    left = max(0, limits.pairs_per_window - docket.pairs)
    return tuple(new.values())[: left // limits.max_pairs]


def _tried(
    request: Request, suspicions: Sequence[Suspicion], said: Mapping[str, Verdict], pairs: int
) -> tuple[list[tuple[Search, Narrowing]], list[Settled]]:
    """Return the search for what the A/B bears out, if anything, and the suspicions it does not."""
    confirmed: list[Confirmed] = []
    cleared: list[Settled] = []
    for suspicion in sorted(suspicions, key=_by_series):
        verdict = said.get(suspicion.series.metric.name)
        if (estimate := sure_change(verdict, suspicion.harm)) is not None:
            confirmed.append(Confirmed(suspicion, estimate))
        else:
            is_measured = verdict is not None and verdict.outcome is not Outcome.NOT_MEASURED
            strength = suspicion.strength if is_measured else 0.0
            cleared.append(_settled(suspicion, suspicion.commits, strength, is_confirmed=False))
    if not confirmed:
        return [], cleared
    search = Search(
        workload=request.workload,
        machine_class=request.machine_class,
        suspected=CommitRange(request.base + 1, request.head),
        good=request.base,
        bad=request.head,
        changes=tuple(confirmed),
        pairs=pairs,
    )
    return [(search, narrowing_of(search))], cleared


def _alert(search: Search, narrowing: Narrowing) -> Alert:
    return Alert(
        workload=search.workload,
        machine_class=search.machine_class,
        suspected=search.suspected,
        commits=search.commits,
        changes=search.changes,
        narrowing=narrowing,
        pairs=search.pairs,
    )


def _closed(alert: Alert) -> list[Settled]:
    return [
        _settled(change.suspicion, alert.commits, change.suspicion.strength, is_confirmed=True)
        for change in alert.changes
    ]


def _settled(
    suspicion: Suspicion, commits: CommitRange, strength: float, *, is_confirmed: bool
) -> Settled:
    return Settled(
        series=suspicion.series,
        harm=suspicion.harm,
        commits=commits,
        newest=suspicion.newest,
        strength=strength,
        is_confirmed=is_confirmed,
    )


def _question(request: Request) -> tuple[str, str, int, int]:
    """Return what an A/B answers, whoever asks."""
    return (request.workload, request.machine_class, request.base, request.head)


def _urgency(request: Request) -> tuple[bool, float, tuple[str, str, int, int]]:
    is_suspicion = request.purpose is Purpose.CONFIRM
    return (is_suspicion, -request.priority, _question(request))


def _strongest_first(
    suspicion: Suspicion,
) -> tuple[float, int, int, int, float, tuple[str, str, str]]:
    return (
        -suspicion.strength,
        suspicion.bad,
        suspicion.good,
        -suspicion.newest,
        suspicion.change,
        suspicion.series.key,
    )


def _by_series(suspicion: Suspicion) -> tuple[tuple[str, str, str], Harm]:
    return (suspicion.series.key, suspicion.harm)
