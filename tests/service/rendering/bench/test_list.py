import json

from perfledger.records import WorkloadSpec
from perfledger_runners.measuring.discovery import Discovery
from perfledger_service.rendering.bench.list import workloads_document
from perfledger_service.rendering.layout.writers import plain_lines, to_json, to_terminal

SPEC = WorkloadSpec(
    id="gpt:step[batch=8]", module="gpt", function="step", unit="tokens", units_per_step=8192.0
)


def test_a_workload_is_shown_with_what_a_step_does():
    discovery = Discovery(workloads=(SPEC,), broken=())

    text = " ".join(plain_lines(to_terminal(workloads_document(discovery))).split())
    (row,) = json.loads(to_json(workloads_document(discovery)))["workloads"]

    assert "gpt:step[batch=8] tokens 8,192" in text
    assert (row["id"], row["units_per_step"]) == ("gpt:step[batch=8]", 8192.0)


def test_a_repository_without_workloads_says_so():
    document = workloads_document(Discovery())

    assert "no workload is registered or chosen" in plain_lines(to_terminal(document))
    assert json.loads(to_json(document))["workloads"] == []
