"""Serves a step's module with NVIDIA's Triton inference server, and requests it over HTTP."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from perfledger.records import Device
from perfledger.registration.variant_name import VariantKind
from perfledger.variants.onnx_runtime import MODEL, input_tensors, write_onnx
from perfledger.variants.transformed_step import (
    Foreign,
    FunctionCall,
    TransformedStep,
    load_package,
    unavailable,
)

SERVER = "tritonserver"
NAME = "step"  # of the model in the server's repository
LOOPBACK = "127.0.0.1"
MAX_START_SECONDS = 120.0  # a server first loads its backends, CUDA and the model
POLL_SECONDS = 0.2  # short beside the seconds that a model takes to load
MAX_STOP_SECONDS = 10.0  # then the server is killed: nothing of it is needed
MAX_LOG_LETTERS = 300  # of the log of a server that did not start


def served_step(torch: Foreign, call: FunctionCall, device: Device) -> TransformedStep:
    """Return a step that sends the inputs to a Triton server of its own, and waits for the answer.

    The server runs the module as ONNX, on the device that it finds. A step includes the copies and
    the connection. Raises UnmeasurableError if server, client or exporter is missing.
    """
    name = VariantKind.TRITON_SERVER
    server = shutil.which(SERVER)
    if server is None:
        advice = "run the check in the image nvcr.io/nvidia/tritonserver, with torch installed"
        raise unavailable(name, f"needs the program {SERVER}", advice)
    client_package = load_package(name, "tritonclient.http", package="tritonclient[http]")
    tensors = input_tensors(name, torch, call)
    folder = tempfile.TemporaryDirectory(prefix="perfledger-triton-", ignore_cleanup_errors=True)
    version = Path(folder.name) / NAME / "1"
    version.mkdir(parents=True)
    write_onnx(name, torch, call, version / MODEL)
    port = _free_port()
    log = Path(folder.name) / "log"
    process = _start(server, Path(folder.name), port, log)
    client = client_package.InferenceServerClient(url=f"{LOOPBACK}:{port}")

    def close() -> None:
        client.close()
        stop(process)
        folder.cleanup()

    try:
        wait_until_ready(client, lambda: process.poll() is None, log)
        inputs = _requests(client_package, client, tensors)
        remarks = _place_remarks(client, device)
        outputs = [each["name"] for each in client.get_model_metadata(NAME)["outputs"]]
    except BaseException:
        close()
        raise

    def step() -> object:
        answer = client.infer(NAME, inputs)
        return [answer.as_numpy(output) for output in outputs]

    return TransformedStep(step=step, verify=lambda: remarks, close=close)


def wait_until_ready(
    client: Foreign,
    is_running: Callable[[], bool],
    log: Path,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Wait until the server serves the model. Raises UnmeasurableError if it ends or never does."""
    ends_at = clock() + MAX_START_SECONDS
    while is_running() and clock() < ends_at:
        with suppress(Exception):  # refused connections, until it listens
            if client.is_server_ready() and client.is_model_ready(NAME):
                return
        sleep(POLL_SECONDS)
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    reason = f"has a server that did not start: {text.strip()[-MAX_LOG_LETTERS:] or 'no output'}"
    advice = f"start {SERVER} by itself with the onnxruntime backend"
    raise unavailable(VariantKind.TRITON_SERVER, reason, advice)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Stop the server, by force if it does not stop by itself."""
    process.terminate()
    try:
        process.wait(MAX_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _start(server: str, repository: Path, port: int, log: Path) -> "subprocess.Popen[bytes]":
    command = [
        *(server, f"--model-repository={repository}", f"--http-port={port}"),
        *(f"--http-address={LOOPBACK}", "--allow-grpc=false", "--allow-metrics=false"),
    ]
    with log.open("wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)  # noqa: S603 - no shell


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as server:
        return int(server.getsockname()[1])


def _requests(package: Foreign, client: Foreign, tensors: Sequence[Foreign]) -> list[Foreign]:
    """Return the inputs of a request, named as the served model names them."""
    names = [each["name"] for each in client.get_model_metadata(NAME)["inputs"]]
    requests: list[Foreign] = []
    for name, tensor in zip(names, tensors, strict=True):
        array = tensor.cpu().numpy()
        kind = package.np_to_triton_dtype(array.dtype)
        request = package.InferInput(name, list(array.shape), kind)
        request.set_data_from_numpy(array)
        requests.append(request)
    return requests


def _place_remarks(client: Foreign, device: Device) -> tuple[str, ...]:
    """Return a remark if the server computes on another device than the workload's."""
    groups = client.get_model_config(NAME).get("instance_group", [])
    kinds = {str(group.get("kind", "")) for group in groups}
    expected = "KIND_GPU" if device is Device.CUDA else "KIND_CPU"
    return () if not kinds or expected in kinds else (f"the server runs it on {min(kinds)}",)
