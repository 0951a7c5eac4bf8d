"""Words the answers to commands in comments.

An answer never begins with a command, so that no answer is taken for one.
"""

from collections.abc import Sequence

from perfledger_service.rendering.layout.escape import code, fence, sentence

MOST_WORKLOADS = 20
USAGE = (
    "/perfledger accept WORKLOAD --reason WHY [--until YYYY-MM-DD]",
    "/perfledger ignore --reason WHY",
    "/perfledger approve COMMIT USD_A_YEAR [unpriced] [until YYYY-MM-DD]: WHY",
    "/perfledger rerun",
    "/perfledger bisect",
    "/perfledger help",
)
_HELP = f"""\
{fence(chr(10).join(USAGE))}

`accept` says that a regression of this pull request is intended: its check is neutral. That \
counts for what is judged by now and, with `--until`, for later pushes until that day. `ignore` \
makes the check of this commit neutral, except where a cost policy stops it. Both need write \
access. `approve` is for those whom a cost policy names. A command is the first line of a new \
comment; editing it changes nothing.
"""
_QUESTIONS = {
    "help": _HELP,
    "rerun": """\
perfledger starts no jobs: open **Details** of the check's job and choose **Re-run jobs**. The new \
result replaces the one before. A larger `--budget` settles what was too noisy to tell.
""",
    "bisect": f"""\
perfledger starts no jobs. On a machine of the same class, in a clone of the repository:

{fence("perfledger history bisect WORKLOAD GOOD BAD --budget 30m", language="sh")}
""",
}


def answer_marker(comment_id: int) -> str:
    """Return the invisible first line by which the answer to a comment is found again."""
    return f"<!-- perfledger:answer:{comment_id} -->"


def question_answer(name: str) -> str:
    """Return the answer to help, rerun or bisect."""
    return _QUESTIONS[name]


def invalid_answer(problem: str) -> str:
    """Return the answer to what is no command, with those that there are."""
    return f"{sentence(problem, in_table=False)}\n\n{_HELP}"


def refusal_answer(reason: str) -> str:
    """Return the answer to a command that is not carried out, "" without a reason."""
    return f"Not done: {sentence(reason, in_table=False)}\n" if reason else ""


def no_write_access_answer(login: str, repository: str) -> str:
    """Return the answer to a command of somebody who may not give it."""
    return (
        f"Not done: this needs write access to {code(repository, limit=200, in_table=False)}, "
        f"which {code(login, in_table=False)} does not have.\n"
    )


def unknown_workload_answer(workload: str, acceptable: Sequence[str]) -> str:
    """Return the answer to an acceptance of what did not regress, with what did."""
    names = [f"- {code(name, in_table=False)}\n" for name in acceptable[:MOST_WORKLOADS]]
    more = len(acceptable) - len(names)
    rest = f"- and {more} more\n" if more else ""
    there = "These can be accepted:\n\n" if names else "Nothing regressed.\n"
    return (
        f"Not done: {code(workload, in_table=False)} did not regress in the newest result. "
        f"{there}{''.join(names)}{rest}"
    )
