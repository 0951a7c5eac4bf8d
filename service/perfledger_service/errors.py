"""Every error the service raises on purpose.

PerfledgerError             an internal failure that we can name      → 500, exit 4
├── UsageError              a command or request that cannot be done  → 400, exit 2
│   └── NotFoundError       nothing by that name                      → 404, exit 2
├── SettingsError           a setting is missing or wrong             → 500, exit 2
├── RefusedError            not allowed: wrong token, wrong project   → 401 or 403, exit 2
├── TooLargeError           more bytes than the limit                 → 413, exit 2
├── ConflictError           contradicts what is already stored        → 409, exit 2
├── NotMeasuredError        nothing at all could be measured          → 500, exit 3
├── CatalogError            a price service refused or did not answer → 502, exit 4
└── GitHubError             GitHub refused or did not answer          → 502, exit 4

Exit 1 is a regression and exit 3 is undecided or not measured: verdicts, most of the time.
"""


class PerfledgerError(Exception):
    """Base of the errors that are answers, not bugs: shown without a traceback."""

    exit_code = 4
    status = 500


class UsageError(PerfledgerError):
    """What was asked cannot be done as it was asked."""

    exit_code = 2
    status = 400


class NotFoundError(UsageError):
    """Nothing by that name."""

    status = 404


class SettingsError(PerfledgerError):
    """A setting is missing or wrong."""

    exit_code = 2


class RefusedError(PerfledgerError):
    """Not allowed; `status` is 401 without a valid token and 403 with one of another project."""

    exit_code = 2
    status = 403

    def __init__(self, message: str, *, status: int = 403) -> None:
        super().__init__(message)
        self.status = status


class TooLargeError(PerfledgerError):
    """More bytes than the limit."""

    exit_code = 2
    status = 413


class ConflictError(PerfledgerError):
    """Contradicts what is already stored."""

    exit_code = 2
    status = 409


class NotMeasuredError(PerfledgerError):
    """Nothing at all could be measured: there is no interpreter that can."""

    exit_code = 3


class CatalogError(PerfledgerError):
    """A provider's price service refused, did not answer, or answered with something else."""

    status = 502


class GitHubError(PerfledgerError):
    """GitHub refused or did not answer.

    `github_status` is its answer's, None where there was none; `is_transient` says that the same
    request may succeed later.
    """

    status = 502

    def __init__(
        self, message: str, *, github_status: int | None = None, is_transient: bool = False
    ) -> None:
        super().__init__(message)
        self.github_status = github_status
        self.is_transient = is_transient
