from dataclasses import replace

import pytest

from perfledger.metrics import CPU_ACTIVE, CPU_TIME, STEP_TIME
from perfledger.records import CoreTimes, Device, FindingLevel, Framework, HostFinding, Side
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_runners.machine.device_locks import DeviceLocks
from perfledger_service.usecases.check.report_notes import report_notes

BUSY = {Side.BASE: 0.9, Side.HEAD: 0.45}


@pytest.fixture
def notes_of(make_bundle):
    """Return a function that returns the notes on a bundle whose runs are changed one by one."""

    def notes_of(change, **values):
        plain_bundle = make_bundle(metrics=(STEP_TIME, CPU_TIME, CPU_ACTIVE), **values)
        bundle = replace(plain_bundle, runs=tuple(map(change, plain_bundle.runs)))
        return report_notes(bundle, judge_bundle(bundle))

    return notes_of


def with_samples(run, **samples):
    step_time = {STEP_TIME.name: run.samples[STEP_TIME.name]}
    return replace(run, samples=step_time | {name: (value,) for name, value in samples.items()})


@pytest.mark.parametrize("count", [1, 25])
def test_readings_that_were_left_out_are_named_once_for_all_processes(notes_of, count):
    def short(run):
        return replace(run, left_out={"cpu_time: too short": count, "none": 0})

    assert notes_of(short, ratio=1.0) == ("readings left out (cpu_time: too short): gpt:step",)


def test_another_device_is_named(notes_of):
    notes = notes_of(lambda run: replace(run, device=Device.CUDA), ratio=1.0)

    assert notes == ("measured on the cuda, not on the cpu: gpt:step",)


def test_what_adds_noise_is_one_note_and_what_is_busy_or_unknown_is_none(make_bundle):
    findings = tuple(
        HostFinding(name=name, level=level, detail="on")
        for name, level in [
            ("turbo", FindingLevel.NOISY),
            ("other programs", FindingLevel.BUSY),
            ("memory", FindingLevel.UNKNOWN),
            ("ECC", FindingLevel.FINE),
            ("MIG", FindingLevel.NOISY),
        ]
    )

    assert report_notes(make_bundle(host_findings=findings), ()) == (
        "this machine adds noise (turbo: on; MIG: on): perfledger bench doctor says what helps",
    )
    assert report_notes(make_bundle(host_findings=findings[1:4]), ()) == ()


def test_a_check_says_that_its_lock_could_not_be_taken(make_bundle, tmp_path):
    (tmp_path / "file").touch()
    locks = DeviceLocks(folder=str(tmp_path / "file"), waiting=print)
    unwanted_locks = DeviceLocks(folder="", waiting=print)
    with locks, unwanted_locks:
        findings = (locks.finding, unwanted_locks.finding)

    (note,) = report_notes(make_bundle(host_findings=findings), ())

    assert note == (
        f"the lock below {tmp_path}/file cannot be used: Not a directory, so another check may "
        "have measured at the same time: set lock_folder to a folder that the users of all checks "
        "may write to"
    )


def test_a_change_says_which_of_wall_time_cpu_time_and_use_moved(notes_of):
    def idler(run):
        return with_samples(run, cpu_active=BUSY[run.side], cpu_time=0.5)

    (note,) = notes_of(idler, ratio=2.0)

    assert note == (
        "gpt:step: step time regressed, CPU time unchanged; it kept 90 % of its cores busy on base "
        "and 45 % on head, which is not judged because other load changes it, too"
    )


def test_the_use_of_cores_is_told_of_a_few_workloads(make_bundle):
    bundle = make_bundle(ratio=2.0)
    names = [f"gpt:{letter}" for letter in "abcdefgh"]
    (spec,) = bundle.workloads
    bundle = replace(
        bundle,
        workloads=tuple(replace(spec, id=name) for name in names),
        runs=tuple(
            replace(with_samples(run, cpu_active=BUSY[run.side]), workload=name)
            for name in names
            for run in bundle.runs
        ),
    )

    notes = [one for one in report_notes(bundle, judge_bundle(bundle)) if "busy" in one]

    assert [one.partition(":")[2][:1] for one in notes[:-1]] == list("abcde")
    assert notes[-1] == "how busy the steps of 3 more workloads kept the cores is in the bundle"


def test_a_bundle_without_cpu_time_names_the_others(notes_of):
    notes = notes_of(lambda run: with_samples(run, cpu_active=BUSY[run.side]), ratio=0.5)

    assert notes[0].startswith("gpt:step: step time improved; it kept")


def test_what_did_not_change_needs_no_explanation(notes_of):
    notes = notes_of(lambda run: with_samples(run, cpu_active=BUSY[run.side]), ratio=1.0)

    assert notes == ()


def noisy_bundle(make_bundle, *, cores, queued_s=0.0):
    """Return a bundle whose pairs swing by 20 % either way, without a change."""
    plain_bundle = make_bundle(metrics=(STEP_TIME,), ratio=1.0)
    times = CoreTimes(elapsed_s=(1.0,), queued_s=(queued_s,), helpers_s=(0.0,))
    swings = {Side.BASE: (1.0, 1.2), Side.HEAD: (1.2, 1.0)}
    runs = tuple(
        replace(
            run,
            samples={STEP_TIME.name: (swings[run.side][run.pair % 2],)},
            core_times=times,
        )
        for run in plain_bundle.runs
    )
    return replace(plain_bundle, machine=replace(plain_bundle.machine, cores=cores), runs=runs)


def test_noise_under_load_says_so_and_what_to_do(make_bundle):
    bundle = noisy_bundle(make_bundle, cores=8, queued_s=0.3)

    (note,) = report_notes(bundle, judge_bundle(bundle))

    assert note == (
        "noise left gpt:step undecided; steps waited 30 % of their time for a core: stop other "
        "programs, or reserve cores for the check with taskset; set OMP_NUM_THREADS below the 8 "
        "cores"
    )


def test_a_change_that_load_may_have_made_says_so_and_what_to_do(make_bundle):
    bundle = make_bundle(metrics=(STEP_TIME,), ratio=1.2)
    times = {Side.BASE: (1.0, 0.3), Side.HEAD: (1.2, 0.5)}
    runs = tuple(
        replace(
            run,
            core_times=CoreTimes(
                elapsed_s=times[run.side][:1], queued_s=times[run.side][1:], helpers_s=(0.0,)
            ),
        )
        for run in bundle.runs
    )
    bundle = replace(bundle, machine=replace(bundle.machine, cores=1), runs=runs)

    verdicts = judge_bundle(bundle)

    assert [verdict.outcome for verdict in verdicts] == [Outcome.UNDECIDED]
    assert report_notes(bundle, verdicts) == (
        (
            "noise left gpt:step undecided; steps waited 36 % of their time for a core: stop other "
            "programs, or reserve cores for the check with taskset"
        ),
    )


@pytest.mark.parametrize(
    ("cores", "ending"), [(8, ": set OMP_NUM_THREADS below the 8 cores"), (1, "")]
)
def test_noise_on_an_idle_machine_leaves_fewer_threads(make_bundle, cores, ending):
    bundle = noisy_bundle(make_bundle, cores=cores)

    notes = report_notes(bundle, judge_bundle(bundle))

    assert notes == (f"noise left gpt:step undecided{ending}",)


def test_threads_of_xla_are_not_openmps(make_bundle):
    bundle = noisy_bundle(make_bundle, cores=8)
    specs = tuple(replace(spec, framework=Framework.JAX) for spec in bundle.workloads)
    bundle = replace(bundle, workloads=specs)

    assert report_notes(bundle, judge_bundle(bundle)) == ("noise left gpt:step undecided",)


def bundle_of_two_ranks(make_bundle, *, pairs, cores):
    """Return a bundle whose second rank takes twice as long as its first one."""
    plain_bundle = make_bundle(metrics=(STEP_TIME,), ratio=1.0, pairs=pairs)

    def two_ranks(run):
        steps = run.samples[STEP_TIME.name]
        return replace(run, rank_times_s=(tuple(each / 2 for each in steps), steps))

    return replace(
        plain_bundle,
        machine=replace(plain_bundle.machine, cores=cores),
        workloads=tuple(replace(each, devices=2) for each in plain_bundle.workloads),
        runs=tuple(map(two_ranks, plain_bundle.runs)),
    )


BEHIND = "the slowest in 100 % of the steps, in which the slowest is 50.0 % of the step time behind"


@pytest.mark.parametrize(
    ("pairs", "cores", "doubt"),
    [
        (6, 2, ""),
        (4, 2, "chance alone may do that in 4 processes; more pairs would tell"),
        (6, 1, "2 ranks have 1 core; measure where each has its own"),
    ],
)
def test_ranks_are_described_and_scaling_is_unknown_without_one_device(
    make_bundle, pairs, cores, doubt
):
    bundle = bundle_of_two_ranks(make_bundle, pairs=pairs, cores=cores)

    (note,) = [each for each in report_notes(bundle, judge_bundle(bundle)) if "rank" in each]

    words = (
        f"whether rank 1 of 2 is a straggler is unknown: it is {BEHIND}, but {doubt}"
        if doubt
        else f"rank 1 of 2 is a straggler, {BEHIND}"
    )
    assert note == (
        f"gpt:step on head: {words}; scaling unknown without the same on one "
        'device: params={"devices": [1, …]}'
    )


def test_scaling_is_against_the_same_on_one_device(make_bundle):
    plain_bundle = make_bundle(metrics=(STEP_TIME,), ratio=1.0)
    (one,) = (replace(each, unit="tokens", units_per_step=1.0) for each in plain_bundle.workloads)
    two = replace(one, id="gpt:step[devices=2]", devices=2, units_per_step=1.5)
    runs = tuple(replace(run, workload=spec.id) for spec in (one, two) for run in plain_bundle.runs)
    bundle = replace(plain_bundle, workloads=(one, two), runs=runs)

    (note,) = (each for each in report_notes(bundle, ()) if "scaling" in each)

    assert note == (
        "gpt:step[devices=2] on head: scaling efficiency 75 %: the tokens per second and device, "
        "of one device's alone"
    )
