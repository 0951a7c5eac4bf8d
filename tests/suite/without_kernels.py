"""The part of a stopping rule that checks of whole steps, with pairs as usual, do not need."""


class WithoutKernels:
    """Never looks at kernels, measures each pair as long as usual, and needs one for a test."""

    def pair_lengths(self, seconds):  # noqa: ARG002 - the rule's signature
        return {}

    def fewest_pairs(self):
        return 1

    def due_kernels(self):
        return frozenset()

    def look_at_kernels(self, windows):
        raise AssertionError(windows)
