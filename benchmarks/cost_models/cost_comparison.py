"""How long it takes to compare ten options by 20,000 draws, cold and again.

Two owned servers at two uses each and six ways to rent, as `perfledger cost compare` does it: every
input drawn, medians, quantiles, the chance of being cheapest. The aim is below a second.
"""

import time
from dataclasses import replace

from perfledger.rounding import decimals, percentage
from perfledger_cost_models.draws import DRAWS
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.tco.buy_vs_rent import bought_option, compare, owned_option
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.onprem import SERVERS
from perfledger_cost_models.tco.purchase_modes import terms_of

RENTED = (
    "p5.48xlarge/on_demand",
    "p5.48xlarge/savings_plan/1y_all_upfront",
    "p5.48xlarge/savings_plan/3y_all_upfront",
    "p5.48xlarge/savings_plan/3y_no_upfront",
    "p5.48xlarge/capacity_block/prepaid_24h",
    "a3-highgpu-8g/on_demand@us-east4",
)
REPEATS = 5


def compare_options() -> int:
    """Compare the ten options; return how many there were."""
    sheet, parameters = packaged_sheet(), packaged_hardware_inputs()
    owned = [
        replace(option, name=f"{option.name} at {percentage(use)}")
        for server in SERVERS
        for use in (0.4, 0.7)
        for option in (owned_option(server, parameters, use=use),)
    ]
    rented = [
        bought_option(terms_of(sheet.find(name)), parameters, use=0.7, accelerator="H100-80GB")
        for name in RENTED
    ]
    return len(compare([*owned, *rented]))


def main() -> None:
    """Print the seconds of the first comparison, and of the fastest of some more."""
    packaged_sheet()
    times: list[float] = []
    count = 0
    for _ in range(1 + REPEATS):
        began = time.perf_counter()
        count = compare_options()
        times.append(time.perf_counter() - began)
    print(
        f"{count} options, {DRAWS} draws: {decimals(times[0], 3)} s, again "
        f"{decimals(min(times[1:]), 3)} s"
    )


if __name__ == "__main__":
    main()
