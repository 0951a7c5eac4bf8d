"""Orders waiting jobs in lines of one team and one request class each."""

from bisect import insort
from collections.abc import Collection, Container, Iterable, Mapping
from heapq import heapify

QueueKey = tuple[int, int]  # team, request class
QueueRank = tuple[float, int, int]  # the team's share, the job's key, its row
QueueHead = tuple[QueueRank, QueueKey]
_Place = tuple[int, int]


class WaitQueue:
    """Sorted lines of waiting jobs; a job fits no better than the head of its line."""

    def __init__(self) -> None:
        self._lines: dict[QueueKey, list[_Place]] = {}
        self._least: dict[QueueKey, int] = {}  # a lower bound on the time limits of each line
        self._line_milli: dict[QueueKey, int] = {}  # that each job of a line requests
        self.milli = 0  # thousandths of devices that all waiting jobs request

    def __bool__(self) -> bool:
        return bool(self._lines)

    @property
    def lines(self) -> Collection[QueueKey]:
        """Return the lines in which jobs wait."""
        return self._lines

    def open_lines(self, blocked: Container[int]) -> list[QueueKey]:
        """Return the lines in which jobs wait but those of `blocked` classes."""
        return [line for line in self._lines if line[1] not in blocked]

    def add(self, line: QueueKey, *, key: int, job: int, limit_ms: int, milli: int) -> None:
        """Add a job to its line, before jobs with a larger key."""
        insort(self._lines.setdefault(line, []), (key, job))
        self._least[line] = min(limit_ms, self._least.get(line, limit_ms))
        self._line_milli[line] = milli
        self.milli += milli

    def leave(self, line: QueueKey, *, place: int) -> None:
        """Remove the job at a place of a line."""
        queue = self._lines[line]
        del queue[place]
        self.milli -= self._line_milli[line]
        if not queue:
            del self._lines[line], self._least[line], self._line_milli[line]

    def first_that_delays_nobody(
        self,
        *,
        within_ms: int,
        spare_milli: int,
        limits: list[int],
        shares: Mapping[int, float],
        lines: Iterable[QueueKey],
    ) -> tuple[int, QueueKey, int] | None:
        """Return the first job that ends `within_ms` or needs no more than is spare (EASY).

        With it are its line, one of `lines`, and its place there.
        """
        candidates = [
            (self.rank(line, place, shares), line, place)
            for line in lines
            if (
                place := 0
                if self._line_milli[line] <= spare_milli
                else self._shortest(line, within_ms=within_ms, limits=limits)
            )
            is not None
        ]
        if not candidates:
            return None
        (_, _, job), line, place = min(candidates)
        return job, line, place

    def _shortest(self, line: QueueKey, *, within_ms: int, limits: list[int]) -> int | None:
        """Return the first place of a line whose job has a time limit of at most `within_ms`."""
        if self._least[line] > within_ms:
            return None
        queue = self._lines[line]
        for index, (_, job) in enumerate(queue):
            if limits[job] <= within_ms:
                return index
        self._least[line] = min(limits[job] for _, job in queue)
        return None

    def rank(self, line: QueueKey, place: int, shares: Mapping[int, float]) -> QueueRank:
        """Return the rank of the job at a place of a line."""
        return (shares.get(line[0], 0.0), *self._lines[line][place])

    def heads(self, shares: Mapping[int, float], lines: Iterable[QueueKey]) -> list[QueueHead]:
        """Return the first job of each of some lines, as a heap by rank."""
        heads = [
            ((shares.get(line[0], 0.0) if shares else 0.0, *self._lines[line][0]), line)
            for line in lines
        ]
        heapify(heads)
        return heads

    def size(self, line: QueueKey) -> int:
        """Return the number of jobs in a line."""
        return len(self._lines.get(line, ()))
