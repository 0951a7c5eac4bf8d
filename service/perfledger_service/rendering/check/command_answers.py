"""Words the replies to commands in comments.

A reply never begins with a command, so that it is never read as one.
"""

from collections.abc import Sequence

from perfledger_service.rendering.check.job_answers import NO_RUNNER
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, code, fence, sentence

MAX_WORKLOADS = 20
USAGE = (
    "/perfledger accept WORKLOAD --reason WHY [--until YYYY-MM-DD]",
    "/perfledger ignore --reason WHY",
    "/perfledger approve COMMIT USD_A_YEAR [unpriced] [until YYYY-MM-DD]: WHY",
    "/perfledger rerun",
    "/perfledger bisect [WORKLOAD]",
    "/perfledger allow COMMIT",
    "/perfledger disallow",
    "/perfledger help",
)
_HELP = f"""\
{fence(chr(10).join(USAGE))}

`accept` says that a regression of this pull request is intended: its check is neutral. This \
applies to the results judged so far and, with `--until`, to later pushes until that day. `ignore` \
makes the check of this commit neutral, unless a cost policy blocks it. `rerun` measures the \
newest commit again on a runner of the service's queue, and `bisect` searches this pull request's \
commits for the one that changed a workload. `allow` lets those runners run one commit of a fork, \
until the next push or `disallow`: read its code first. All of these need write access. `approve` \
is for people named in a cost policy. A command is the first line of a new comment; editing it \
changes nothing.
"""


def answer_marker(comment_id: int) -> str:
    """Return the invisible first line that identifies the reply to a comment."""
    return f"<!-- perfledger:answer:{comment_id} -->"


def help_answer() -> str:
    """Return the list of commands."""
    return _HELP


def invalid_answer(problem: str) -> str:
    """Return the reply to an invalid command, with the list of commands."""
    return f"{sentence(problem, in_table=False)}\n\n{_HELP}"


def refusal_answer(reason: str) -> str:
    """Return the reply to a refused command, "" without a reason."""
    return f"Not done: {sentence(reason, in_table=False)}\n" if reason else ""


def no_write_access_answer(login: str, repository: str) -> str:
    """Return the reply to a command whose author lacks write access."""
    project = code(repository, limit=MAX_LONG_NAME, in_table=False)
    return (
        f"Not done: this needs write access to {project}, "
        f"which {code(login, in_table=False)} does not have.\n"
    )


def unknown_workload_answer(workload: str, acceptable: Sequence[str]) -> str:
    """Return the reply to accepting a workload that did not regress; it lists those that did."""
    there = "These can be accepted:\n\n" if acceptable else "Nothing regressed.\n"
    return (
        f"Not done: {code(workload, in_table=False)} did not regress in the newest result. "
        f"{there}{_names(acceptable)}"
    )


def which_workload_answer(regressed: Sequence[str]) -> str:
    """Return the reply to `bisect` without a workload, where none or several regressed."""
    if not regressed:
        return "Not done: nothing regressed. Name a workload: `/perfledger bisect WORKLOAD`.\n"
    return f"Not done: name one of these, `/perfledger bisect WORKLOAD`:\n\n{_names(regressed)}"


def unmeasured_answer(workload: str, measured: Sequence[str]) -> str:
    """Return the reply to bisecting a workload that the newest result lacks."""
    there = "It has these:\n\n" if measured else "It has none.\n"
    return (
        f"Not done: {code(workload, in_table=False)} is not a workload of the newest result. "
        f"{there}{_names(measured)}"
    )


def fork_answer(head_sha: str) -> str:
    """Return the reply to running a fork's commit that nobody has allowed."""
    return (
        "Not done: this pull request comes from a fork, and nobody has allowed its newest "
        f"commit. Read its code, then comment `/perfledger allow {head_sha}`\n"
    )


def allowed_answer(head_sha: str, why: str) -> str:
    """Return the reply when a fork's commit is allowed but does not run yet."""
    return f"{code(head_sha, in_table=False)} is allowed until the next push. {why}"


def no_runner_answer(machine_classes: Sequence[str]) -> str:
    """Return the reply when no runner measures any of the machine classes."""
    names = ", ".join(code(name, in_table=False) for name in machine_classes[:MAX_WORKLOADS])
    return f"Not done on {names}: {NO_RUNNER}.\n"


def _names(workloads: Sequence[str]) -> str:
    names = [f"- {code(name, in_table=False)}\n" for name in workloads[:MAX_WORKLOADS]]
    more = len(workloads) - len(names)
    return "".join(names) + (f"- and {more} more\n" if more else "")
