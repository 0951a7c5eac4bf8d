"""The names of inputs, as the sheet has them, in the words of those who decide."""

from perfledger_cost_models.onprem import LICENCES, UTILIZATION

# Of inputs whose names say too little to those who decide.
INPUT_WORDS = {
    "wacc": "cost of capital (WACC)",
    UTILIZATION: "share of hours held that is useful",
    "residual_value_36m": "resale value after 36 months",
    "staff_fte_per_8gpu_node_small": "staff per server",
    "staff_cost_loaded": "cost of one of staff",
    "support_contract": "support contract",
    "average_load_power_fraction": "power under load, of the maximum",
    "idle_power_server_fraction": "power when idle, of the maximum",
    "pue_enterprise": "PUE of the room",
    "electricity_us_industrial": "electricity",
    "colo_price": "rent of the room",
    "spares_pool": "spares",
    "network_share_of_capex": "network, of the servers' price",
    "storage_share_of_capex": "storage, of the servers' price",
    LICENCES: "NVIDIA AI Enterprise licence",
    "server_price_8xH100_SXM": "price of a server with 8 H100",
    "server_price_8xA100_80GB": "price of a server with 8 A100",
    "max_power_8xH100": "maximum power of a server with 8 H100",
    "max_power_8xA100": "maximum power of a server with 8 A100",
}
