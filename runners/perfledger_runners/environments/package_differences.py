"""Finds packages that differ between the sides' environments by chance, not by the change.

A package index has other versions tomorrow. Environments that are built at different times from
requirements without exact versions then differ, and comparing them says nothing about the change.
"""

import re
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Protocol

from perfledger.records import FailureReason
from perfledger_runners.checkouts.source_tree import SourceTree, changed_dependencies, first_few
from perfledger_runners.environments.build import BuildError
from perfledger_runners.environments.derived_build import BuildInputs
from perfledger_runners.environments.settled_differences import pair_key

REQUIREMENT_NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
RESTLESS_ADVICE = (
    "{} differs between two builds of the same commit: if it is built from this repository, "
    "install it from its folder (`pip install ./FOLDER`), or build it with a version and files "
    "that do not depend on the time"
)


class OtherPackagesError(BuildError):
    """Environments of two sides whose packages differ, although no changed file explains it."""

    reason = FailureReason.PACKAGES


class BuiltPackages(Protocol):
    """The packages of an environment that was built for a revision; without one there are none."""

    @property
    def tree(self) -> SourceTree:
        """Return the revision."""
        ...

    @property
    def inputs(self) -> BuildInputs:
        """Return what differs between the sides in the files that environments are made from."""
        ...

    @property
    def distributions(self) -> Mapping[str, str]:
        """Return the versions by name."""
        ...

    @property
    def of_files(self) -> frozenset[str]:
        """Return the names of packages that were installed from files."""
        ...

    @property
    def contents(self) -> Mapping[str, str]:
        """Return a digest of the files of packages by name, where it is known."""
        ...


def unexplained_packages(base: BuiltPackages, head: BuiltPackages) -> tuple[str, ...]:
    """Return the packages that differ between two environments, and that no changed file names.

    A changed requirement explains the package that it names, not those that this one requires.
    Without an environment of each side there are none.
    """
    if not (base.distributions and head.distributions):
        return ()
    explained = {
        *(head.inputs.locked | base.of_files | head.of_files),
        *_changed_requirements(base.tree, head.tree),
        *_changed_requirements(head.tree, base.tree),
    }
    return tuple(
        name
        for name in sorted(base.distributions.keys() | head.distributions.keys())
        if name not in explained and not _is_alike(name, base, head)
    )


def is_same_build(first: BuiltPackages, second: BuiltPackages) -> bool:
    """Return whether two builds have the same packages; their versions may be those of a clock."""
    names = first.distributions.keys() | second.distributions.keys()
    return all(_is_alike(name, first, second) for name in names)


def resolved_pair(base: BuiltPackages, head: BuiltPackages) -> str:
    """Return the name of what two environments were resolved from, and of their packages.

    The checkout's own packages do not count: they differ in each commit.
    """
    own_packages = base.of_files | head.of_files
    return pair_key(
        *(
            (
                sorted(each.tree.dependencies.items(), key=itemgetter(0)),
                {
                    name: each.contents.get(name, version)
                    for name, version in each.distributions.items()
                    if name not in own_packages
                },
            )
            for each in (base, head)
        )
    )


def _is_alike(name: str, first: BuiltPackages, second: BuiltPackages) -> bool:
    """Return whether a package has the same version, or the same files in spite of its version."""
    content = first.contents.get(name)
    is_same_content = content is not None and content == second.contents.get(name)
    return is_same_content or first.distributions.get(name) == second.distributions.get(name)


def may_be_of_change(base: BuiltPackages, head: BuiltPackages) -> bool:
    """Return whether a changed file may explain any difference of environments built together.

    Another version of a package may require other versions of others.
    """
    return bool(changed_dependencies(base.tree, head.tree))


def renewed_note(name: str, older: BuiltPackages, newer: BuiltPackages) -> str:
    """Return the note on an environment that was built again because it was out of date."""
    packages = first_few(unexplained_packages(older, newer))
    return (
        f"the environment of {name} was built again: it was built before this check, and differed "
        f"in {packages}, which no changed file explains"
    )


def other_packages_error(
    base: BuiltPackages,
    head: BuiltPackages,
    *,
    first_build: BuiltPackages,
    second_build: BuiltPackages,
) -> OtherPackagesError:
    """Return the error for environments that remain different for reasons other than the change.

    The two builds are of one side in this check: what differs between them has
    another version or other files at each build, and no pin of it can help.
    """
    names = unexplained_packages(base, head)
    restless = tuple(name for name in names if not _is_alike(name, first_build, second_build))
    versions = (
        f"{name} {base.distributions.get(name, 'none')} and {head.distributions.get(name, 'none')}"
        for name in names
    )
    advice = "pin exact versions, in a lock file or in the requirements, and check again"
    if restless:
        advice = f"{advice}; {RESTLESS_ADVICE.format(first_few(restless))}"
    msg = (
        "the environments of base and head have other versions of packages, although the files "
        f"that name packages are the same ({first_few(tuple(versions))}): {advice}"
    )
    return OtherPackagesError(msg)


def _changed_requirements(tree: SourceTree, facing: SourceTree) -> Iterator[str]:
    """Yield the names in those of a revision's requirements that the facing revision lacks."""
    for path, declared in tree.dependencies.items():
        same = facing.dependencies.get(path)
        for requirement in declared.requirements:
            match = REQUIREMENT_NAME.match(requirement)
            if match and (same is None or requirement not in same.requirements):
                yield re.sub(r"[-_.]+", "-", match[1]).lower()
