"""Orders waiting jobs in lines of one team and one request class each."""

from bisect import insort
from collections.abc import Iterator, Mapping

QueueKey = tuple[int, int]  # team, request class
QueueRank = tuple[float, int, int]  # the team's share, the job's key, its row
_Place = tuple[int, int]


class WaitQueue:
    """Sorted lines of waiting jobs; a job fits no better than the head of its line."""

    def __init__(self) -> None:
        self._lines: dict[QueueKey, list[_Place]] = {}
        self._least: dict[QueueKey, int] = {}  # a lower bound on the time limits of each line
        self.milli = 0  # thousandths of devices that all waiting jobs request

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, line: QueueKey, *, key: int, job: int, limit_ms: int, milli: int) -> None:
        """Add a job to its line, before jobs with a larger key."""
        insort(self._lines.setdefault(line, []), (key, job))
        self._least[line] = min(limit_ms, self._least.get(line, limit_ms))
        self.milli += milli

    def leave(self, line: QueueKey, *, place: int, milli: int) -> None:
        """Remove the job at a place of a line."""
        queue = self._lines[line]
        del queue[place]
        self.milli -= milli
        if not queue:
            del self._lines[line], self._least[line]

    def shortest(self, line: QueueKey, *, within_ms: int, limits: list[int]) -> int | None:
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

    def size(self, line: QueueKey) -> int:
        """Return the number of jobs in a line."""
        return len(self._lines.get(line, ()))

    def lines(self) -> Iterator[QueueKey]:
        """Return the lines with waiting jobs."""
        return iter(self._lines)
