"""Planted changes run in processes forked from this one: their traces and unprofiled times out.

python benchmarks/profiles/planted_recording.py FRAMEWORK SEED reads lines of {"kind", "folder"}
and answers each with a file of {"traces", "shapes", "seconds"} in the folder of each side. The
framework is imported once; each side is a process of its own all the same, since what a step leaves
behind ends with it. The sides take turns as those of a check do: step by step, and window by
window.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from statistics import median
from typing import Any

from planted_kind import Kind, Step
from planted_kinds_held_out import KINDS as HELD_OUT
from planted_kinds_host import KINDS as HOST
from planted_kinds_jax import KINDS as JAX
from planted_kinds_torch import KINDS as TORCH
from planted_kinds_unseen import KINDS as UNSEEN
from planted_kinds_unseen_jax import KINDS as UNSEEN_JAX
from planted_kinds_upkeep import KINDS as UPKEEP

from perfledger.meters.device import DeviceMeter
from perfledger.meters.jax_clock import JaxMeter
from perfledger.meters.torch_clock import TorchMeter
from perfledger.records import Device, Framework, Side
from perfledger_runners.measuring.interleaving import run_interleaved

KINDS: tuple[Kind, ...] = (*TORCH, *HOST, *JAX, *UPKEEP, *UNSEEN, *UNSEEN_JAX, *HELD_OUT)
WARM_UPS = 3
TIMED = 9


def meter_of(framework: Framework, module: Any, seed: int) -> DeviceMeter:
    """Return the product's own meter; torch computes in one thread."""
    if framework is Framework.JAX:
        return JaxMeter(module, Device.CPU)
    module.manual_seed(seed)
    module.set_num_threads(1)
    return TorchMeter(module, Device.CPU)


def record(
    kind: Kind, side: Side, folder: Path, *, module: Any, seed: int, turn: Callable[[], None]
) -> None:
    """Time the step of one side, then profile it as the product does; both in turns."""
    meter = meter_of(kind.framework, module, seed)
    step = kind.build(module, side)
    for _ in range(WARM_UPS):
        meter.clock.time(step)

    def next_step() -> Step:
        turn()
        return step

    seconds = median(meter.clock.time(next_step()) for _ in range(TIMED))
    traced = meter.trace(next_step, folder, "trace")
    assert traced is not None
    traces = [str(trace) for trace in (traced.trace, *traced.repeats)]
    recording = {"traces": traces, "shapes": str(traced.shapes or ""), "seconds": seconds}
    (folder / "recording.json").write_text(json.dumps(recording), encoding="utf-8")


def forked(kind: Kind, side: Side, folder: Path, *, module: Any, seed: int) -> Iterator[str]:
    """Record in a child and yield its stops; one that fails leaves no file, and its traceback."""
    folder.mkdir(parents=True, exist_ok=True)
    ours, its = Pipe()
    child = os.fork()
    if child == 0:
        ours.close()
        try:
            turn = turn_of(its)
            record(kind, side, folder, module=module, seed=seed, turn=turn)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    its.close()
    try:
        while ours.recv():
            yield kind.name
            ours.send(True)
    except EOFError:
        os.waitpid(child, 0)


def turn_of(parent: Connection) -> Callable[[], None]:
    """Return a function that waits for this side's turn."""

    def turn() -> None:
        parent.send(True)
        parent.recv()

    return turn


def record_both(request: dict[str, str], *, module: Any, seed: int) -> None:
    """Record both sides of a kind, in the turns of a check."""
    kind = next(kind for kind in KINDS if kind.name == request["kind"])
    base, head = (
        forked(kind, side, Path(request["folder"], side), module=module, seed=seed) for side in Side
    )
    run_interleaved(base, head, [kind.name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("framework", type=Framework, choices=(Framework.TORCH, Framework.JAX))
    parser.add_argument("seed", type=int)
    arguments = parser.parse_args()
    module = import_module(str(arguments.framework))
    if arguments.framework is Framework.TORCH:
        import_module("torch._dynamo")  # else the first optimizer of each recording does
    for line in sys.stdin:
        record_both(json.loads(line), module=module, seed=arguments.seed)
        print("done", flush=True)


if __name__ == "__main__":
    main()
