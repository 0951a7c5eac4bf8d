"""States how a verdict was reached: machine, revisions and plan."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from perfledger.bundle import Plan
from perfledger.metrics import KERNELS
from perfledger.records import Machine, short_sha
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.spread_prior import PriorSource
from perfledger_service.rendering.layout import escape, number_format, vocabulary
from perfledger_service.values.report import Report

_MAX_OWN = 4  # workloads with their own rules that are named
_MIN_NAME = 3  # shorter names also occur inside other words


@dataclass(frozen=True, slots=True)
class ProvenanceFact:
    """A fact: `value` is our own text, `untrusted` is untrusted text."""

    name: str
    value: str = ""
    untrusted: tuple[str, ...] = ()


def machine_facts(machine: Machine) -> tuple[ProvenanceFact, ...]:
    """Return the known facts about the machine."""
    return tuple(fact for fact in _machine_facts(machine) if fact.value or any(fact.untrusted))


def revision_facts(report: Report) -> tuple[ProvenanceFact, ...]:
    """Return the two compared commits."""
    facts: list[ProvenanceFact] = []
    for name, revision in (("Base", report.base), ("Head", report.head)):
        value = short_sha(revision.sha)
        if revision.is_dirty:
            value += " with uncommitted changes"
        untrusted = tuple(text for text in (revision.ref, revision.subject) if text)
        facts.append(ProvenanceFact(name, value, untrusted))
    return tuple(facts)


def untrusted_names(report: Report) -> tuple[str, ...]:
    """Return the untrusted texts that our sentences may quote."""
    machine = report.machine
    names = (machine.model, machine.cpu_model, *(spec.id for spec in report.workloads[:100]))
    return tuple(name for name in names if len(name) > _MIN_NAME)


def decision_sentences(report: Report) -> tuple[str, ...]:
    """Return the decision rule in sentences, with this check's numbers; empty without verdicts."""
    if not report.verdicts:
        return ()
    plan = report.plan
    kernels = {(each.workload, KERNELS.name) for each in report.kernels}
    tests = sum(
        each.outcome is not Outcome.NOT_MEASURED
        and (each.workload, each.metric.name) not in kernels
        for each in report.verdicts
    )
    pairs = sorted({v.estimate.pairs for v in report.verdicts if v.estimate is not None})
    many = "no pairs" if not pairs else number_format.quantity(pairs[0], "pair")
    if len(pairs) > 1:
        many = f"{pairs[0]} to {pairs[-1]} pairs"
    looks = ", ".join(str(look) for look in plan.looks[:20])
    alpha, margin, floor = map(number_format.margin, (plan.alpha, plan.margin, plan.floor))
    red = (
        f"Regressed or improved: by more than {floor}{_own_floors(report)}, with at most a "
        f"{alpha} chance of any false one in the whole check (Holm's correction over all its "
        f"{number_format.quantity(tests, 'test')})."
    )
    green = (
        f"Unchanged: proven to lie within {margin} either way{_own_margins(report)}. Undecided: "
        "neither is proven."
    )
    alpha_of_tests = DecisionRule.from_plan(plan).alpha
    wide, narrow = (number_format.margin(1 - share * alpha_of_tests) for share in (1, 2))
    level = f"Each interval has level {wide} ({narrow} for unchanged, which it proves)"
    stop = f"{level}."
    if looks:
        stop = f"{level}, whichever look measuring stopped at; it could stop after {looks} pairs."
    return (
        *(_pairs_sentence(report, many), red, green),
        *_own_metrics(report),
        *_of_kernels(report),
        stop,
        *_leaning(report),
        *_check_cost(report),
    )


def _check_cost(report: Report) -> tuple[str, ...]:
    """Return the cost of the check itself, if its bundle states how long it held its machine."""
    cost = report.check_cost
    if cost is None:
        return ()
    devices = number_format.quantity(report.machine.count, "device")
    each_s = cost.device_s / max(1, report.machine.count)
    beginning = f"The check held {devices} for {number_format.duration(each_s)}"
    if cost.low_usd is None or cost.high_usd is None:
        settle = "set `device_price`, or declare a fleet with an option for this accelerator"
        return (f"{beginning}; the cost of that is unknown: {settle}.",)
    amount = number_format.usd(cost.high_usd)
    if cost.low_usd != cost.high_usd:
        amount = f"{number_format.usd_interval(cost.low_usd, cost.high_usd)}{number_format.NBSP}USD"
    return (f"{beginning}: {amount}, at the price of {cost.source}.",)


def _of_kernels(report: Report) -> tuple[str, ...]:
    """Return how kernels were judged; empty if they were not."""
    plan = report.plan
    families = sum(each.families for each in report.kernels)
    if not report.kernels:
        return ()
    alpha = number_format.margin(plan.kernel_share * plan.alpha)
    sentence = (
        f"Kernels: {families} families, judged by profiled windows of the first pairs, "
        f"{plan.kernel_pairs} at most; their part of that chance is {alpha}. Unchanged: each "
        "proven to add or save no more than the margin, as a share of the step."
    )
    return (sentence,)


def common_margin(report: Report) -> str:
    """Return the margin of all workloads, "" if some have their own."""
    return "" if report.plan.margins else number_format.margin(report.plan.margin)


def own_rule(plan: Plan, workload: str) -> str:
    """Return a workload's own margin and metrics in words, "" without any."""
    parts: list[str] = []
    if workload in plan.margins:
        parts.append(f"margin {number_format.margin(plan.margins[workload])}")
    if workload in plan.metrics:
        parts.append(f"judged by {metric_words(plan.metrics[workload])}")
    return ", ".join(parts)


def metric_words(names: Iterable[str]) -> str:
    """Return metric labels in one phrase."""
    return ", ".join(vocabulary.metric_label(name) or escape.clean(name) for name in names)


def _own_margins(report: Report) -> str:
    """Return which workloads have their own margin, "" if none."""
    margins = report.plan.margins
    named = [
        f"{number_format.margin(margin)} for {name}"
        for name, margin in list(margins.items())[:_MAX_OWN]
    ]
    more = len(margins) - len(named)
    words = [*named, f"their own for {more} more"] if more > 0 else named
    return f" ({', '.join(words)})" if words else ""


def _own_metrics(report: Report) -> tuple[str, ...]:
    """Return which workloads are judged by their own metrics; empty if none are."""
    chosen = report.plan.metrics
    named = [f"{name} by {metric_words(own)}" for name, own in list(chosen.items())[:_MAX_OWN]]
    more = len(chosen) - len(named)
    words = [*named, f"{more} more by other metrics"] if more > 0 else named
    return (f"Judged by metrics of their own: {'; '.join(words)}.",) if words else ()


def _own_floors(report: Report) -> str:
    """Return the note on floors above the plan's, "" if no series may have one."""
    plan = report.plan
    sources = {verdict.prior.source for verdict in report.verdicts if verdict.prior is not None}
    if PriorSource.PAIRS not in sources or plan.margin <= plan.floor:
        return ""
    most = number_format.margin(plan.margin)
    return f", or by more than a series' own floor, learnt from earlier pairs (at most {most})"


def _pairs_sentence(report: Report, many: str) -> str:
    seed = report.plan.seed
    measured = {verdict.workload for verdict in report.verdicts if verdict.estimate is not None}
    turned = measured.intersection(report.interleaved_workloads)
    if not measured:
        return f"Measured in {many} of fresh processes."
    if not turned:
        return (
            f"Measured in {many} of fresh processes, base and head back to back on one device in "
            f"random order (seed {seed}); one figure per process is compared."
        )
    where = "" if turned == measured else f" in {len(turned)} of {len(measured)} workloads"
    return (
        f"Measured in {many} of fresh processes, base and head interleaved{where} in random order "
        f"(seed {seed}). Step times{where} are compared turn by turn, other metrics by one figure "
        "per process."
    )


def _leaning(report: Report) -> tuple[str, ...]:
    """Return the note on spreads known from earlier pairs, which make few pairs enough."""
    priors = [verdict.prior for verdict in report.verdicts if verdict.prior is not None]
    if not priors:
        return ()
    values = sorted({prior.values for prior in priors})
    many = f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}"
    leaning = (
        f"For {len(priors)} of {len(report.verdicts)} verdicts the spread of pairs was known from "
        f"{many} earlier pairs of the same workload, metric and machine class."
    )
    return (leaning,)


def _machine_facts(machine: Machine) -> Iterator[ProvenanceFact]:
    kind = f"{machine.count} x {machine.device}" if machine.count > 1 else str(machine.device)
    yield ProvenanceFact("Device", kind, (machine.model,))
    if machine.memory_bytes is not None:
        yield ProvenanceFact("Device memory", number_format.byte_count(machine.memory_bytes))
    ids = machine.device_names if machine.uuid else ("",)
    yield ProvenanceFact("Device id", untrusted=ids)
    yield ProvenanceFact("Slice of", untrusted=(machine.parent_uuid,))
    yield ProvenanceFact("Host id", untrusted=(machine.host,))
    yield ProvenanceFact("Driver", untrusted=(machine.driver,))
    yield ProvenanceFact("Runtime", untrusted=(machine.runtime,))
    yield ProvenanceFact("Clock", _clock(machine))
    if machine.power_cap_w is not None:
        yield ProvenanceFact(
            "Power cap", f"{number_format.count(machine.power_cap_w)}{number_format.NBSP}W"
        )
    if machine.has_ecc is not None:
        yield ProvenanceFact("ECC", "on" if machine.has_ecc else "off")
    yield ProvenanceFact("MIG", untrusted=(machine.mig,))
    yield ProvenanceFact("Topology", untrusted=(machine.topology,))
    cores = number_format.quantity(machine.cores, "core")
    yield ProvenanceFact("CPU", cores, (machine.cpu_model,) if machine.cpu_model else ())
    yield ProvenanceFact("CPU governor", untrusted=(machine.governor,))
    yield ProvenanceFact("Kernel", untrusted=(machine.kernel,))
    yield ProvenanceFact("Python", untrusted=(machine.python,))
    yield ProvenanceFact(
        "Frameworks", untrusted=tuple(f"{k} {v}" for k, v in machine.frameworks.items())
    )


def _clock(machine: Machine) -> str:
    parts: list[str] = []
    if machine.clock_mhz is not None:
        parts.append(f"{number_format.count(machine.clock_mhz)}{number_format.NBSP}MHz")
    if machine.is_clock_locked is not None:
        parts.append("locked" if machine.is_clock_locked else "not locked")
    return ", ".join(parts)
