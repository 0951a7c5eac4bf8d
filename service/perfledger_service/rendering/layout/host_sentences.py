"""Words the sentence that a machine was busy during a check."""

from collections.abc import Iterable

from perfledger.records import FindingLevel, HostFinding
from perfledger_runners.machine.fitness_gate import AFTERWARDS


def busy_sentence(findings: Iterable[HostFinding]) -> str:
    """Return what kept the machine busy and what would help most, "" if it was not busy.

    It may quote the names of other programs, which are untrusted.
    """
    busy = [each for each in findings if each.level is FindingLevel.BUSY]
    if not busy:
        return ""
    names = {each.name for each in busy}
    disturbances = "; ".join(
        f"{each.name}: {each.detail}" + "; afterwards too" * (f"{each.name}{AFTERWARDS}" in names)
        for each in busy
        if each.name.removesuffix(AFTERWARDS) not in names - {each.name}
    )
    advice = next((each.advice for each in busy if each.advice), "")
    return f"The machine was busy ({disturbances})." + (f" What helps: {advice}." if advice else "")
