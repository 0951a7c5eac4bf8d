"""Planted changes run in processes forked from this one: their traces and unprofiled times out.

python benchmarks/planted_recording.py FRAMEWORK SEED reads lines of {"kind", "side", "folder"} and
answers each with a file of {"traces", "shapes", "seconds"} there. The framework is imported once;
each recording is a process of its own all the same, since what a step leaves behind ends with it.
"""

import argparse
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from planted_kind import Kind
from planted_kinds_host import KINDS as HOST
from planted_kinds_jax import KINDS as JAX
from planted_kinds_torch import KINDS as TORCH
from planted_kinds_unseen import KINDS as UNSEEN
from planted_kinds_unseen_jax import KINDS as UNSEEN_JAX
from planted_kinds_upkeep import KINDS as UPKEEP

from perfledger.meters.device_meter import DeviceMeter
from perfledger.meters.jax_clock import JaxMeter
from perfledger.meters.torch_clock import TorchMeter
from perfledger.records import Device, Framework, Side

KINDS: tuple[Kind, ...] = (*TORCH, *HOST, *JAX, *UPKEEP, *UNSEEN, *UNSEEN_JAX)
WARM_UPS = 3
TIMED = 9


def meter_of(framework: Framework, module: Any, seed: int) -> DeviceMeter:
    """Return the product's own meter; torch computes in one thread."""
    if framework is Framework.JAX:
        return JaxMeter(module, Device.CPU)
    module.manual_seed(seed)
    module.set_num_threads(1)
    return TorchMeter(module, Device.CPU)


def record(kind: Kind, side: Side, folder: Path, *, module: Any, seed: int) -> None:
    """Time the step of one side, then profile it as the product does."""
    meter = meter_of(kind.framework, module, seed)
    step = kind.build(module, side)
    for _ in range(WARM_UPS):
        meter.clock.time(step)
    seconds = median(meter.clock.time(step) for _ in range(TIMED))
    traced = meter.trace(lambda: step, folder, "trace")
    assert traced is not None
    traces = [str(trace) for trace in (traced.trace, *traced.repeats)]
    said = {"traces": traces, "shapes": str(traced.shapes or ""), "seconds": seconds}
    (folder / "recording.json").write_text(json.dumps(said), encoding="utf-8")


def forked(asked: dict[str, str], *, module: Any, seed: int) -> None:
    """Record in a child; a recording that fails leaves no file, and its traceback."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    kind = next(kind for kind in KINDS if kind.name == asked["kind"])
    try:
        record(kind, Side(asked["side"]), Path(asked["folder"]), module=module, seed=seed)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("framework", type=Framework, choices=(Framework.TORCH, Framework.JAX))
    parser.add_argument("seed", type=int)
    arguments = parser.parse_args()
    module = import_module(str(arguments.framework))
    if arguments.framework is Framework.TORCH:
        import_module("torch._dynamo")  # else the first optimizer of each recording does
    for line in sys.stdin:
        forked(json.loads(line), module=module, seed=arguments.seed)
        print("done", flush=True)


if __name__ == "__main__":
    main()
