"""The stand-in's workflows: they are dispatched, listed and cancelled, and keep artifacts and logs.

POST /_stand_in/workflows {"repository": "o/r", "workflow": "w.yml", "ref": "main",
                           "inputs": ["name"], "title": "name"}, the input that titles a run
POST /_stand_in/runs      {"id": 5, "status": "completed", "conclusion": "success", "jobs": […]}
POST /_stand_in/kept      {"id": 5, "name": "…", "data": "base64"}, or "job" in place of "name"
"""

import base64
import json
import time
from typing import Protocol

from github_state import Document, Reply, State, refuse

MAX_INPUTS, MAX_INPUT_TEXT = 25, 65_535
RUN = r"/repos/([\w.-]+/[\w.-]+)/actions/runs/(\d+)"
WORKFLOW = r"/repos/([\w.-]+/[\w.-]+)/actions/workflows/([\w.-]+)"


class WorkflowRequest(Protocol):
    """The parts of a request that are read, and what its answer receives."""

    query: dict[str, list[str]]
    document: Document
    headers: Document
    reply_headers: dict[str, str]


def dispatch(state: State, request: WorkflowRequest, name: str, workflow: str) -> Reply:
    workflow_document = state.workflows.get(f"{name}/{workflow}") or refuse(404, "Not Found")
    document = request.document
    inputs = document.get("inputs", {})
    if unknown := set(document) - {"ref", "inputs"}:
        refuse(422, f"Invalid request. {unknown} are not permitted keys.")
    if document.get("ref") != workflow_document["ref"]:
        refuse(422, f"No ref found for: {document.get('ref')}")
    if unexpected := sorted(set(inputs) - set(workflow_document["inputs"])):
        refuse(422, f"Unexpected inputs provided: {unexpected}")
    if len(inputs) > MAX_INPUTS or len(json.dumps(inputs)) > MAX_INPUT_TEXT:
        refuse(422, "inputs are too large.")
    run_document = {
        "id": state.new_id(),
        "name": "perfledger job",
        "display_title": inputs.get(workflow_document["title"], workflow_document["title"]),
        "event": "workflow_dispatch",
        "status": "queued",
        "conclusion": None,
        "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "html_url": f"https://github.example/{name}/actions/runs/{state.next_id}",
        "inputs": inputs,  # GitHub does not return them
        "workflow": f"{name}/{workflow}",
        "jobs": [],
    }
    state.runs[str(run_document["id"])] = run_document
    return 204, None


def list_runs(state: State, request: WorkflowRequest, name: str, workflow: str) -> Reply:
    runs = [run for run in state.runs.values() if run["workflow"] == f"{name}/{workflow}"]
    size, page = (
        int(request.query.get(key, [other])[0])
        for key, other in (("per_page", "30"), ("page", "1"))
    )
    newest = sorted(runs, key=lambda run: run["id"], reverse=True)
    return 200, {"total_count": len(runs), "workflow_runs": newest[(page - 1) * size : page * size]}


def get_run(state: State, _request: WorkflowRequest, _name: str, run: str) -> Reply:
    return 200, state.runs.get(run) or refuse(404, "Not Found")


def list_jobs(state: State, _request: WorkflowRequest, _name: str, run: str) -> Reply:
    run_document = state.runs.get(run) or refuse(404, "Not Found")
    return 200, {"total_count": len(run_document["jobs"]), "jobs": run_document["jobs"]}


def cancel_run(state: State, _request: WorkflowRequest, _name: str, run: str) -> Reply:
    run_document = state.runs.get(run) or refuse(404, "Not Found")
    if run_document["status"] == "completed":
        refuse(409, "Cannot cancel a workflow run that is completed.")
    run_document.update(status="completed", conclusion="cancelled")
    return 202, {}


def list_artifacts(state: State, request: WorkflowRequest, _name: str, run: str) -> Reply:
    artifact_name = request.query.get("name", [""])[0]
    artifacts = [
        one
        for one in state.archives.values()
        if one.get("run") == run and one["name"] == artifact_name
    ]
    entries = [{"id": one["id"], "name": one["name"]} for one in artifacts]
    return 200, {"total_count": len(entries), "artifacts": entries}


def lead_to(state: State, request: WorkflowRequest, _name: str, key: str) -> Reply:
    if key not in state.archives:
        refuse(404, "Not Found")
    request.reply_headers["Location"] = f"http://{request.headers['Host']}/storage/{key}"
    return 302, None


def get_kept(state: State, request: WorkflowRequest, key: str) -> Reply:
    """Return what was kept; the server that keeps it accepts no GitHub token."""
    if request.headers.get("Authorization"):
        refuse(400, "InvalidAuthenticationInfo")
    return 200, state.archives[key]["data"]


def add_workflow(state: State, request: WorkflowRequest) -> Reply:
    document = request.document
    state.repository(document["repository"], create=True)
    state.workflows[f"{document['repository']}/{document['workflow']}"] = document
    return 201, document


def change_run(state: State, request: WorkflowRequest) -> Reply:
    document = request.document
    run_document = state.runs.get(str(document["id"])) or refuse(404, "Not Found")
    run_document.update(document)
    return 200, run_document


def keep(state: State, request: WorkflowRequest) -> Reply:
    document = request.document
    key = str(document.get("job") or state.new_id())
    entry = {"id": int(key), "run": str(document["id"]), "name": document.get("name", "")}
    state.archives[key] = entry | {"data": base64.b64decode(document["data"])}
    return 201, entry


WORKFLOW_ROUTES = (
    ("POST", WORKFLOW + r"/dispatches", dispatch),
    ("GET", WORKFLOW + r"/runs", list_runs),
    ("GET", RUN, get_run),
    ("GET", RUN + r"/jobs", list_jobs),
    ("POST", RUN + r"/cancel", cancel_run),
    ("GET", RUN + r"/artifacts", list_artifacts),
    ("GET", r"/repos/([\w.-]+/[\w.-]+)/actions/artifacts/(\d+)/zip", lead_to),
    ("GET", r"/repos/([\w.-]+/[\w.-]+)/actions/jobs/(\d+)/logs", lead_to),
    ("GET", r"/storage/(\d+)", get_kept),
    ("POST", r"/_stand_in/workflows", add_workflow),
    ("POST", r"/_stand_in/runs", change_run),
    ("POST", r"/_stand_in/kept", keep),
)
