"""Tests which answers have an ETag."""

import asyncio

import httpx
from fastapi import APIRouter, FastAPI, HTTPException

from perfledger_service.web.api.etags import EtagRoute


def test_equal_bodies_have_one_etag_and_errors_have_none():
    router = APIRouter(route_class=EtagRoute)

    @router.get("/{number}")
    def show(number: int) -> int:
        if number > 7:
            raise HTTPException(404)
        return number

    app = FastAPI()
    app.include_router(router)

    def etag(path):
        async def ask():
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
                return await client.get(path)

        return asyncio.run(ask()).headers.get("etag")

    assert etag("/1") == etag("/01") != etag("/2")
    assert etag("/8") is None
