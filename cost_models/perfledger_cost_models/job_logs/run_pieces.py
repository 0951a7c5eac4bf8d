"""Joins the rows into which Slurm's exports divide a run, and finds jobs that ran before theirs.

`sacct --truncate` replaces a start before --starttime, and an end after --endtime, by these times,
and keeps Submit. In daily exports a run of three days is therefore three rows, and the second and
third row do not begin where the run did. A requeue changes Submit (`man sacct`), so rows of the
same job and Submit count as pieces of one run. Where a site's requeue keeps Submit, the wait of a
later run cannot be told from such a piece: it is unknown, too.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

from perfledger.time_units import SECONDS_PER_DAY, SECONDS_PER_MINUTE
from perfledger_cost_models.job_logs.gaps import LogGap
from perfledger_cost_models.job_logs.table import Job, JobLogError

# Exports begin at an hour or a quarter of one, hardly at another second.
_USUAL_START_S = 15 * SECONDS_PER_MINUTE


@dataclass(frozen=True, slots=True)
class RunPiece:
    """A row of a run as a job, with the row's times in seconds since 1970."""

    job: Job
    submit_s: float  # the job's own may be later: when it could first start
    start_s: float  # infinite if it had not begun
    end_s: float | None

    @property
    def moment(self) -> tuple[str, float]:
        """Return the cluster and the start: clusters are exported at different times."""
        return self.job.id.rpartition("/")[0], self.start_s

    @property
    def may_be_cut(self) -> bool:
        """Return whether it was submitted before its start, so that it may have run before that."""
        return self.job.submit_s < self.start_s < inf

    def continues(self, earlier: "RunPiece") -> bool:
        """Return whether it goes on where an earlier piece of its run ends, on the same devices."""
        is_same_size = _devices(self.job) == _devices(earlier.job)
        return earlier.end_s == self.start_s and is_same_size


def whole_jobs(pieces: Sequence[RunPiece]) -> Iterator[Job | LogGap]:
    """Yield the job of each run, in the order of their first rows, and gaps between their pieces.

    A job `is_cut` where its start may be a cut: an earlier piece of its run does not reach it;
    another run of its cluster was cut at that moment; it is midnight in the export's own time; or
    it is the first start of its cluster, at a quarter of an hour or of several jobs with different
    submissions. Each such job was submitted before. It is in the table from its piece's start on.

    Where two runs or more go on after the same stretch, or one after a stretch that may be an
    export, the rows of that stretch are missing. Raises JobLogError for pieces of one run that
    overlap.
    """
    runs: dict[tuple[str, float], list[RunPiece]] = {}
    for piece in pieces:
        runs.setdefault((piece.job.id, piece.submit_s), []).append(piece)
    cuts = _first_starts_if_cut(pieces)
    joined: list[list[RunPiece]] = []
    for run in runs.values():
        began = sorted((each for each in run if each.start_s < inf), key=lambda each: each.start_s)
        cuts.update(each.moment for each in began[1:])
        joined.append(_joined_pieces(began) or run[:1])
    for wholes in joined:
        for index, piece in enumerate(wholes):
            is_cut = index > 0 or (piece.may_be_cut and _is_at_cut(piece, cuts))
            yield _cut_job(piece) if is_cut else piece.job
    yield from _missing_stretches(joined)


def _missing_stretches(joined: Sequence[Sequence[RunPiece]]) -> Iterator[LogGap]:
    """Yield the stretches between the pieces of runs that did not end in them."""
    runs = Counter(
        (first.end_s, second.start_s)
        for wholes in joined
        for first, second in pairwise(wholes)
        if first.end_s is not None and first.end_s < second.start_s
    )
    for (end_s, start_s), count in sorted(runs.items()):
        if count > 1 or (end_s % _USUAL_START_S == 0 and start_s % _USUAL_START_S == 0):
            yield LogGap(end_s, start_s)


def _first_starts_if_cut(pieces: Sequence[RunPiece]) -> set[tuple[str, float]]:
    """Return each cluster's first start at which an export with --truncate may begin."""
    firsts: dict[str, float] = {}
    for piece in pieces:
        cluster, start_s = piece.moment
        firsts[cluster] = min(firsts.get(cluster, inf), start_s)
    submissions: dict[tuple[str, float], set[float]] = {}
    for piece in pieces:
        if piece.may_be_cut and piece.start_s == firsts[piece.moment[0]]:
            submissions.setdefault(piece.moment, set()).add(piece.submit_s)
    return {
        moment
        for moment, each in submissions.items()
        if len(each) > 1 or moment[1] % _USUAL_START_S == 0
    }


def _joined_pieces(began: Sequence[RunPiece]) -> list[RunPiece]:
    """Return the pieces of a run, joined where one continues another; raise JobLogError."""
    wholes: list[RunPiece] = []
    for piece in began:
        last = wholes[-1] if wholes else None
        if last is not None and last.end_s is not None and piece.start_s < last.end_s:
            msg = (
                f"rows of job {piece.job.id[:40]!r} overlap, and its load would count twice: "
                "remove one of them, or export the whole period at once"
            )
            raise JobLogError(msg)
        if last is not None and piece.continues(last):
            wholes[-1] = _join(last, piece)
        else:
            wholes.append(piece)
    return wholes


def _join(first: RunPiece, last: RunPiece) -> RunPiece:
    run_s = None if last.end_s is None else last.end_s - first.start_s
    return replace(first, job=replace(first.job, run_s=run_s), end_s=last.end_s)


def _is_at_cut(piece: RunPiece, cuts: Collection[tuple[str, float]]) -> bool:
    return piece.moment in cuts or piece.start_s % SECONDS_PER_DAY == 0


def _devices(job: Job) -> tuple[int, int]:
    return job.devices, job.share_milli


def _cut_job(piece: RunPiece) -> Job:
    return replace(piece.job, submit_s=piece.start_s, wait_s=0.0, is_cut=True)
