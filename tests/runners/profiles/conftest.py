"""Small traces with known answers, and profiles from bare operations."""

import gzip
import json

import pytest

from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import Side
from perfledger_profiles.torch_profiler.kineto import read_kineto, read_kineto_trace
from perfledger_profiles.xla.planes import XEvent, XLine, XPlane

MAIN, AUTOGRAD = (1, 1), (1, 2)


class Trace:
    """Writes a Chrome trace event by event; times are microseconds."""

    def __init__(self):
        self.events = []
        self.header = {}

    def add(self, name, start, duration, *, cat="cpu_op", thread=MAIN, **args):
        self.events.append(
            {
                "ph": "X",
                "cat": cat,
                "name": name,
                "pid": thread[0],
                "tid": thread[1],
                "ts": start,
                "dur": duration,
                "args": args,
            }
        )
        return self

    def step(self, number, start, duration, **more):
        return self.add(f"ProfilerStep#{number}", start, duration, cat="user_annotation", **more)

    def launch(
        self,
        name,
        start,
        duration,
        *,
        kernel,
        at,
        lasts,
        correlation,
        cat="kernel",
        stream=7,
        **args,
    ):
        """Add a call of the CUDA runtime and the kernel that it starts."""
        self.add(name, start, duration, cat="cuda_runtime", correlation=correlation)
        thread = (0, f"stream {stream}")
        args = {"stream": stream, "correlation": correlation, **args}
        return self.add(kernel, at, lasts, cat=cat, thread=thread, **args)

    def text(self):
        return json.dumps({"schemaVersion": 1, **self.header, "traceEvents": self.events})

    def data(self):
        return self.text().encode()

    def packed(self):
        return gzip.compress(self.data(), mtime=0)

    def read(self, data=None, **more):
        return read_kineto(data or self.data(), workload="m:f", side=Side.HEAD, **more)

    def columns(self):
        return read_kineto_trace(self.data())


@pytest.fixture
def trace():
    return Trace()


@pytest.fixture
def micros():
    """Return a profile's microseconds by operation; those of one name together."""

    def by_name(profile):
        times: dict[str, float] = {}
        for operation in profile.operations:
            times[operation.name] = times.get(operation.name, 0.0) + operation.seconds * 1e6
        return {name: pytest.approx(time, abs=1e-6) for name, time in times.items()}

    return by_name


class Planes:
    """Builds planes of an XLA profile; times are nanoseconds."""

    def event(self, name, start, duration, **stats):
        return XEvent(name=name, start_ns=start, end_ns=start + duration, stats=stats)

    def line(self, name, *events):
        return XLine(name=name, events=events)

    def plane(self, name, *lines, stats=None, facts=None):
        return XPlane(name=name, lines=lines, stats=stats or {}, facts=facts or {})

    def host(self, *lines):
        return self.plane("/host:CPU", *lines)


@pytest.fixture
def planes():
    return Planes()


class Make:
    """Builds operations and profiles whose step is the sum of its operations."""

    def operation(self, name, seconds, count=1.0, *, bucket=Bucket.COMPUTE, shapes="", path=""):
        return Operation(
            name=name, bucket=bucket, seconds=seconds, count=count, shapes=shapes, path=path
        )

    def profile(self, *operations, side=Side.BASE):
        return Profile(
            workload="m:f",
            side=side,
            tool="torch.profiler",
            steps=4,
            step_seconds=sum(operation.seconds for operation in operations),
            operations=operations,
        )


@pytest.fixture
def make():
    return Make()
