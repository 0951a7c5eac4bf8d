"""Turn the names of kernels into the operations of a step that are theirs, with exclusive time.

A kernel's own seconds count what overlaps twice; an operation's belong to it alone.
"""

from collections.abc import Collection, Iterable

from perfledger.profile import Kernel, Operation, Profile


def kernel_operations(profile: Profile, kernels: Iterable[Kernel]) -> tuple[Operation, ...]:
    """Return the operations that are these kernels, in the profile's order."""
    names = frozenset(kernel.name for kernel in kernels)
    return tuple(operation for operation in profile.operations if is_of_kernel(operation, names))


def is_of_kernel(operation: Operation, names: Collection[str]) -> bool:
    """Tell whether an operation is one of the named kernels.

    Where two programs have operations by one name, their kernels bear the program's as well.
    """
    return operation.name in names or f"{operation.path}:{operation.name}" in names
