"""Computes the throughput from which owned or rented devices cost less than an API."""

from dataclasses import dataclass

from perfledger.rounding import for_programs, typed
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.money import Usd
from perfledger_cost_models.units import MILLION

MAX_USD_PER_MILLION = 1e9  # more is a typing error
MIN_USD_PER_MILLION = 1e-9  # of a mix: beyond both is a typing error


class ApiPriceError(ValueError):
    """An error for an invalid price of an API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPrice:
    """An API's price per million tokens, and the share of the tokens that are output."""

    input_usd: Usd
    output_usd: Usd
    output_share: float

    def __post_init__(self) -> None:
        """Raise ApiPriceError for an invalid price."""
        for name, usd in (("input", self.input_usd), ("output", self.output_usd)):
            if not 0 <= usd <= MAX_USD_PER_MILLION:
                msg = (
                    f"{for_programs(usd)} USD per million {name} tokens: give a price of 0 or "
                    f"above, up to {typed(MAX_USD_PER_MILLION)}"
                )
                raise ApiPriceError(msg)
        if not 0 <= self.output_share <= 1:
            msg = (
                f"an output share of {for_programs(self.output_share * 100)} %: give a "
                "percentage, 0 to 100"
            )
            raise ApiPriceError(msg)
        if self.usd_per_million <= 0:
            msg = "tokens of this mix cost nothing: no throughput is cheaper"
            raise ApiPriceError(msg)
        if self.usd_per_million < MIN_USD_PER_MILLION:
            msg = (
                f"{typed(self.usd_per_million)} USD per million tokens of this mix: give prices "
                f"with at least {typed(MIN_USD_PER_MILLION)}"
            )
            raise ApiPriceError(msg)

    @property
    def usd_per_million(self) -> Usd:
        """Return the price of a million tokens of this mix."""
        inputs = self.input_usd * (1 - self.output_share)
        return Usd(inputs + self.output_usd * self.output_share)


def break_even_throughput(price: ApiPrice, *, usd_per_useful_hour: float) -> float:
    """Return the tokens per second of one device at which both cost the same.

    A device that does T tokens a second makes 3600 T in a useful hour, so that
    T = hour / (3600 price / 10^6). Input and output tokens both count, in the mix of the price.
    """
    return usd_per_useful_hour / (SECONDS_PER_HOUR * price.usd_per_million / MILLION)
