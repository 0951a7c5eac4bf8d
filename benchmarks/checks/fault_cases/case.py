"""A planted fault or control: the two commits of a repository, and what a check must say."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

CONFIGURATION = 'margin = 0.25\nfloor = 0.1\nmax_pairs = 6\nbudget = "60s"\ntimeout = "40s"\n'
ROUNDS = 30_000  # some 2 ms of Python
WORK = """
def work(rounds=30_000):
    total = 0
    for number in range(rounds):
        total += number * number
    return total
"""
BENCHMARK = f"""
import perfledger
{WORK}
@perfledger.workload()
def steps():
    return work
"""
# What a check may say of a change that is not right: never "unchanged", never "improved".
REGRESSED = "regressed"
NOT_GREEN = "not green"  # one or the other, as far as other load lets it see
NOT_MEASURED = "not measured"
SILENT = "silent"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCase:
    """A base commit's files, what head changes (None removes a file), and what a check must say.

    `words` is a pattern that must be in the report, and names the fault. `prepare` makes what is
    beside the repository, in its own folder, and returns variables for the check.
    """

    name: str
    group: str
    head: Mapping[str, str | bytes | None]
    expected: str
    words: str = ""
    base: Mapping[str, str | bytes] = field(default_factory=lambda: {"benchmarks/b.py": BENCHMARK})
    settings: str = ""
    prepare: Callable[[Path, Path], Mapping[str, str]] | None = None
    options: tuple[str, ...] = ()
    loops: int = 0  # of foreign load beside the check

    @property
    def files(self) -> Mapping[str, str | bytes]:
        """Return the files of the base commit, with the configuration."""
        return {"perfledger.toml": CONFIGURATION + self.settings, **self.base}


def benchmark(body: str, *, before: str = "") -> str:
    """Return a benchmark whose workload has this body, indented by four blanks."""
    return f"{before}\nimport perfledger\n{WORK}\n@perfledger.workload()\ndef steps():\n{body}\n"


def step(body: str, *, before: str = "") -> str:
    """Return a benchmark whose step has these lines."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return benchmark(f"    def step():\n{lines}\n    return step", before=before)


def replaced(text: str, old: str, new: str) -> str:
    """Return a text with a part replaced, which must be there."""
    if old not in text:
        msg = f"{old!r} is not in the text that a fault changes"
        raise ValueError(msg)
    return text.replace(old, new)
