"""Serves `/metrics` in Prometheus' text format."""

from typing import cast

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from perfledger_service.web.sign_in.metrics_readers import metrics_reader

router = APIRouter(tags=["health"], dependencies=[Depends(metrics_reader)])


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {}}, "description": "Prometheus' text format"},
        401: {"content": {"text/plain": {}}, "description": "no token, and from another machine"},
    },
)
def metrics(request: Request) -> Response:
    """Return what the service holds and does, over all projects."""
    registry = cast("CollectorRegistry", request.app.state.metrics)
    return Response(
        generate_latest(registry),
        headers={"Content-Type": CONTENT_TYPE_LATEST, "Cache-Control": "no-store"},
    )
