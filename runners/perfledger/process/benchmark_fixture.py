"""Holds the fixture `benchmark`, which passes what a test gives it to a task.

Its calls are pytest-benchmark's: https://pytest-benchmark.readthedocs.io/en/stable/pedantic.html
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from perfledger.failure_reason import UnmeasurableError
from perfledger.records import FailureReason
from perfledger.workload import AnyStep, PreparedStep

Task = Callable[[AnyStep], object]
Foreign = Any  # what a test gives to the fixture


class BenchmarkFixture:
    """The fixture `benchmark` of one test, which passes the steps it is given to `task`."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.is_used = False
        self.extra_info: dict[str, object] = {}  # pytest-benchmark's; not stored
        self.group: str | None = None
        self.name = self.fullname = ""
        self.stats = None
        self.disabled = False

    def __call__(self, function: Foreign, *arguments: Foreign, **options: Foreign) -> Foreign:
        """Measure calls of the function; return the result of one more call."""
        self._measure(partial(function, *arguments, **options))
        return function(*arguments, **options)

    def pedantic(  # noqa: PLR0917 - its signature is pytest-benchmark's
        self,
        target: Foreign,
        args: Sequence[Foreign] = (),
        kwargs: Mapping[str, Foreign] | None = None,
        setup: Callable[[], Foreign] | None = None,
        teardown: Callable[..., object] | None = None,
        rounds: int = 1,  # noqa: ARG002 - the effort of all workloads decides
        warmup_rounds: int = 0,  # noqa: ARG002
        iterations: int = 1,
    ) -> Foreign:
        """Measure batches of `iterations` calls of the target, each batch after `setup`."""
        if setup is None and teardown is None:
            call = partial(target, *args, **(kwargs or {}))
            self._measure(call if iterations == 1 else PreparedStep(_nothing, call, iterations))
            return call()
        pending: list[tuple[Sequence[Foreign], Mapping[str, Foreign]]] = []

        def end() -> None:
            while pending:
                done_args, done_kwargs = pending.pop()
                if teardown is not None:
                    teardown(*done_args, **done_kwargs)

        def prepare() -> None:
            end()
            arguments = setup() if setup is not None else None
            pending.append(arguments if arguments is not None else (args, kwargs or {}))

        def run() -> object:
            now_args, now_kwargs = pending[-1]
            return target(*now_args, **now_kwargs)

        try:
            self._measure(PreparedStep(prepare, run, iterations))
            prepare()
            return run()
        finally:
            end()

    def weave(self, *_: object, **__: object) -> None:
        """Refuse: weaving replaces the user's code while it runs."""
        detail = "benchmark.weave is not supported: call benchmark with the function"
        raise UnmeasurableError(FailureReason.RAISED, detail)

    patch = weave

    def _measure(self, step: AnyStep) -> None:
        if self.is_used:
            detail = "the test calls benchmark twice: a workload has one step"
            raise UnmeasurableError(FailureReason.RAISED, detail)
        self.is_used = True
        self._task(step)


def _nothing() -> None:
    """Do nothing."""
