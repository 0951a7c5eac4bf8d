"""Prints the profiles in files as a JSON list: READER WORKLOAD SIDE FILE [FILE ...].

READER is a format, or "auto" to detect it from the file's content and name. The files are windows
of the same code; for files after the first, only the operations are printed. --shapes names the
file of a window with recorded shapes, if the others have none; --lines names the file with the
lines that call operations and hold memory. An XLA profile contains such lines: --root is the folder
of the user's code, and only lines below it count. --each-step prints only operations, with the
times of their calls; --step-totals adds to the first file's profile the time of each operation in
each step. --speedscope writes the whole recording for that viewer, after a line that lists what is
left out.

The files are untrusted, so the caller limits memory and time. If a file cannot be read, one line is
printed to standard error and the exit status is 1.
"""

import argparse
import gc
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from math import fsum
from pathlib import Path

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.export.speedscope import omission_note, speedscope
from perfledger_profiles.formats import ProfileFormat, read_calls, read_profile
from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.breakdown import MAX_CALL_TIMES
from perfledger_profiles.torch_profiler.recorded_shapes import with_shapes
from perfledger_profiles.torch_profiler.step_record import read_step_record, with_step_record
from perfledger_profiles.xla.hlo_programs import read_programs
from perfledger_profiles.xla.peak_buffers import with_peak_buffers
from perfledger_profiles.xla.source_lines import instruction_lines, with_instruction_lines

AUTO = "auto"
# The agent accepts no more; the largest profile seen so far is half a megabyte.
MAX_ANSWER_BYTES = 16 * 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the files and print their profiles; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m perfledger_profiles", description=__doc__)
    parser.add_argument("--speedscope", action="store_true")
    parser.add_argument("--each-step", action="store_true")
    parser.add_argument("--step-totals", action="store_true")
    parser.add_argument("--shapes", type=Path)
    parser.add_argument("--device", type=int)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--lines", type=Path)
    parser.add_argument("--root", type=Path)
    parser.add_argument("reader", choices=(AUTO, *(one.value for one in ProfileFormat)))
    parser.add_argument("workload")
    parser.add_argument("side", type=Side, choices=tuple(Side))
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    options = parser.parse_args(arguments)
    first: Path = options.files[0]
    try:
        if options.speedscope:
            _write_speedscope(first, _format_of(options), name=options.workload)
            return 0
        windows = _read_windows(options)
        answer = json.dumps([asdict(profile) for profile in windows], allow_nan=False)
    except (ProfileError, OSError) as error:
        return _fail(str(error))
    except MemoryError:
        return _fail(f"{first.name} needs more memory than allowed: profile fewer steps")
    if len(answer) > MAX_ANSWER_BYTES:
        return _fail(f"the profile in {first.name} is too large: record fewer steps")
    sys.stdout.write(answer)
    return 0


def _read_windows(options: argparse.Namespace) -> Sequence[Profile]:
    """Return the files' profiles; raise ProfileError and OSError."""
    read = partial(
        read_profile,
        workload=options.workload,
        side=options.side,
        format=_format_of(options),
        choice=DeviceChoice(device=options.device, rank=options.rank),
    )
    profiles = [read(path) for path in options.files]
    if options.shapes is not None:
        shaped = read(options.shapes)
        profiles = [with_shapes(profile, shaped) for profile in profiles]
    if options.lines is not None:
        profiles[0] = with_step_record(profiles[0], read_step_record(options.lines))
    if options.root is not None and _format_of(options) is ProfileFormat.XPLANE:
        programs = read_programs(options.files[0], root=options.root)
        profiles[0] = with_instruction_lines(profiles[0], instruction_lines(programs))
        profiles[0] = with_peak_buffers(profiles[0], programs)
    if options.each_step:
        return [replace(one.operations_only(), call_times=one.call_times) for one in profiles]
    totals = _step_totals(profiles[0]) if options.step_totals else ()
    first = replace(profiles[0], call_times=totals)
    return [first, *(profile.operations_only() for profile in profiles[1:])]


def _step_totals(profile: Profile) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Return the seconds of each operation in each step, as of one call; empty if too many."""
    if len(profile.call_times) * len(profile.operations) > MAX_CALL_TIMES // 5:
        return ()
    return tuple(tuple((fsum(calls),) for calls in step) for step in profile.call_times)


def _format_of(options: argparse.Namespace) -> ProfileFormat | None:
    return None if options.reader == AUTO else ProfileFormat(options.reader)


def _write_speedscope(path: Path, format_: ProfileFormat | None, *, name: str) -> None:
    calls = read_calls(path, format=format_)
    sys.stdout.write(f"{omission_note(calls)}\n")
    sys.stdout.writelines(speedscope(calls, name=name))


def _fail(message: str) -> int:
    sys.stderr.write(" ".join(message.split()) + "\n")
    return 1


if __name__ == "__main__":
    # The process reads one file and exits: collecting cycles would double its time.
    gc.disable()
    sys.exit(main())
