"""A first workload: replace it by a step that matters to you."""

import math

import perfledger


@perfledger.workload(unit="roots", units_per_step=10_000)
def square_roots():
    """Take ten thousand square roots."""
    numbers = [float(number) for number in range(10_000)]  # set-up: not measured

    def step():  # measured, again and again
        return sum(map(math.sqrt, numbers))

    return step
