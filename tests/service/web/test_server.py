"""The service as it is served, with the stand-in for GitHub: from the upload to the comment."""

import gc
import hmac
import io
import json
import logging
import socket
from contextlib import contextmanager

import httpx
import pytest
from dbos import DBOS
from pydantic import SecretStr

from perfledger.bundle import CostPolicy, FleetUse, PricingConfig
from perfledger.records import Device, Machine
from perfledger_runners.bundles.files import write_bundle
from perfledger_runners.bundles.upload import upload
from perfledger_service.errors import SettingsError
from perfledger_service.settings.service import ServiceSettings
from perfledger_service.usecases.server.project import add_project
from perfledger_service.web.server import build_app, collect_less_often, serve

GITHUB_TOKEN = "ghp_canaryCanaryCanaryCanaryCanary012345"
TOKEN = "pl_0123abcd_" + "s" * 43
POLL_S = 0.02


@pytest.fixture
def settings_for(stand_in):
    def make(url, **values):
        defaults = {
            "database_url": url,
            "github_api_url": stand_in.url,
            "github_token": SecretStr(GITHUB_TOKEN),
            "public_url": "https://ledger.example/",
        }
        return ServiceSettings(**(defaults | values))

    return make


@pytest.fixture
def everything_logged():
    """All that any library logs, down to DEBUG, as a text."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=85_520_809_984)


def finished(upload_id, *, attempt=1):
    """Wait until the work on an upload is done."""
    DBOS.retrieve_workflow(f"upload-{upload_id}-{attempt}").get_result(polling_interval_sec=POLL_S)


@pytest.fixture
def whole_service(any_engine, settings_for, serve_app, now):
    """Serve it all on a database of each kind, with a project; yields its URL."""
    add_project(any_engine, "octo/models", token=TOKEN, now=now)
    url = any_engine.url.render_as_string(hide_password=False)

    @contextmanager
    def start(**values):
        with build_app(settings_for(url, **values)) as app, serve_app(app) as root:
            yield root

    return start


@pytest.fixture
def spooled(make_bundle, tmp_path):
    """A bundle that tells of a regression, as a CI job would leave it."""
    path = tmp_path / "bundle.json"
    write_bundle(make_bundle(ratio=1.2), path)
    return path


@pytest.mark.slow
def test_a_bundle_becomes_a_comment_a_check_and_pages(
    whole_service, spooled, at_github, everything_logged
):
    at_github.open_pull()
    with whole_service() as root:
        receipt = upload(spooled, root, TOKEN)
        finished(receipt.id)
        again = upload(spooled, root, TOKEN)
        pages = "".join(
            httpx.get(root + path, timeout=600).text
            for path in ("/", "/octo/models/pull/7", f"/runs/{receipt.id}", "/series/1", "/readyz")
        )

    [comment], [check] = at_github.comments, at_github.checks
    assert (again.id, again.status) == (receipt.id, "posted")
    assert receipt.url == f"https://ledger.example/runs/{receipt.id}"
    assert "regressed" in comment["body"]
    assert "https://ledger.example/octo/models/pull/7" in comment["body"]
    assert check["conclusion"] == "failure"
    assert '"workflow":true' in pages
    text = str(at_github.server.state.document())
    stored = b"".join(path.read_bytes() for path in spooled.parent.glob("*.db*"))
    for canary in (GITHUB_TOKEN, TOKEN):
        assert canary not in pages + text + everything_logged.getvalue()
        assert canary.encode() not in stored


@pytest.mark.slow(ci_only=True)
def test_an_approval_commented_on_github_turns_the_check(
    whole_service, make_bundle, tmp_path, at_github
):
    use = FleetUse(workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0)
    policy = CostPolicy(team="nlp", ask_above_usd_per_year=0.01, approvers=("alice",))
    bundle = make_bundle(
        ratio=1.0, machine=H100, pricing=PricingConfig(fleet=(use,), policies=(policy,))
    )
    write_bundle(bundle, tmp_path / "bundle.json")
    at_github.open_pull()
    with whole_service(webhook_secret=SecretStr("canary")) as root:
        receipt = upload(tmp_path / "bundle.json", root, TOKEN)
        finished(receipt.id)
        before = at_github.checks[0]["conclusion"]
        printed = at_github.comments[0]["body"].split("can comment `")[1].split("`")[0]
        command = printed.replace("\N{HORIZONTAL ELLIPSIS}", "a new model")
        comment_id = at_github.add_comment("alice", command)["id"]
        body = json.dumps(
            {
                "action": "created",
                "repository": {"id": 1296269, "full_name": "octo/models"},
                "issue": {"number": 7, "user": {"login": "bob"}, "pull_request": {}},
                "comment": {"id": comment_id, "body": command, "user": {"login": "alice"}},
                "sender": {"login": "alice", "type": "User"},
            }
        ).encode()
        signed = f"sha256={hmac.new(b'canary', body, 'sha256').hexdigest()}"
        headers = {"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": signed}
        httpx.post(f"{root}/webhooks/github", content=body, headers=headers, timeout=600)
        DBOS.retrieve_workflow("command-1-1").get_result(polling_interval_sec=POLL_S)
        finished(receipt.id, attempt=2)

    [comment, _], [check] = at_github.comments, at_github.checks
    assert at_github.state["reactions"] == [{"comment": comment_id, "content": "+1"}]
    assert (before, check["conclusion"]) == ("action_required", "success")
    assert "Approved by `alice`" in comment["body"]


@pytest.mark.slow(ci_only=True)
def test_without_credentials_for_github_the_verdict_is_on_the_page(
    whole_service, spooled, at_github
):
    with whole_service(github_token=None) as root:
        receipt = upload(spooled, root, TOKEN)
        finished(receipt.id)
        page = httpx.get(f"{root}/octo/models/pull/7", timeout=600).text

    assert "regressed" in page
    assert at_github.requests == []


@pytest.mark.slow(ci_only=True)
def test_github_refusing_is_told_on_the_page_and_submitting_again_says_it(
    whole_service, spooled, at_github
):
    at_github.open_pull()
    at_github.fail_next(method="POST", status=403)
    with whole_service() as root:
        receipt = upload(spooled, root, TOKEN)
        finished(receipt.id)
        page = httpx.get(f"{root}/octo/models/pull/7", timeout=600).text
        again = upload(spooled, root, TOKEN)
        finished(receipt.id, attempt=2)

    assert (again.id, again.status) == (receipt.id, "judged")
    assert len(at_github.comments) == 1
    assert "GitHub answered 403 to POST" in page


def test_a_service_without_its_tables_does_not_start(settings_for, tmp_path):
    settings = settings_for(f"sqlite:///{tmp_path / 'empty.db'}")

    with (
        pytest.raises(SettingsError, match="run `perfledger server db upgrade`"),
        build_app(settings),
    ):
        pass


def test_half_of_an_apps_credentials_does_not_start(settings_for, database_url):
    settings = settings_for(database_url, github_app_id="12", github_token=None)

    with pytest.raises(SettingsError, match="set both"), build_app(settings):
        pass


@pytest.mark.usefixtures("log")
def test_an_address_that_is_taken_is_said_so(settings_for, database_url):
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", 0))
        taken_socket.listen()
        port = taken_socket.getsockname()[1]
        with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1:{port}"):
            serve(settings_for(database_url), host="127.0.0.1", port=port)


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "perf.example", ""])
def test_an_address_that_others_reach_is_refused_unless_everybody_may_read(
    settings_for, database_url, host
):
    with pytest.raises(SettingsError, match="PERFLEDGER_PUBLIC_READ=true"):
        serve(settings_for(database_url), host=host, port=0)


SIGN_IN = {"github_client_id": "Iv1.a", "github_client_secret": SecretStr("b")}


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("host", "values"),
    [
        ("127.0.0.1", {}),
        ("127.8.8.8", {}),
        ("0.0.0.0", {"public_read": True}),
        ("0.0.0.0", SIGN_IN),
        ("0.0.0.0", {"proxy_header": "X-User", "proxy_addresses": "192.0.2.7"}),
    ],
)
def test_loopback_and_where_people_sign_in_or_everybody_may_read_is_listened_on(
    settings_for, database_url, host, values
):
    with socket.socket() as taken_socket:  # so that it gets that far, and no further
        taken_socket.bind((host, 0))
        taken_socket.listen()
        port = taken_socket.getsockname()[1]
        settings = settings_for(database_url, **values)
        with pytest.raises(SettingsError, match="cannot listen on"):
            serve(settings, host=host, port=port)


@pytest.mark.slow(ci_only=True)
def test_what_the_service_begins_with_is_left_out_of_garbage_collections():
    usual = gc.get_threshold()
    try:
        collect_less_often()

        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[0] > usual[0]
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)
