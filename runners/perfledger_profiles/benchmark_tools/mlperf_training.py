"""Reads time to train, throughput and quality from the log of an MLPerf training run."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from perfledger.profile import Profile, ProfileReading
from perfledger.records import Side
from perfledger_profiles.benchmark_tools.mlperf_log import MlperfEvent, events_of
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.json_documents import document_of, figure_of
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.text_file import read_text
from perfledger_profiles.timeline.summarised_profile import summary_profile

TOOL = "mlperf"
NOT_REACHED = "a run missed its target quality ({}): it has no time to train"
NOT_ENDED = "a run has no run_stop: it is unfinished, or the log is cut off"

_SUCCESS = "success"
_RUN_START, _RUN_STOP = "run_start", "run_stop"
# Values that a run logs once.
_STATED = ("global_batch_size", "gradient_accumulation_steps", "train_samples", "eval_samples")
_INTERVALS = (("init_start", "init_stop", "init_time"), ("eval_start", "eval_stop", "eval_time"))
# Metadata that gives the position in a run, in order of preference.
_PROGRESS_KEYS = ("epoch_num", "samples_count", "step_num")


def read_mlperf_training(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return the readings of the run in a log; several runs have the subjects "run 1", "run 2".

    `time_to_train` is from run_start to run_stop, as in MLPerf's rules. An unsuccessful run has
    `run_time` instead. Raises ProfileError if the file has no event.
    """
    read = read_text(data)
    lines = list(events_of(read.lines))
    events = [event for event in lines if event is not None]
    if not events:
        msg = "this file has no :::MLLOG line: give the log of an MLPerf training run"
        raise ProfileError(msg)
    runs = _runs(events)
    readings: list[ProfileReading] = []
    notes = [*read.notes]
    for number, run in enumerate(runs, start=1):
        subject = f"run {number}" if len(runs) > 1 else ""
        readings += _readings(run, subject)
        notes += _notes(run)
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        readings=readings,
        dropped=len(lines) - len(events),
        notes=notes,
    )


def _runs(events: Sequence[MlperfEvent]) -> Sequence[Sequence[MlperfEvent]]:
    """Return the events of each run; an initialisation after a stop begins the next run."""
    runs: list[list[MlperfEvent]] = [[]]
    has_stopped = False
    for event in events:
        if has_stopped and event.key in ("init_start", _RUN_START, "submission_benchmark"):
            runs.append([])
            has_stopped = False
        has_stopped = has_stopped or event.key == _RUN_STOP
        runs[-1].append(event)
    return runs


def _readings(run: Sequence[MlperfEvent], subject: str) -> Iterator[ProfileReading]:
    started = next((event for event in run if event.key == _RUN_START), None)
    stopped = _stop(run)
    if started and stopped and stopped.seconds >= started.seconds:
        name = "time_to_train" if stopped.metadata.get("status") == _SUCCESS else "run_time"
        seconds = stopped.seconds - started.seconds
        yield ProfileReading(
            name=name, value=seconds, unit="s", subject=subject, source="run_stop - run_start"
        )
    for begin, end, name in _INTERVALS:
        spent = _interval_time(run, begin, end)
        if spent is not None:
            source = f"{end} - {begin}"
            yield ProfileReading(name=name, value=spent, unit="s", subject=subject, source=source)
    for event in run:
        value = figure_of(event.value)
        if event.key in _STATED and value is not None:
            yield ProfileReading(name=event.key, value=value, subject=subject, source=event.key)
    yield from _throughput(run, subject)
    yield from _quality(run, subject)


def _stop(run: Sequence[MlperfEvent]) -> MlperfEvent | None:
    return next((event for event in run if event.key == _RUN_STOP), None)


def _notes(run: Sequence[MlperfEvent]) -> Iterator[str]:
    stopped = _stop(run)
    if stopped is None:
        yield NOT_ENDED
    elif stopped.metadata.get("status") != _SUCCESS:
        yield NOT_REACHED.format(clean_name(str(stopped.metadata.get("status"))))


def _interval_time(run: Sequence[MlperfEvent], begin: str, end: str) -> float | None:
    """Return the total time of a kind of interval: from first to last rank if all ranks log."""
    total: float | None = None
    started: float | None = None
    for event in run:
        if event.key == begin and started is None:
            started = event.seconds
        elif event.key == end and started is not None:
            total = (total or 0.0) + max(event.seconds - started, 0.0)
            started = None
    return total


def _throughput(run: Sequence[MlperfEvent], subject: str) -> Iterator[ProfileReading]:
    """Yield the run's logged throughput, else the one computed from its sample counts."""
    stated = [
        value
        for event in run
        if event.key in ("tracked_stats", "throughput")
        and (value := figure_of(document_of(event.value).get("throughput", event.value)))
        is not None
    ]
    if stated:
        source = "tracked_stats.throughput, median"
        yield ProfileReading(
            name="throughput_samples",
            value=median(stated),
            unit="1/s",
            subject=subject,
            source=source,
        )
        return
    counted = [
        (event.seconds, samples)
        for event in run
        if (samples := figure_of(event.metadata.get("samples_count"))) is not None
    ]
    rises = [
        (after - before, later - earlier)
        for (before, earlier), (after, later) in pairwise(counted)
        if after > before and later > earlier
    ]
    seconds = sum(time for time, _ in rises)
    if seconds > 0:
        yield ProfileReading(
            name="throughput_samples",
            value=sum(samples for _, samples in rises) / seconds,
            unit="1/s",
            subject=subject,
            source="samples_count over time, with everything between",
            is_estimate=True,
        )


def _quality(run: Sequence[MlperfEvent], subject: str) -> Iterator[ProfileReading]:
    """Yield a run's last accuracy, then each one with its position in the run."""
    accuracies = [
        (event, value)
        for event in run
        if event.key == "eval_accuracy" and (value := figure_of(event.value)) is not None
    ]
    if accuracies:
        value = accuracies[-1][1]
        yield ProfileReading(
            name="eval_accuracy", value=value, subject=subject, source="the last one"
        )
    for event, value in accuracies:
        key = next((name for name in _PROGRESS_KEYS if name in event.metadata), None)
        if key is not None:
            words = f"{subject} {key} {str(event.metadata[key])[:20]}".strip()
            yield ProfileReading(
                name="eval_accuracy",
                value=value,
                subject=clean_name(words.replace("_", " ")),
                source="eval_accuracy",
            )
