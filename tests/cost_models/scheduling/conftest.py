"""Three free nodes of four devices."""

import numpy as np
import pytest

from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.placement.free_devices import FreeDevices
from tests.cost_models.example_job_mix import MIX


@pytest.fixture
def free_devices():
    cluster = equal_nodes(3, devices=4)
    return FreeDevices(cluster, np.arange(3), MIX)
