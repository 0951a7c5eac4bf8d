"""Defines every error that the service raises on purpose.

PerfledgerError             an internal failure that we can name      → 500, exit 4
├── UsageError              a command or request is invalid           → 400, exit 2
│   └── NotFoundError       the named thing does not exist            → 404, exit 2
│       └── RemovedError    it was removed after its retention period → 410, exit 2
├── SettingsError           a setting is missing or wrong             → 500, exit 2
├── RefusedError            not allowed: wrong token, wrong project   → 401 or 403, exit 2
├── TooLargeError           more bytes than the limit                 → 413, exit 2
├── ConflictError           contradicts what is already stored        → 409, exit 2
├── TooManyRequestsError    more than a project may send in an hour   → 429, exit 2
├── NotMeasuredError        nothing could be measured                 → 500, exit 3
├── ExcludedDeviceError     this machine's device is not to be used   → 500, exit 6
├── PriceServiceError       a price service refused or did not answer → 502, exit 4
├── NoticeServiceError      a webhook or mail server took no notice   → 502, exit 4
└── GitHubError             GitHub refused or did not answer          → 502, exit 4

Exit 1 is a regression; exit 3 is usually a verdict too: undecided or not measured.
"""

INTERNAL = "an internal error: see the service's log"  # shown in place of a bug's text


class PerfledgerError(Exception):
    """Base of the errors that are expected: they are shown without a traceback."""

    exit_code = 4
    status = 500
    problem = "internal"  # its name in the API's answers: programs depend on it


class UsageError(PerfledgerError):
    """A command or request that is invalid."""

    exit_code = 2
    status = 400
    problem = "usage"


class NotFoundError(UsageError):
    """A named thing that does not exist."""

    status = 404
    problem = "not-found"


class RemovedError(NotFoundError):
    """A thing that was stored and removed after its retention period."""

    status = 410
    problem = "removed"


class SettingsError(PerfledgerError):
    """A setting that is missing or wrong."""

    exit_code = 2
    problem = "settings"


class RefusedError(PerfledgerError):
    """A refused request; `status` is 401 without a valid token, 403 with another project's."""

    exit_code = 2
    status = 403
    problem = "refused"

    def __init__(self, message: str, *, status: int = 403) -> None:
        super().__init__(message)
        self.status = status


class TooLargeError(PerfledgerError):
    """Input with more bytes than the limit."""

    exit_code = 2
    status = 413
    problem = "too-large"


class ConflictError(PerfledgerError):
    """Input that contradicts what is already stored."""

    exit_code = 2
    status = 409
    problem = "conflict"


class TooManyRequestsError(PerfledgerError):
    """More requests than a project may send in an hour."""

    exit_code = 2
    status = 429
    problem = "too-many-requests"


class NotMeasuredError(PerfledgerError):
    """A check that could measure nothing, because no interpreter can run the workloads."""

    exit_code = 3
    problem = "not-measured"


class ExcludedDeviceError(PerfledgerError):
    """A device that is not to be measured on, as one in quarantine: another one may do."""

    exit_code = 6
    problem = "excluded-device"


class PriceServiceError(PerfledgerError):
    """A provider's price service that refused, did not answer, or sent something unexpected."""

    status = 502
    problem = "price-service"


class NoticeServiceError(PerfledgerError):
    """A webhook or a mail server that refused a notice or did not answer.

    `is_transient` means that the same notice may be taken later, but not within `wait_s` seconds,
    if that is known.
    """

    status = 502
    problem = "notice-service"

    def __init__(
        self, message: str, *, is_transient: bool = False, wait_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.is_transient = is_transient
        self.wait_s = wait_s


class GitHubError(PerfledgerError):
    """A request that GitHub refused or did not answer.

    `github_status` is None without an answer; `is_transient` means that the same request may
    succeed later, but not within `wait_s` seconds, if that is known.
    """

    status = 502
    problem = "github"

    def __init__(
        self,
        message: str,
        *,
        github_status: int | None = None,
        is_transient: bool = False,
        wait_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.github_status = github_status
        self.is_transient = is_transient
        self.wait_s = wait_s
