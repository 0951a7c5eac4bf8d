"""Holds maintainers' acceptances of a pull request's regressions."""

from dataclasses import dataclass
from datetime import date, datetime

# How far ahead an acceptance, an approval of a cost or an expectation of an event may end; prices
# are not known further ahead.
MAX_DAYS = 366


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A maintainer's statement that a regression is intended, or a commit's result does not count.

    `workload` is the one that may be slower, "" if all of `head_sha` is ignored. `merged_sha` is
    the commit as which the pull request was merged, "" until it is.
    """

    pull_request: int
    head_sha: str
    login: str
    workload: str
    reason: str
    accepted_at: datetime
    until: date | None
    merged_sha: str = ""

    @property
    def is_of_commit(self) -> bool:
        """Return whether all of one commit is ignored."""
        return not self.workload

    def covers(self, head_sha: str, judged_at: datetime) -> bool:
        """Return whether the acceptance applies to a head that was judged at a time.

        It applies to results judged before it, and until its last day if it has one.
        """
        if self.is_of_commit:
            return head_sha == self.head_sha
        is_in_time = self.until is not None and judged_at.date() <= self.until
        return judged_at <= self.accepted_at or is_in_time
