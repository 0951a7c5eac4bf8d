"""The half of a stopping rule that looks at kernels, for checks without their windows."""


class WithoutKernels:
    """Never looks at kernels."""

    def due_kernels(self):
        return frozenset()

    def look_at_kernels(self, windows):
        raise AssertionError(windows)
