"""A first workload: replace it with a step that matters to you."""

import math

import perfledger

# << import_hint >>


@perfledger.workload(unit="roots", units_per_step=1_000_000)
def square_roots():
    """Take a million square roots."""
    numbers = [float(number) for number in range(1_000_000)]  # set-up: not measured

    def step():  # measured, again and again
        return sum(map(math.sqrt, numbers))

    return step
