"""Orders waiting jobs in lines of one team and one request class each."""

from bisect import insort
from collections.abc import Callable, Container, Iterable, Mapping
from heapq import heapify, heappop, heappush

QueueKey = tuple[int, int]  # team, request class
QueueRank = tuple[float, int, int]  # the team's share, the job's key, its row
QueueHead = tuple[QueueRank, QueueKey]
_Place = tuple[int, int]


class WaitQueue:
    """Sorted lines of waiting jobs; a job fits no better than the head of its line."""

    def __init__(self) -> None:
        self.lines: dict[QueueKey, list[_Place]] = {}  # in which jobs wait
        self._least: dict[QueueKey, int] = {}  # a lower bound on the time limits of each line
        self._line_milli: dict[QueueKey, int] = {}  # that each job of a line requests
        self.milli = 0  # thousandths of devices that all waiting jobs request

    def __bool__(self) -> bool:
        return bool(self.lines)

    def open_lines(self, blocked: Container[int]) -> list[QueueKey]:
        """Return the lines in which jobs wait but those of `blocked` classes."""
        return [line for line in self.lines if line[1] not in blocked]

    def add(self, line: QueueKey, *, key: int, job: int, limit_ms: int, milli: int) -> None:
        """Add a job to its line, before jobs with a larger key."""
        insort(self.lines.setdefault(line, []), (key, job))
        self._least[line] = min(limit_ms, self._least.get(line, limit_ms))
        self._line_milli[line] = milli
        self.milli += milli

    def leave(self, line: QueueKey, *, place: int) -> None:
        """Remove the job at a place of a line."""
        queue = self.lines[line]
        del queue[place]
        self.milli -= self._line_milli[line]
        if not queue:
            del self.lines[line], self._least[line], self._line_milli[line]

    def start_early(
        self,
        lines: Iterable[QueueKey],
        start: Callable[[int], bool],
        *,
        within_ms: int,
        spare_milli: int,
        limits: list[int],
        shares: Mapping[int, float],
    ) -> int:
        """Start jobs that end `within_ms` or need no more than is spare, in their order (EASY).

        They are jobs of `lines`. `start` returns whether a job fits; where one does not, no other
        of its line is tried. Returns the thousandths that are still spare.
        """
        line_milli, least = self._line_milli, self._least
        candidates = [
            (self.rank(line, place, shares), line, place)
            for line in lines
            if line_milli[line] <= spare_milli or least[line] <= within_ms
            if (place := self._first_early(line, within_ms, spare_milli, limits)) is not None
        ]
        heapify(candidates)
        while candidates:
            (_, _, job), line, place = heappop(candidates)
            is_short = limits[job] <= within_ms
            if is_short or line_milli[line] <= spare_milli:
                if not start(job):
                    continue
                if not is_short:
                    spare_milli -= line_milli[line]
                self.leave(line, place=place)
            # Else others have taken what was spare, and a later job of the line may be short.
            next_place = self._first_early(line, within_ms, spare_milli, limits)
            if next_place is not None:
                heappush(candidates, (self.rank(line, next_place, shares), line, next_place))
        return spare_milli

    def _first_early(
        self, line: QueueKey, within_ms: int, spare_milli: int, limits: list[int]
    ) -> int | None:
        """Return the first place of a line whose job ends `within_ms` or needs what is spare."""
        queue = self.lines.get(line)
        if queue is None:
            return None
        if self._line_milli[line] <= spare_milli:
            return 0
        if self._least[line] > within_ms:
            return None
        for place, (_, job) in enumerate(queue):
            if limits[job] <= within_ms:
                return place
        self._least[line] = min(limits[job] for _, job in queue)
        return None

    def rank(self, line: QueueKey, place: int, shares: Mapping[int, float]) -> QueueRank:
        """Return the rank of the job at a place of a line."""
        return (shares.get(line[0], 0.0), *self.lines[line][place])

    def heads(self, shares: Mapping[int, float], lines: Iterable[QueueKey]) -> list[QueueHead]:
        """Return the first job of each of some lines, as a heap by rank."""
        heads = [
            ((shares.get(line[0], 0.0) if shares else 0.0, *self.lines[line][0]), line)
            for line in lines
        ]
        heapify(heads)
        return heads

    def size(self, line: QueueKey) -> int:
        """Return the number of jobs in a line."""
        return len(self.lines.get(line, ()))
