"""Reads bundles with checks, and writes them atomically."""

import json
import os
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from perfledger.bundle import BUNDLE_FORMAT, BUNDLE_VERSION, Bundle
from perfledger_profiles.parsing.gzip_input import GZIP_MAGIC, GZIP_WINDOW
from perfledger_runners.bundles.validation import check_bundle
from perfledger_runners.bundles.value_checks import BundleError, CheckedObjects, check_values

# Three million samples in full; 200 metrics with 20 samples each are 0.1 % of it.
MAX_PLAIN_BYTES = 64 * 2**20
MAX_UNPACKED_BYTES = 256 * 2**20  # of an uploaded bundle
# A gzip bomb has a ratio of 1000. Samples have 3 to 10, but a log of one repeated line compresses
# like a bomb, so data that is small when unpacked may have any ratio.
MAX_RATIO = 200
FREE_UNPACKED_BYTES = 16 * 2**20  # so small that no ratio matters
# Every value takes a comma or a bracket, and some 100 bytes of memory when decoded.
MAX_VALUES = 4_000_000
CHUNK_BYTES = 2**20

# Created here, since msgspec crashes if several threads are the first to decode a type.
BUNDLE_DECODER = msgspec.json.Decoder(Bundle)
OLD_CLASS_NAME = b'"device_class"'  # of the spreads of older bundles

Document = dict[str, Any]
# Upgrades to the next version: a reader of version 3 runs 1 → 2 → 3 on a document of version 1.
UPGRADES: Mapping[int, Callable[[Document], Document]] = {}


def read_bundle(data: bytes) -> Bundle:
    """Return the bundle in `data`, plain or gzip JSON of this or an older version.

    Raises BundleError, which names the field, for anything that perfledger does not write.
    """
    return decode_bundle(unpack(data))


def decode_bundle(document: bytes) -> Bundle:
    """Return the bundle in a file's JSON as unpacked by `unpack`; see `read_bundle`.

    The JSON is read twice: once to check it, which keeps nothing, and once into the bundle. A tree
    of all its values, three times as large as the bundle, is made only for older documents.
    """
    header = check_document(document)
    try:
        if header.get("version") == BUNDLE_VERSION and OLD_CLASS_NAME not in document:
            _check_header(header, current=BUNDLE_VERSION)
            bundle = BUNDLE_DECODER.decode(document)
        else:
            values = upgrade(
                json.loads(document.decode()), upgrades=UPGRADES, current=BUNDLE_VERSION
            )
            _rename_classes(values)
            bundle = msgspec.convert(values, BUNDLE_DECODER.type, strict=True)
    except msgspec.DecodeError as error:
        msg = f"the bundle is not as described in docs/reference/bundle.md: {error}"
        raise BundleError(msg) from error
    check_bundle(bundle)
    return bundle


def _rename_classes(values: Document) -> None:
    """Give the spreads of older bundles, with a `device_class`, their `machine_class`."""
    plan: Any = values.get("plan")
    spreads: Any = cast("Document", plan).get("spreads") if isinstance(plan, dict) else None
    for spread in cast("list[object]", spreads) if isinstance(spreads, list) else ():
        fields = cast("Document", spread) if isinstance(spread, dict) else {}
        if "device_class" in fields:
            fields["machine_class"] = fields.pop("device_class")


def write_bundle(bundle: Bundle, path: Path) -> None:
    """Write the bundle atomically: `path` is complete or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - it is a descriptor
            file.write(bundle.to_json())
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def unpack(data: bytes) -> bytes:
    """Return `data` unpacked if it is gzip, within limits; raise BundleError."""
    if len(data) > MAX_PLAIN_BYTES:
        msg = f"the bundle has {len(data)} bytes: the maximum is {MAX_PLAIN_BYTES}"
        raise BundleError(msg)
    if not data.startswith(GZIP_MAGIC):
        return data
    limit = min(MAX_UNPACKED_BYTES, max(FREE_UNPACKED_BYTES, MAX_RATIO * len(data)))
    unpacker = zlib.decompressobj(GZIP_WINDOW)
    parts: list[bytes] = []
    size, rest = 0, data
    try:
        while rest and not unpacker.eof:
            parts.append(unpacker.decompress(rest, CHUNK_BYTES))
            rest = unpacker.unconsumed_tail
            size += len(parts[-1])
            if size > limit:
                msg = f"the bundle unpacks to more than {limit} bytes, which no bundle does"
                raise BundleError(msg)
    except zlib.error as error:
        msg = f"the bundle's gzip is damaged: {error}"
        raise BundleError(msg) from error
    if not unpacker.eof or unpacker.unused_data:
        msg = "the bundle's gzip is truncated or has trailing data: send it again"
        raise BundleError(msg)
    return b"".join(parts)


def check_document(data: bytes) -> Document:
    """Return the outermost fields of the JSON object in `data`; those that are checked may be None.

    Rejects duplicate keys, NaN, deep nesting, and the values that `check_values` rejects.
    """
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        msg = f"the bundle has more than {MAX_VALUES} values"
        raise BundleError(msg)
    objects = CheckedObjects()
    try:
        document = json.loads(
            data.decode("utf-8"), object_pairs_hook=objects.add, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        msg = f"the bundle is not valid JSON: {reason}"
        raise BundleError(msg) from error
    if document is not objects.last_result or objects.last_fields is None:
        msg = "the bundle is not a JSON object"
        raise BundleError(msg)
    check_values(objects.last_fields)
    return objects.last_fields


def upgrade(
    document: Document, *, upgrades: Mapping[int, Callable[[Document], Document]], current: int
) -> Document:
    """Return the document upgraded to version `current`; raise BundleError for a newer one."""
    version = _check_header(document, current=current)
    for old in range(version, current):
        document = upgrades[old](document) | {"version": old + 1}
    return document


def _check_header(document: Document, *, current: int) -> int:
    """Return the version of a document that this reader knows; raise BundleError for others."""
    if document.get("format") != BUNDLE_FORMAT:
        msg = f"this is not a bundle: its format is not {BUNDLE_FORMAT!r}"
        raise BundleError(msg)
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        msg = "version: the bundle has no version number"
        raise BundleError(msg)
    if version > current:
        msg = (
            f"bundle version {version} is newer than this perfledger reads ({current}): "
            "update perfledger"
        )
        raise BundleError(msg)
    return version


def _refuse_constant(constant: str) -> float:
    msg = f"{constant} is not a number"
    raise ValueError(msg)
