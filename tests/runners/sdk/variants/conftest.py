"""A torch without a device, for code that only a GPU runs: it records what it is asked for."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest


class FakeModule:
    """A module that doubles its input."""

    def __call__(self, value: float) -> float:
        return 2 * value


class FakeGraph:
    """A CUDA graph that counts its replays."""

    def __init__(self) -> None:
        self.replays, self.is_reset = 0, False

    def replay(self) -> None:
        self.replays += 1

    def reset(self) -> None:
        self.is_reset = True


class FakeCuda:
    """torch.cuda as far as a capture needs it."""

    def __init__(self) -> None:
        self.graphs: list[FakeGraph] = []
        self.is_capturing = False

    def Stream(self) -> Any:  # noqa: N802 - torch's name
        return SimpleNamespace(wait_stream=lambda _: None)

    def current_stream(self) -> Any:
        return SimpleNamespace(wait_stream=lambda _: None, cuda_stream=77)

    def stream(self, _: object) -> Any:
        return nullcontext()

    def CUDAGraph(self) -> FakeGraph:  # noqa: N802
        self.graphs.append(FakeGraph())
        return self.graphs[-1]

    @contextmanager
    def graph(self, _: FakeGraph) -> Iterator[None]:
        self.is_capturing = True
        yield
        self.is_capturing = False


@pytest.fixture
def fake_torch() -> Any:
    return SimpleNamespace(
        nn=SimpleNamespace(Module=FakeModule),
        Tensor=SimpleNamespace,
        cuda=FakeCuda(),
        no_grad=_NoGradients,
        __version__="2.5.1",
        _inductor=SimpleNamespace(),
        compiler=SimpleNamespace(reset=lambda: None),
        compile=lambda function, mode: function,  # noqa: ARG005 - torch's names
        onnx=SimpleNamespace(export=lambda *_, **__: None),
    )


class _NoGradients:
    """torch.no_grad, as a context and as a decorator."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def __call__(self, function: Callable[..., object]) -> Callable[..., object]:
        return function


@pytest.fixture
def fake_modules(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, object]], None]:
    """Let modules of these names be importable, and None not be."""

    def install(modules: Mapping[str, object]) -> None:
        for name, module in modules.items():
            monkeypatch.setitem(__import__("sys").modules, name, module)

    return install
