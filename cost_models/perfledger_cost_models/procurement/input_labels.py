"""Holds readable labels for the inputs of the hardware sheet."""

from perfledger_cost_models.tco.onprem import LICENCES, UTILIZATION

# For inputs whose names would not be clear to the readers of a review.
INPUT_LABELS = {
    "wacc": "cost of capital (WACC)",
    UTILIZATION: "useful share of allocated hours",
    "residual_value_36m": "resale value after 36 months",
    "staff_fte_per_8gpu_node_small": "staff per server",
    "staff_cost_loaded": "cost of one employee",
    "support_contract": "support contract",
    "average_load_power_fraction": "power under load, share of the maximum",
    "idle_power_server_fraction": "idle power, share of the maximum",
    "pue_enterprise": "PUE of the data center",
    "electricity_us_industrial": "electricity",
    "colo_price": "colocation price",
    "spares_pool": "spares",
    "network_share_of_capex": "network, share of the servers' price",
    "storage_share_of_capex": "storage, share of the servers' price",
    LICENCES: "NVIDIA AI Enterprise licence",
    "server_price_8xH100_SXM": "price of a server with 8 H100",
    "server_price_8xA100_80GB": "price of a server with 8 A100",
    "max_power_8xH100": "maximum power of a server with 8 H100",
    "max_power_8xA100": "maximum power of a server with 8 A100",
}
