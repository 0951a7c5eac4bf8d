"""Names the years over which an owned server can be kept, with its resale value after them."""

from enum import IntEnum


class Horizon(IntEnum):
    """The number of years: those with a known residual value."""

    THREE = 3
    FIVE = 5


RESIDUALS = {Horizon.THREE: "residual_value_36m", Horizon.FIVE: "residual_value_60m"}
