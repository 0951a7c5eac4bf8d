"""Records which tensors are in memory at the peak of a torch step, and which calls made them.

An allocator's counters say how much is in use, but not what holds it. Here every storage that an
operator gets or returns is recorded once, and again when it is released, so that the peak can be
replayed. Memory that an operator allocates and frees within its call is not seen.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

Foreign = Any  # an object of torch, see torch_clock
Maker = TypeVar("Maker")


@dataclass(frozen=True, slots=True)
class NotedStorage(Generic[Maker]):
    """A tensor's memory: its maker, type and sizes, and whether it is older than the step."""

    maker: Maker
    tensor: str  # "float32[64,128]"
    size_bytes: int
    is_older: bool


class TensorMemory(Generic[Maker]):
    """The storages of one kind of device that a step uses."""

    def __init__(
        self, torch: Foreign, leaves: Callable[[object], list[object]], *, device: str
    ) -> None:
        self._torch = torch
        self._leaves = leaves
        self._device = device
        self._alive: dict[int, tuple[int, object]] = {}  # by address: its number and its reference
        self._storages: list[NotedStorage[Maker]] = []  # by number
        self._events: list[tuple[int, bool]] = []  # a number, and whether it is released

    def note(self, values: object, maker: Maker, *, is_older: bool) -> None:
        """Record those tensors among values that are new.

        `is_older` is true for a call's arguments, which are then older than the step, and false for
        its results.
        """
        for value in self._leaves(values):
            if isinstance(value, self._torch.Tensor):
                self._note(value, maker, is_older=is_older)

    def at_peak(self) -> list[NotedStorage[Maker]]:
        """Return the storages that are in memory when their sum is largest.

        One that is older than the step was there from the beginning, whenever it was first used.
        """
        size = most = sum(one.size_bytes for one in self._storages if one.is_older)
        events_to_peak = 0
        for place, (number, is_released) in enumerate(self._events, start=1):
            storage = self._storages[number]
            if is_released:
                size -= storage.size_bytes
            elif not storage.is_older:
                size += storage.size_bytes
            if size > most:
                most, events_to_peak = size, place
        alive = {number for number, one in enumerate(self._storages) if one.is_older}
        for number, is_released in self._events[:events_to_peak]:
            if is_released:
                alive.discard(number)
            else:
                alive.add(number)
        return [self._storages[number] for number in sorted(alive)]

    def _note(self, tensor: Foreign, maker: Maker, *, is_older: bool) -> None:
        try:
            storage = tensor.untyped_storage()
            size_bytes = int(storage.nbytes())
        except (NotImplementedError, RuntimeError):  # a tensor of several tensors, or without data
            return
        address = int(storage._cdata)
        if address in self._alive or not size_bytes or storage.device.type != self._device:
            return
        number = len(self._storages)
        reference = weakref.ref(storage, partial(self._release, address, number))
        sizes = ",".join(map(str, tensor.shape))
        name = f"{str(tensor.dtype).removeprefix('torch.')}[{sizes}]"
        self._storages.append(NotedStorage(maker, name, size_bytes, is_older))
        self._alive[address] = number, reference
        self._events.append((number, False))

    def _release(self, address: int, number: int, _: object) -> None:
        if self._alive.get(address, (None, None))[0] == number:
            del self._alive[address]
        self._events.append((number, True))
