"""Builds a cluster from a number of equal nodes or from a list of nodes in CSV."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.job_logs.table import (
    MAX_AMOUNT,
    MAX_DEVICES,
    MAX_NAME,
    JobLogError,
    LabelColumn,
    labels_of,
)
from perfledger_profiles.parsing.text_table import is_number, lower_name, number_problem, read_table

MAX_NODES = 1_000_000  # more is a typing error
MAX_CELLS = 20_000_000  # nodes times the most devices of a node: the table of free devices
MAX_TEXT = 100_000_000
UNLIMITED = 2**60  # processors or memory of a node that does not list them: never the bottleneck
# Columns of Alibaba's node lists, of the virtual cluster lists of Helios, Lucid and Philly, and
# generic ones.
_DEVICES = ("gpu", "gpus", "devices", "num_gpus", "gpu_capacity_num")
_COUNT = ("count", "nodes", "node num", "node_num", "num")
_POOL = ("pool", "vc", "partition")
_UNNAMED = ("",)  # Lucid's first column, which is its virtual cluster
_MILLI = 1000  # of a processor
_MODEL = ("model", "gpu_model", "accelerator")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cluster:
    """The nodes of a cluster, one per row; jobs stay in their pool if there are several."""

    devices: IntArray
    cpu_milli: IntArray
    memory_mib: IntArray
    model: LabelColumn
    pool: LabelColumn

    def __post_init__(self) -> None:
        if not len(self.devices) or not self.devices.sum():
            msg = "the cluster has no devices: list at least one node with a device"
            raise JobLogError(msg)

    @property
    def total_devices(self) -> int:
        """Return the number of devices."""
        return int(self.devices.sum())


def equal_nodes(nodes: int, *, devices: int) -> Cluster:
    """Return a cluster of equal nodes in one pool. Raises JobLogError."""
    return _cluster([(nodes, devices, 0, 0, "", "")])


def limited_sum(column: IntArray) -> int:
    """Return the sum of the processors or memory of nodes that list them."""
    return int(column[column < UNLIMITED].sum())


def read_cluster(text: str, *, devices: int) -> Cluster:
    """Read a list of nodes in CSV, with `devices` each unless a column says otherwise.

    Columns: gpu, cpu_milli, memory_mib, model, pool (or vc), count (equal nodes). Raises
    JobLogError.
    """
    if len(text) > MAX_TEXT:
        msg = f"the list of nodes has more than {MAX_TEXT} characters: use the column 'count'"
        raise JobLogError(msg)
    table = read_table(text, "the list of nodes", error=JobLogError, name_of=lower_name)
    if not set(table.header).intersection((*_DEVICES, *_COUNT, *_POOL, *_UNNAMED, *_MODEL)):
        header = sorted(table.header)[:12]
        msg = f"the list of nodes has no column gpu, count or pool: add one to {header}"
        raise JobLogError(msg)
    rows = [(line, dict(zip(table.header, cells, strict=True))) for line, cells in table.rows]
    return _cluster(
        [
            (
                _read_integer(row, _COUNT, 1, line),
                _read_integer(row, _DEVICES, devices, line),
                _read_integer(
                    row,
                    ("cpu_milli",),
                    _read_integer(row, ("cpu_num",), 0, line, multiple=_MILLI),
                    line,
                ),
                _read_integer(row, ("memory_mib",), 0, line),
                _word(row, _MODEL),
                _word(row, _POOL) or _unnamed_pool(row),
            )
            for line, row in rows
        ]
    )


def _cluster(rows: Sequence[tuple[int, int, int, int, str, str]]) -> Cluster:
    counts = [count for count, *_ in rows]
    device_counts = [devices for _, devices, *_ in rows]
    most = max(device_counts, default=0)
    is_sane = all(count >= 0 for count in (*counts, *device_counts)) and most <= MAX_DEVICES
    if not is_sane or not 1 <= sum(counts) <= min(MAX_NODES, MAX_CELLS // max(most, 1)):
        msg = (
            f"{sum(counts)} nodes with up to {most} devices: list 1 to {MAX_NODES} nodes, and at "
            f"most {MAX_CELLS} devices"
        )
        raise JobLogError(msg)
    columns = list(zip(*rows, strict=True))
    cpu, memory = (np.repeat(np.array(columns[place], np.int64), counts) for place in (2, 3))
    return Cluster(
        devices=np.repeat(np.array(columns[1], np.int64), counts),
        cpu_milli=np.where(cpu > 0, cpu, UNLIMITED),
        memory_mib=np.where(memory > 0, memory, UNLIMITED),
        model=_repeated_labels(labels_of(columns[4]), counts),
        pool=_repeated_labels(labels_of(columns[5]), counts),
    )


def _repeated_labels(labels: LabelColumn, counts: Sequence[int]) -> LabelColumn:
    return LabelColumn(np.repeat(labels.codes, counts), labels.names)


def _word(row: dict[str, str], names: Sequence[str]) -> str:
    return next((row[name].strip()[:MAX_NAME] for name in names if row.get(name)), "")


def _unnamed_pool(row: dict[str, str]) -> str:
    """Return the column without a name; "" if it is a row number, as pandas writes it."""
    name = _word(row, _UNNAMED)
    return "" if name.isdecimal() else name


def _read_integer(
    row: dict[str, str], names: Sequence[str], default: int, line: int, *, multiple: int = 1
) -> int:
    """Return a cell's number times `multiple`, as an integer."""
    text = _word(row, names)
    if not text:
        return default
    number = float(text) * multiple if is_number(text) else math.nan
    # 2.01 processors times a thousand is not exactly 2010.
    if not 0 <= number <= MAX_AMOUNT or not math.isclose(number, round(number)):
        problem = number_problem(text, otherwise="is not a count")
        msg = f"the list of nodes, line {line}: {text[:40]!r} {problem}: correct it"
        raise JobLogError(msg)
    return round(number)
