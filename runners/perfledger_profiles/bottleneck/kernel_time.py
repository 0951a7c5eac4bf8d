"""Finds the operations of a step that belong to kernels, with their exclusive time.

A kernel's own seconds count overlapping work twice; an operation's seconds are exclusive.
"""

from collections.abc import Collection, Iterable

from perfledger.profile import Kernel, Operation, Profile


def kernel_operations(profile: Profile, kernels: Iterable[Kernel]) -> tuple[Operation, ...]:
    """Return the operations of these kernels, in the profile's order."""
    names = frozenset(kernel.name for kernel in kernels)
    return tuple(operation for operation in profile.operations if is_of_kernel(operation, names))


def is_of_kernel(operation: Operation, names: Collection[str]) -> bool:
    """Return whether an operation is one of the named kernels.

    If two programs have operations of the same name, their kernels' names include the program.
    """
    return operation.name in names or f"{operation.path}:{operation.name}" in names
