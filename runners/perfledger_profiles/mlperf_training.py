"""Turn the log of an MLPerf training run into its time to train, throughput and quality."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from perfledger.profile import Profile, Reading
from perfledger.records import Side
from perfledger_profiles.documents import document_of, figure_of
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.mlperf_log import Event, events_of
from perfledger_profiles.redact import clean_name
from perfledger_profiles.summary import summary_profile
from perfledger_profiles.text_file import read_text

TOOL = "mlperf"
NOT_REACHED = "a run ended without reaching its target quality ({}): it has no time to train"
NOT_ENDED = "a run has no run_stop: it is still going on, or the log is cut off"

_SUCCESS = "success"
_RUN_START, _RUN_STOP = "run_start", "run_stop"
# What is stated once for a run, and worth a reading.
_STATED = ("global_batch_size", "gradient_accumulation_steps", "train_samples", "eval_samples")
_INTERVALS = (("init_start", "init_stop", "init_time"), ("eval_start", "eval_stop", "eval_time"))
# Where the place in a run is told: by epoch, else by samples.
_PLACES = ("epoch_num", "samples_count", "step_num")


def read_mlperf_training(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return the readings of the run in a log; of several runs with "run 1" and so on as subject.

    `time_to_train` is from run_start to run_stop, as the rules have it, and only there if the run
    has succeeded; else `run_time` is. Raises ProfileError when no event is in the file.
    """
    read = read_text(data)
    found = list(events_of(read.lines))
    events = [event for event in found if event is not None]
    if not events:
        msg = "no :::MLLOG line is in this file: is it the log of an MLPerf training run?"
        raise ProfileError(msg)
    runs = _runs(events)
    readings: list[Reading] = []
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
        dropped=len(found) - len(events),
        notes=notes,
    )


def _runs(events: Sequence[Event]) -> Sequence[Sequence[Event]]:
    """Return the events of each run: the next begins where one is initialised after a stop."""
    runs: list[list[Event]] = [[]]
    has_stopped = False
    for event in events:
        if has_stopped and event.key in ("init_start", _RUN_START, "submission_benchmark"):
            runs.append([])
            has_stopped = False
        has_stopped = has_stopped or event.key == _RUN_STOP
        runs[-1].append(event)
    return runs


def _readings(run: Sequence[Event], subject: str) -> Iterator[Reading]:
    started = next((event for event in run if event.key == _RUN_START), None)
    stopped = _stop(run)
    if started and stopped and stopped.seconds >= started.seconds:
        name = "time_to_train" if stopped.metadata.get("status") == _SUCCESS else "run_time"
        seconds = stopped.seconds - started.seconds
        yield Reading(
            name=name, value=seconds, unit="s", subject=subject, source="run_stop - run_start"
        )
    for begin, end, name in _INTERVALS:
        spent = _spent(run, begin, end)
        if spent is not None:
            source = f"{end} - {begin}"
            yield Reading(name=name, value=spent, unit="s", subject=subject, source=source)
    for event in run:
        value = figure_of(event.value)
        if event.key in _STATED and value is not None:
            yield Reading(name=event.key, value=value, subject=subject, source=event.key)
    yield from _throughput(run, subject)
    yield from _quality(run, subject)


def _stop(run: Sequence[Event]) -> Event | None:
    return next((event for event in run if event.key == _RUN_STOP), None)


def _notes(run: Sequence[Event]) -> Iterator[str]:
    stopped = _stop(run)
    if stopped is None:
        yield NOT_ENDED
    elif stopped.metadata.get("status") != _SUCCESS:
        yield NOT_REACHED.format(clean_name(str(stopped.metadata.get("status"))))


def _spent(run: Sequence[Event], begin: str, end: str) -> float | None:
    """Return the seconds of all intervals of a kind; of ranks that all log, the first and last."""
    total: float | None = None
    started: float | None = None
    for event in run:
        if event.key == begin and started is None:
            started = event.seconds
        elif event.key == end and started is not None:
            total = (total or 0.0) + max(event.seconds - started, 0.0)
            started = None
    return total


def _throughput(run: Sequence[Event], subject: str) -> Iterator[Reading]:
    """Yield what the run says of its throughput, else what its counts of samples come to."""
    stated = [
        value
        for event in run
        if event.key in ("tracked_stats", "throughput")
        and (value := figure_of(document_of(event.value).get("throughput", event.value)))
        is not None
    ]
    if stated:
        source = "tracked_stats.throughput, median"
        yield Reading(
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
        yield Reading(
            name="throughput_samples",
            value=sum(samples for _, samples in rises) / seconds,
            unit="1/s",
            subject=subject,
            source="samples_count over time, with what ran between",
            is_estimate=True,
        )


def _quality(run: Sequence[Event], subject: str) -> Iterator[Reading]:
    """Yield the last accuracy of a run, then each one with its place in the run."""
    found = [
        (event, value)
        for event in run
        if event.key == "eval_accuracy" and (value := figure_of(event.value)) is not None
    ]
    if found:
        value = found[-1][1]
        yield Reading(name="eval_accuracy", value=value, subject=subject, source="the last one")
    for event, value in found:
        place = next((name for name in _PLACES if name in event.metadata), None)
        if place is not None:
            words = f"{subject} {place} {str(event.metadata[place])[:20]}".strip()
            yield Reading(
                name="eval_accuracy",
                value=value,
                subject=clean_name(words.replace("_", " ")),
                source="eval_accuracy",
            )
