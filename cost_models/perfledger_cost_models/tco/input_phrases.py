"""Holds how people read each input of the cost of ownership: its phrase, and its figure."""

from decimal import Decimal

from perfledger.rounding import digits

_PHRASES = {
    "server_price_8xH100_SXM": "price of a server with 8 H100",
    "server_price_8xH100_list_no_discount": "list price of a server with 8 H100",
    "server_price_8xA100_80GB": "price of a server with 8 A100",
    "gpu_used_price_H100_SXM": "price of a used H100",
    "gpu_used_price_A100": "price of a used A100",
    "allin_capex_per_gpu_1024xH100_cluster": "price of a cluster of 1,024 H100, per GPU",
    "max_power_8xH100": "maximum power of a server with 8 H100",
    "max_power_8xA100": "maximum power of a server with 8 A100",
    "average_load_power_fraction": "power under load, share of the maximum",
    "idle_power_gpu_H100": "idle power of an H100",
    "idle_power_gpu_H200": "idle power of an H200",
    "idle_power_gpu_B200": "idle power of a B200",
    "idle_power_gpu_A100": "idle power of an A100",
    "idle_power_server_fraction": "idle power, share of the maximum",
    "pue_enterprise": "PUE of the data center",
    "pue_hyperscale": "PUE of a cloud provider",
    "electricity_us_industrial": "electricity",
    "electricity_growth": "growth of the electricity price",
    "colo_price": "colocation price",
    "network_share_of_capex": "network, share of the servers' price",
    "storage_share_of_capex": "storage, share of the servers' price",
    "support_contract": "support contract",
    "software_licence_nvidia_ai_enterprise": "NVIDIA AI Enterprise licence",
    "staff_fte_per_8gpu_node_small": "staff per server",
    "staff_cost_loaded": "cost of one employee",
    "servers_per_admin_large": "servers per administrator of a large fleet",
    "gpu_annual_failure_rate": "GPU failures a year",
    "unexpected_interruptions": "unexpected interruptions",
    "effective_training_time": "effective training time",
    "whole_run_overhead_factor": "overhead of a whole training run",
    "spares_pool": "spares",
    "depreciation_years": "years of depreciation",
    "residual_value_36m": "resale value after 36 months",
    "residual_value_60m": "resale value after 60 months",
    "wacc": "cost of capital (WACC)",
    "utilization_baseline": "useful share of allocated hours",
    "carbon_intensity_us_location": "carbon intensity of the US grid",
    "spot_notice_aws": "notice of a spot interruption on AWS",
    "spot_notice_gcp": "notice of a spot interruption on Google Cloud",
    "capacity_block_min_prepay": "shortest prepaid capacity block",
    "facility_capex": "price of the facility",
    "facility_years": "life of the facility",
    "facility_operation": "operation of the facility",
}
# How shares and yearly rates read in percent, by the unit of their input.
_PERCENT_UNITS = {
    "share": "%",
    "fraction": "%",
    "per year": "% a year",
    "of capex per year": "% of capex a year",
    "of max": "% of the maximum",
    "of nodes": "% of nodes",
    "of price": "% of the price",
}
_RATIO = "ratio"  # needs no word beside the figure


def input_phrase(parameter: str) -> str:
    """Return the phrase of an input; one added by an overrides file is shown by its name."""
    return _PHRASES.get(parameter, parameter)


def input_figure(value: Decimal, unit: str) -> str:
    """Return an input's value with its unit; shares and yearly rates are in percent."""
    percent = _PERCENT_UNITS.get(unit)
    if unit == _RATIO:
        return digits(value)
    return f"{digits(value)} {unit}" if percent is None else f"{digits(value * 100)} {percent}"
