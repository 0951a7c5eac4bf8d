"""Nodes and what is on them, counted or listed in CSV, into a cluster."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

import numpy as np

from perfledger_cost_models.jobs import (
    MAX_AMOUNT,
    MAX_DEVICES,
    MAX_NAME,
    IntArray,
    JobLogError,
    Labels,
    labels_of,
)

MAX_NODES = 1_000_000
MAX_CELLS = 20_000_000  # nodes times the most devices of one: the table of what is free
MAX_TEXT = 100_000_000
UNLIMITED = 2**60  # processors or memory of a node that says nothing of them: never the bottleneck
# The columns of Alibaba's lists of nodes, of Helios's, Lucid's and Philly's of virtual clusters,
# and plain.
_DEVICES = ("gpu", "gpus", "devices", "num_gpus", "gpu_capacity_num")
_COUNT = ("count", "nodes", "node num", "node_num", "num")
_POOL = ("pool", "vc", "partition")
_UNNAMED = ("",)  # Lucid's first column, which is its virtual cluster
_MILLI = 1000  # of a processor
_MODEL = ("model", "gpu_model", "accelerator")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cluster:
    """Nodes, a row each; jobs stay within their pool where there is more than one."""

    devices: IntArray
    cpu_milli: IntArray
    memory_mib: IntArray
    model: Labels
    pool: Labels

    def __post_init__(self) -> None:
        if not len(self.devices) or not self.devices.sum():
            msg = "a cluster without devices: give nodes, and devices on them"
            raise JobLogError(msg)

    @property
    def total_devices(self) -> int:
        """Return how many devices there are."""
        return int(self.devices.sum())


def equal_nodes(nodes: int, *, devices: int) -> Cluster:
    """Return a cluster of nodes that are all alike, in one pool. Raises JobLogError."""
    return _cluster([(nodes, devices, 0, 0, "", "")])


def read_cluster(text: str, *, devices: int) -> Cluster:
    """Read a list of nodes in CSV, one a row or `count` alike; `devices` where no column says.

    Columns: gpu, cpu_milli, memory_mib, model, pool (or vc), count. Raises JobLogError.
    """
    if len(text) > MAX_TEXT:
        msg = f"the list of nodes has more than {MAX_TEXT} characters: use the column 'count'"
        raise JobLogError(msg)
    reader = csv.DictReader(StringIO(text), strict=True, restkey="more", restval="")
    try:
        rows = [{key.strip().lower(): cell for key, cell in row.items()} for row in reader]
    except (csv.Error, AttributeError) as error:
        msg = f"the list of nodes, line {reader.line_num}, is no CSV: {error}"
        raise JobLogError(msg) from error
    header = {name.strip().lower() for name in reader.fieldnames or ()}
    if rows and not header.intersection((*_DEVICES, *_COUNT, *_POOL, *_UNNAMED, *_MODEL)):
        msg = f"the list of nodes has no column gpu, count or pool: {sorted(header)[:12]}"
        raise JobLogError(msg)
    return _cluster(
        [
            (
                _whole(row, _COUNT, 1, line),
                _whole(row, _DEVICES, devices, line),
                _whole(row, ("cpu_milli",), _whole(row, ("cpu_num",), 0, line, each=_MILLI), line),
                _whole(row, ("memory_mib",), 0, line),
                _word(row, _MODEL),
                _word(row, _POOL) or _unnamed_pool(row),
            )
            for line, row in enumerate(rows, start=2)
        ]
    )


def _cluster(rows: Sequence[tuple[int, int, int, int, str, str]]) -> Cluster:
    counts = [count for count, *_ in rows]
    each = [devices for _, devices, *_ in rows]
    most = max(each, default=0)
    is_sane = min(counts, default=0) >= 0 and min(each, default=0) >= 0 and most <= MAX_DEVICES
    if not is_sane or not 1 <= sum(counts) <= min(MAX_NODES, MAX_CELLS // max(most, 1)):
        msg = f"{sum(counts)} nodes with up to {most} devices: give 1 to {MAX_NODES} nodes"
        raise JobLogError(msg)
    columns = list(zip(*rows, strict=True))
    cpu, memory = (np.repeat(np.array(columns[place], np.int64), counts) for place in (2, 3))
    return Cluster(
        devices=np.repeat(np.array(columns[1], np.int64), counts),
        cpu_milli=np.where(cpu > 0, cpu, UNLIMITED),
        memory_mib=np.where(memory > 0, memory, UNLIMITED),
        model=_repeated(labels_of(columns[4]), counts),
        pool=_repeated(labels_of(columns[5]), counts),
    )


def _repeated(labels: Labels, counts: Sequence[int]) -> Labels:
    return Labels(np.repeat(labels.codes, counts), labels.names)


def _word(row: dict[str, str], names: Sequence[str]) -> str:
    return next((row[name].strip()[:MAX_NAME] for name in names if row.get(name)), "")


def _unnamed_pool(row: dict[str, str]) -> str:
    """Return what the column without a name says; where it counts the rows, as pandas does, ""."""
    name = _word(row, _UNNAMED)
    return "" if name.isdecimal() else name


def _whole(
    row: dict[str, str], names: Sequence[str], default: int, line: int, *, each: int = 1
) -> int:
    """Return a cell's number of `each`, in whole ones."""
    text = _word(row, names)
    if not text:
        return default
    try:
        number = float(text) * each
    except ValueError:
        number = -1.0
    # 2.01 processors times a thousand are not quite 2010.
    if not 0 <= number <= MAX_AMOUNT or not math.isclose(number, round(number)):
        msg = f"the list of nodes, line {line}: {text[:40]!r} is no count: correct it"
        raise JobLogError(msg)
    return round(number)
