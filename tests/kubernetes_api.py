"""An API server on the loopback interface that kubectl talks to, with the Jobs of one namespace.

It stands in for a cluster, which cannot run on one machine without root and a kernel of its own.
What it is sent and what it answers must have the form that Kubernetes publishes, it allows what a
Role allows, and it runs the command of a pod as a child process here.
"""

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml
from jsonschema.validators import Draft202012Validator
from kubernetes_validate.utils import schema_contents
from referencing import Registry, Resource

OLDEST_KUBERNETES, NEWEST_KUBERNETES = "1.27", "1.37"
NAMESPACE = "perfledger"
NODE = "gpu7"
NOW = "2026-01-02T03:04:05Z"
DEFINITIONS = {
    "EventList": "io.k8s.api.core.v1.EventList",
    "Job": "io.k8s.api.batch.v1.Job",
    "PodList": "io.k8s.api.core.v1.PodList",
    "Status": "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
}
GUIDE = Path(__file__).parent.parent / "docs" / "how-to" / "kubernetes-jobs.md"
VERBS = {"POST": "create", "GET": "get", "DELETE": "delete"}
PATH = re.compile(
    r"/(?:api|apis/batch)/v1/namespaces/(?P<namespace>[^/]+)"
    r"/(?P<resource>jobs|pods|events)(?:/(?P<name>[^/]+)(?P<log>/log)?)?"
)
# As k8s.io/kubernetes/third_party/forked/golang/expansion does it.
EXPANSION = re.compile(r"\$\$|\$\(([^)]*)\)")


def rules_of_guide() -> list[dict[str, Any]]:
    """Return the rules of the Role that the guide tells people to create."""
    text = GUIDE.read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    role, _ = yaml.safe_load_all(block)
    rules: list[dict[str, Any]] = role["rules"]
    return rules


@cache
def validator(kind: str, version: str) -> Draft202012Validator:
    file = f"kubernetes-json-schema/v{version}.0-local-strict/_definitions.json"
    definitions = schema_contents(file, version)
    registry: Registry[Any] = Resource.from_contents(definitions) @ Registry()
    reference = f"{definitions['$id']}#/$defs/{DEFINITIONS[kind]}"
    return Draft202012Validator({"$ref": reference}, registry=registry)


def check_form(document: dict[str, Any], version: str = NEWEST_KUBERNETES) -> None:
    """Raise jsonschema.ValidationError for what does not have the published form."""
    validator(document["kind"], version).validate(document)


@dataclass
class Fault:
    """What goes wrong with the next request of this kind, after or instead of what it does."""

    verb: str
    resource: str
    code: int = 0  # of the answer; 0: the connection is cut
    reason: str = ""
    message: str = "it went wrong"
    is_done: bool = False  # the request is fulfilled all the same
    is_silent: bool = False  # there is no answer until the server ends


@dataclass
class KubernetesApi:
    """What the server has, what it was asked, and what is to go wrong."""

    folder: Path
    rules: list[dict[str, Any]]
    secrets: dict[tuple[str, str], str] = field(default_factory=dict)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    logs: dict[str, bytes] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    at_request: Callable[[str, str], None] = lambda *_: None  # called before it is fulfilled
    runs_pods: bool = False
    began: int = 0  # pods
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    threads: list[threading.Thread] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    def checked_answer(self, method: str, target: str, body: bytes) -> tuple[int, Any] | None:
        """Return an answer that has the published form; what raises is a problem of the server."""
        try:
            answer = self.answer(method, target, body)
            if answer is not None and isinstance(answer[1], dict):
                check_form(answer[1])
        except Exception as error:
            self.problems.append(f"{method} {target}: {error!r}"[:2000])
            raise
        return answer

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, Any] | None:
        """Return code and document of an answer, None for none."""
        url = urlsplit(target)
        match = PATH.fullmatch(url.path)
        if match is None or match["namespace"] != NAMESPACE:
            return status(404, "NotFound", "the server could not find the requested resource")
        resource = f"{match['resource']}/log" if match["log"] else match["resource"]
        verb = "list" if method == "GET" and match["name"] is None else VERBS[method]
        with self.lock:
            self.requests.append((verb, resource))
            self.at_request(verb, resource)
            if not self.is_allowed(verb, resource):
                return status(403, "Forbidden", f'{resource} is forbidden: cannot "{verb}"')
            fault = next((f for f in self.faults if (f.verb, f.resource) == (verb, resource)), None)
            if fault is not None:
                self.faults.remove(fault)
            answer = None
            if fault is None or fault.is_done:
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                answer = self.fulfil(verb, resource, match["name"] or "", query, body)
        if fault is None:
            return answer
        if fault.is_silent:
            self.is_over.wait()
        return status(fault.code, fault.reason, fault.message) if fault.code else None

    def encoded(self, document: Any) -> bytes:
        with self.lock:
            return document if isinstance(document, bytes) else json.dumps(document).encode()

    def is_allowed(self, verb: str, resource: str) -> bool:
        group = "batch" if resource == "jobs" else ""
        return any(
            group in rule["apiGroups"] and resource in rule["resources"] and verb in rule["verbs"]
            for rule in self.rules
        )

    def fulfil(
        self, verb: str, resource: str, name: str, query: dict[str, str], body: bytes
    ) -> tuple[int, Any]:
        if verb == "create":
            return self.create(json.loads(body))
        if resource == "pods/log":
            return 200, self.logs.get(name, b"")[: int(query["limitBytes"])]
        if verb == "list":
            kind, items = "EventList", self.events
            if resource == "pods":
                label, _, value = query["labelSelector"].partition("=")
                kind = "PodList"
                items = [
                    pod for pod in self.pods.values() if pod["metadata"]["labels"][label] == value
                ]
            return 200, {"kind": kind, "apiVersion": "v1", "metadata": {}, "items": items}
        job = self.jobs.get(name)
        if job is None:
            return status(404, "NotFound", f'jobs.batch "{name}" not found')
        if verb == "delete":
            assert query["propagationPolicy"] == "Foreground"
            self.delete(name)
        return 200, job

    def create(self, job: dict[str, Any]) -> tuple[int, Any]:
        for version in (OLDEST_KUBERNETES, NEWEST_KUBERNETES):
            check_form(job, version)
        name = job["metadata"]["name"]
        if name in self.jobs:
            return status(409, "AlreadyExists", f'jobs.batch "{name}" already exists')
        job["metadata"] |= {"uid": name, "creationTimestamp": NOW, "namespace": NAMESPACE}
        job["status"] = {}
        self.jobs[name] = job
        if not job["spec"]["suspend"]:
            self.begin(name)
        return 201, job

    def begin(self, name: str) -> None:
        """Make the pod of a Job, as its controller does once it is not suspended."""
        job = self.jobs[name]
        job["spec"]["suspend"] = False
        self.began += 1
        template = job["spec"]["template"]
        self.pods[name] = {
            "metadata": {
                "name": f"{name}-{self.began}",
                "creationTimestamp": NOW,
                "labels": dict(template["metadata"]["labels"]),
            },
            "spec": {"containers": template["spec"]["containers"]},
            "status": {"phase": "Pending"},
        }
        if self.runs_pods:
            self.run(name)

    def run(self, name: str) -> None:
        """Start the command of a pod here."""
        pod = self.pods[name]
        (container,) = pod["spec"]["containers"]
        variables: dict[str, str] = {}
        for each in container["env"]:
            if "value" in each:
                variables[each["name"]] = expand(each["value"], variables)
            elif "fieldRef" in each["valueFrom"]:
                assert each["valueFrom"]["fieldRef"] == {"fieldPath": "spec.nodeName"}
                variables[each["name"]] = NODE
            else:
                reference = each["valueFrom"]["secretKeyRef"]
                variables[each["name"]] = self.secrets[reference["name"], reference["key"]]
        pod["spec"]["nodeName"] = NODE
        pod["status"] = {"phase": "Running"}
        output = self.folder / f"{pod['metadata']['name']}.log"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [expand(word, variables) for word in container["command"]],
                cwd=container["workingDir"],
                env={"PATH": os.environ["PATH"], **variables},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self.processes[name] = process
        thread = threading.Thread(target=self.follow, args=(name, pod, process, output))
        self.threads.append(thread)
        thread.start()

    def follow(
        self, name: str, pod: dict[str, Any], process: "subprocess.Popen[bytes]", output: Path
    ) -> None:
        exit_code = process.wait()
        with self.lock:
            self.logs[pod["metadata"]["name"]] = output.read_bytes()
            self.processes.pop(name, None)
            job = self.jobs.get(name)
            if job is None:
                return
            if job["metadata"].get("deletionTimestamp"):
                self.forget(name)
            else:
                self.end(name, exit_code if exit_code >= 0 else 128 - exit_code)

    def end(self, name: str, exit_code: int, **container: str) -> None:
        """Let the container of a pod end, and its Job with it."""
        terminated = {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed"}
        self.pod_status(
            name,
            phase="Failed" if exit_code else "Succeeded",
            containerStatuses=[container_status(terminated=terminated | container)],
        )
        if exit_code:
            self.fail(name, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        else:
            self.condition(name, "Complete", "CompletionsReached", "Reached expected number")

    def pod_status(self, name: str, **values: Any) -> None:
        self.pods[name]["spec"]["nodeName"] = NODE
        self.pods[name]["status"] = values

    def fail(self, name: str, reason: str, message: str = "") -> None:
        self.condition(name, "Failed", reason, message)

    def condition(self, name: str, kind: str, reason: str, message: str = "") -> None:
        conditions = self.jobs[name]["status"].setdefault("conditions", [])
        conditions.append({"type": kind, "status": "True", "reason": reason, "message": message})

    def delete(self, name: str) -> None:
        """Delete a Job as soon as its pod has ended, which is asked to."""
        self.jobs[name]["metadata"]["deletionTimestamp"] = NOW
        process = self.processes.get(name)
        if process is None:
            self.forget(name)
        else:
            process.terminate()

    def forget(self, name: str) -> None:
        self.jobs.pop(name, None)
        self.pods.pop(name, None)


def expand(word: str, variables: dict[str, str]) -> str:
    """Replace the variables of a word as the kubelet does."""
    return EXPANSION.sub(
        lambda match: "$" if match[1] is None else variables.get(match[1], match[0]), word
    )


def container_status(**state: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "check",
        "image": "image",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": state,
    }


def status(code: int, reason: str, message: str) -> tuple[int, Any]:
    """Return an answer that says what failed."""
    return code, {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


class ApiServer(ThreadingHTTPServer):
    """The server of an API."""

    def __init__(self, api: KubernetesApi) -> None:
        super().__init__(("127.0.0.1", 0), ApiHandler)
        self.api = api


class ApiHandler(BaseHTTPRequestHandler):
    """One connection of kubectl."""

    server: ApiServer

    def do_GET(self) -> None:
        answer = self.server.api.checked_answer(self.command, self.path, self.read_body())
        if answer is None:
            self.close_connection = True
            return
        code, document = answer
        data = self.server.api.encoded(document)
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_DELETE = do_GET  # noqa: N815 - names of the base class

    def read_body(self) -> bytes:
        """Return the body, which kubectl sends in chunks."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def kubernetes_api(folder: Path, rules: list[dict[str, Any]]) -> Iterator[KubernetesApi]:
    """Serve an empty namespace whose one user may do what the rules of a Role allow."""
    api = KubernetesApi(folder, rules)
    server = ApiServer(api)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    cluster = {"server": f"http://127.0.0.1:{server.server_port}"}
    context = {"cluster": "test", "user": "test"}
    configuration = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {}}],
        "contexts": [{"name": "test", "context": context}],
        "current-context": "test",
    }
    api.kubeconfig.write_text(json.dumps(configuration))
    thread.start()
    try:
        yield api
    finally:
        api.is_over.set()
        for process in [*api.processes.values()]:
            process.kill()
        for each in api.threads:
            each.join()
        server.shutdown()
        server.server_close()
        thread.join()
    assert api.problems == []
