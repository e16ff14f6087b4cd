"""The age of a response_url, on a clock of our own."""

from __future__ import annotations

import asyncio

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from simulator.slack.faults import Faults
from simulator.slack.model import Seed
from simulator.slack.outgoing.response_url import ResponseUrls
from simulator.slack.workspace import Workspace


def test_it_ends_after_half_an_hour() -> None:
    async def scenario() -> list[tuple[int, str]]:
        clock = [1_780_000_000.0]
        workspace = Workspace(Seed(), now=lambda: clock[0])
        urls = ResponseUrls(workspace, Faults())
        message = workspace.post(workspace.channels["C0GPUOPS01"], workspace.app.bot_user_id, text="?")
        path = urls.issue(message, workspace.users["U0OPSALICE"])
        app = web.Application()
        app.router.add_post("/actions/{team}/{number}/{secret}", urls.handle)
        answers = []
        async with TestClient(TestServer(app)) as client:
            for at in (1_780_001_800.0, 1_780_001_800.5):
                clock[0] = at
                answer = await client.post(path, json={"text": "late"})
                answers.append((answer.status, await answer.text()))
            stranger = await client.post("/actions/T0ROUNDHSE/1/guess", json={"text": "x"})
            answers.append((stranger.status, await stranger.text()))
        return answers

    in_time, late, guessed = asyncio.run(scenario())
    assert in_time == (200, "ok")
    assert late[0] == 404
    assert "expired_url" in late[1]
    assert guessed[0] == 404
