from perfledger.records import FindingLevel, HostFinding
from perfledger_service.rendering.layout.host_sentences import busy_sentence


def finding(level, name="other programs", advice=""):
    return HostFinding(name=name, level=level, detail="they use 2 cores", advice=advice)


def test_a_machine_that_was_not_busy_has_no_sentence():
    quiet = [finding(level) for level in FindingLevel if level is not FindingLevel.BUSY]

    assert busy_sentence(quiet) == ""
    assert busy_sentence(()) == ""


def test_everything_that_kept_it_busy_is_said_and_the_first_advice():
    findings = [
        finding(FindingLevel.BUSY, "stolen time"),
        finding(FindingLevel.NOISY, "turbo", "turn it off"),
        finding(FindingLevel.BUSY, advice="stop them"),
        finding(FindingLevel.BUSY, "memory", "add some"),
    ]

    assert busy_sentence(findings) == (
        "The machine was busy (stolen time: they use 2 cores; other programs: they use 2 cores; "
        "memory: they use 2 cores). What helps: stop them."
    )


def test_what_was_so_before_and_after_is_said_once():
    before, after = (
        finding(FindingLevel.BUSY, name)
        for name in ("other programs", "other programs, afterwards")
    )

    assert busy_sentence([before, after]) == (
        "The machine was busy (other programs: they use 2 cores; afterwards too)."
    )
    assert busy_sentence([after]) == (
        "The machine was busy (other programs, afterwards: they use 2 cores)."
    )


def test_without_advice_there_is_none():
    assert busy_sentence([finding(FindingLevel.BUSY)]) == (
        "The machine was busy (other programs: they use 2 cores)."
    )
