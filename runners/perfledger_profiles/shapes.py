"""Turn an event's recorded inputs into one line: "float[8,3,32,32] float[64]"."""

from collections.abc import Iterator

import msgspec

from perfledger_profiles.chrome import Args
from perfledger_profiles.redact import clean_name

MAX_SHAPES = 200


class ShapeReader:
    """Read the inputs of events, each distinct text once."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes], str] = {}

    def of(self, args: Args | None) -> str:
        """Return the inputs that have a shape, in order; "" where none was recorded."""
        if args is None:
            return ""
        key = (bytes(args.dims), bytes(args.types))
        if key not in self._known:
            self._known[key] = " ".join(_tensors(*key))[:MAX_SHAPES]
        return self._known[key]


def _tensors(dims: bytes, types: bytes) -> Iterator[str]:
    try:
        sizes = msgspec.json.decode(dims, type=list[msgspec.Raw])
        names = msgspec.json.decode(types, type=list[str]) if types else []
    except (msgspec.DecodeError, RecursionError):
        return
    for index, size in enumerate(sizes):
        dimensions = "".join(bytes(size).decode().split())
        if dimensions.startswith("[") and dimensions != "[]":
            name = names[index] if index < len(names) else ""
            yield clean_name(name.removeprefix("c10::") + dimensions)
