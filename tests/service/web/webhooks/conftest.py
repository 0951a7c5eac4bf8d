"""The application with a webhook secret, and a judged pull request that deliveries are about."""

import hashlib
import hmac
import json

import pytest
from pydantic import SecretStr

from perfledger.bundle import CostPolicy, FleetUse, PricingConfig
from perfledger.records import Device, Machine
from perfledger_service.usecases.server.project import let_actions_upload

SECRET = "canaryCanaryCanaryWebhookSecret"
ROUTE = "/webhooks/github"
H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=85_520_809_984)
FLEET = FleetUse(
    workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0, source="x"
)
POLICY = CostPolicy(team="nlp", ask_above_usd_per_year=0.01, approvers=("Alice",))


def signature(body, secret=SECRET):
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


@pytest.fixture
def site(engine, start_site):
    """The application with a webhook secret."""
    with start_site(engine, webhook_secret=SecretStr(SECRET)) as site:
        site.get("/healthz")  # it has started, and swept up what was left over
        yield site


@pytest.fixture
def deliver(site):
    """Deliver a document or bytes, signed."""

    def deliver(document, *, event="issue_comment", secret=SECRET):
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        headers = {"X-GitHub-Event": event, "X-Hub-Signature-256": signature(body, secret)}
        return site.client.post(ROUTE, content=body, headers=headers)

    return deliver


@pytest.fixture
def upload_for_approval(site, judged, make_bundle):
    """A judged pull request whose cost asks for approval, and no work to do."""
    pricing = PricingConfig(fleet=(FLEET,), policies=(POLICY,))
    upload = judged(site.engine, make_bundle(ratio=1.0, machine=H100, pricing=pricing))
    let_actions_upload(
        site.engine,
        "octo/models",
        repository_id=1296269,
        owner_id=583231,
        branch="main",
        now=upload.created_at,
    )
    site.jobs.works.clear()
    return upload
