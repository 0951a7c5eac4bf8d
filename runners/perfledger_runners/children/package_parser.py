"""Parses a child's report on where the code of a repository's packages came from."""

from typing import Annotated

from msgspec import Meta, Struct

from perfledger.package_code import MAX_COMPILED_MODULES, CompiledModule, LoadedPackage
from perfledger_runners.children.message_texts import Digest, FilePath, Id
from perfledger_runners.safe_text import clean_text

MAX_INTEGER = 2**63 - 1


class CompiledFile(Struct, frozen=True, kw_only=True):
    """A loaded shared object, with the fields of a CompiledModule."""

    path: FilePath
    size_bytes: Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
    digest: Digest


class PackageFiles(Struct, frozen=True, kw_only=True):
    """A loaded package of the repository, with the fields of a LoadedPackage."""

    name: Id
    folder: FilePath
    is_own: bool
    modules: Annotated[int, Meta(ge=1, le=MAX_INTEGER)]
    digest: Digest
    compiled: Annotated[tuple[CompiledFile, ...], Meta(max_length=MAX_COMPILED_MODULES)] = ()

    def package(self) -> LoadedPackage:
        """Return the package with paths that are safe to show and store."""
        return LoadedPackage(
            name=clean_text(self.name),
            folder=clean_text(self.folder),
            is_own=self.is_own,
            modules=self.modules,
            digest=self.digest,
            compiled=tuple(
                CompiledModule(
                    path=clean_text(each.path), size_bytes=each.size_bytes, digest=each.digest
                )
                for each in self.compiled
            ),
        )
