"""Jobs that wait, in lines of one team and one shape each, and whose turn it is."""

from bisect import insort
from collections.abc import Iterator, Mapping

Line = tuple[int, int]  # team, shape
Rank = tuple[float, int, int]  # the team's share, the job's key, its row
_Place = tuple[int, int]


class Waiting:
    """Lines of waiting jobs, each sorted: who is behind in a line fits no better than its head."""

    def __init__(self) -> None:
        self._lines: dict[Line, list[_Place]] = {}
        self._least: dict[Line, int] = {}  # no limit of a line is below this
        self.milli = 0  # thousandths of devices that all of them ask for

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, line: Line, *, key: int, job: int, limit_ms: int, milli: int) -> None:
        """Let a job wait in its line, before those with a larger key."""
        insort(self._lines.setdefault(line, []), (key, job))
        self._least[line] = min(limit_ms, self._least.get(line, limit_ms))
        self.milli += milli

    def leave(self, line: Line, *, place: int, milli: int) -> None:
        """Take the job at a place of a line out of it."""
        queue = self._lines[line]
        del queue[place]
        self.milli -= milli
        if not queue:
            del self._lines[line], self._least[line]

    def shortest(self, line: Line, *, within_ms: int, limits: list[int]) -> int | None:
        """Return the first place in a line whose time limit is short enough."""
        if self._least[line] > within_ms:
            return None
        queue = self._lines[line]
        for place, (_, job) in enumerate(queue):
            if limits[job] <= within_ms:
                return place
        self._least[line] = min(limits[job] for _, job in queue)
        return None

    def rank(self, line: Line, place: int, shares: Mapping[int, float]) -> Rank:
        """Return the rank of the job at a place of a line."""
        return (shares.get(line[0], 0.0), *self._lines[line][place])

    def size(self, line: Line) -> int:
        """Return how many wait in a line."""
        return len(self._lines.get(line, ()))

    def lines(self) -> Iterator[Line]:
        """Return the lines in which somebody waits."""
        return iter(self._lines)
