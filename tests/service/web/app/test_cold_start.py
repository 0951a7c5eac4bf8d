"""A service whose first requests arrive together: msgspec must know every type before.

msgspec 0.22 publishes what it knows of a type before it is complete. A thread that decodes the same
type then dies with a segmentation fault, so that decoders are created at import.
"""

import subprocess
import sys

import pytest

from perfledger_service.usecases.server.project import add_project

TOKEN = "pl_0123abcd_" + "s" * 43
# What it prints are the types that msgspec inspected after all modules were imported.
FIRST_DECODED_LATE = """
import hashlib, hmac, json, sys, threading, time
from pathlib import Path

import httpx
import uvicorn

from perfledger_service.settings.service import ServiceSettings
from perfledger_service.web.server import build_app

database_url, github_url, bundle, token = sys.argv[1:]
late = {}


def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name == "get_class_annotations":
        caller = frame.f_back
        while caller is not None and "msgspec" in caller.f_code.co_filename:
            caller = caller.f_back
        late[str(frame.f_locals.get("obj"))] = f"{caller.f_code.co_name}"


threading.setprofile(note)
settings = ServiceSettings(
    database_url=database_url, github_api_url=github_url, github_token=token, webhook_secret="w"
)
with build_app(settings) as app:
    config = uvicorn.Config(app, port=0, log_config=None, access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    headers = {"Authorization": f"Bearer {token}"}
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=600)
    with client:
        upload = client.post("/api/v1/uploads", content=Path(bundle).read_bytes()).json()
        place = f"/api/v1/uploads/{upload['id']}"
        while (status := client.get(place).json()["status"]) in ("received", "judged"):
            time.sleep(0.05)
        assert status == "posted", client.get(place).text
        for page in (
            "/", f"/runs/{upload['id']}", "/series/1", "/octo/models/pull/7", "/octo/models",
            "/capacity", "/api/v1/priors", "/api/v1/ab-requests",
        ):
            client.get(page).raise_for_status()
        body = json.dumps({
            "action": "created", "repository": {"id": 1296269, "full_name": "octo/models"},
            "issue": {"number": 7, "state": "open", "pull_request": {}},
            "comment": {"id": 1, "body": "x", "user": {"login": "a"}},
            "sender": {"login": "a", "type": "User"},
        }).encode()
        signature = "sha256=" + hmac.new(b"w", body, hashlib.sha256).hexdigest()
        signed = {"X-Hub-Signature-256": signature, "X-GitHub-Event": "issue_comment"}
        client.post("/webhooks/github", content=body, headers=signed).raise_for_status()
    server.should_exit = True
    thread.join()
print(json.dumps(late))
"""
FIRST_DECODED_TOGETHER = """
import sys, threading
from pathlib import Path

from perfledger_runners.bundles.files import read_bundle

sys.setswitchinterval(1e-6)
data = Path(sys.argv[1]).read_bytes()
together = threading.Barrier(8)


def read():
    together.wait()
    read_bundle(data)


threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.fixture
def bundle_file(make_bundle, tmp_path):
    file = tmp_path / "bundle.json"
    file.write_text(make_bundle(ratio=1.2).to_json(), encoding="utf-8")
    return file


@pytest.mark.slow(ci_only=True)
def test_bundles_that_threads_decode_first_and_together_are_read(bundle_file):
    results = [
        subprocess.run([sys.executable, "-c", FIRST_DECODED_TOGETHER, bundle_file], check=False)
        for _ in range(4)
    ]

    assert [one.returncode for one in results] == [0] * 4


@pytest.mark.slow(ci_only=True)
def test_no_request_is_the_first_to_decode_a_type(
    engine, database_url, at_github, bundle_file, now
):
    at_github.open_pull()
    add_project(engine, "octo/models", token=TOKEN, now=now)

    places = (database_url, at_github.server.url, bundle_file, TOKEN)
    child = subprocess.run(
        [sys.executable, "-c", FIRST_DECODED_LATE, *places],
        capture_output=True,
        text=True,
        check=False,
    )

    assert child.returncode == 0, child.stderr
    assert child.stdout.splitlines()[-1] == "{}"
