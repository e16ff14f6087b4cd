"""The stand-in's process: `python -m simulator.slack.server --signing-secret S --bot-token T [--port N] …`.

May import everything in simulator.slack and aiohttp. Listens on 127.0.0.1 only. When it is ready it writes
`{"port", "url", "pid"}` to the ready file, at once and whole.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web

from simulator.slack.api.routes import WebApi
from simulator.slack.control import Control
from simulator.slack.errors import SeedError
from simulator.slack.faults import Faults
from simulator.slack.model import Seed, read_seed
from simulator.slack.outgoing.delivery import PATIENCE_SECONDS, Sender
from simulator.slack.outgoing.events import Events
from simulator.slack.outgoing.interactions import Interactions
from simulator.slack.outgoing.response_url import ResponseUrls
from simulator.slack.page import Page, same_origin
from simulator.slack.workspace import Workspace

_BODY_LIMIT = 4 * 1024 * 1024  # bytes; far above any message that Slack takes
_PARENT_CHECK_SECONDS = 1.0


def build(seed: Seed, options: argparse.Namespace) -> tuple[web.Application, Control]:
    """The application with all its parts; the control's `base_url` is set when the port is known."""
    workspace, faults = Workspace(seed), Faults()
    sender = Sender(options.signing_secret, options.patience_seconds)
    web_api = WebApi(workspace, faults, options.bot_token)
    response_urls = ResponseUrls(workspace, faults)
    interactions = Interactions(workspace, sender, response_urls, options.interactivity_url)
    events = Events(workspace, sender, options.events_url)
    control = Control(
        workspace=workspace, web_api=web_api, faults=faults, sender=sender, interactions=interactions, events=events
    )
    page = Page(workspace, interactions)

    app = web.Application(client_max_size=_BODY_LIMIT, middlewares=[same_origin])
    app.router.add_route("*", "/api/{method}", web_api.handle)
    app.router.add_post("/actions/{team}/{number}/{secret}", response_urls.handle)
    app.router.add_post("/_control/{command}", control.handle)
    page.add_routes(app.router)

    async def close_sender(_app: web.Application) -> None:
        await sender.close()

    app.on_shutdown.append(page.close)
    app.on_cleanup.append(close_sender)
    return app, control


async def serve(options: argparse.Namespace) -> None:
    """Serve until SIGTERM, SIGINT or, if asked, the end of the parent process."""
    seed = read_seed(options.workspace) if options.workspace else Seed()
    app, control = build(seed, options)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", options.port)
    await site.start()
    port = int(runner.addresses[0][1])
    control.base_url = f"http://127.0.0.1:{port}"
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if options.ready_file:
        _write_whole(options.ready_file, {"port": port, "url": control.base_url, "pid": os.getpid()})
    print(f"Slack stand-in: {control.base_url}/", flush=True)
    parent = os.getppid()
    try:
        while not stop.is_set():
            if options.exit_with_parent and os.getppid() != parent:
                break
            try:
                await asyncio.wait_for(stop.wait(), _PARENT_CHECK_SECONDS)
            except TimeoutError:
                continue
    finally:
        await runner.cleanup()


def _write_whole(path: Path, content: dict[str, object]) -> None:
    # A reader that polls must never see half a file.
    draft = path.with_suffix(path.suffix + ".draft")
    draft.write_text(json.dumps(content), "utf-8")
    draft.replace(path)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="simulator.slack.server", description="A Slack stand-in on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--ready-file", type=Path, help="written as JSON when the server listens")
    parser.add_argument("--signing-secret", required=True)
    parser.add_argument("--bot-token", required=True)
    parser.add_argument("--interactivity-url", default="", help="where clicks are sent; can be set later")
    parser.add_argument("--events-url", default="", help="where events are sent; can be set later")
    parser.add_argument(
        "--patience-seconds", type=float, default=PATIENCE_SECONDS, help="how long an app may take to answer"
    )
    parser.add_argument("--workspace", type=Path, help="JSON with team, app, users, channels")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when the starting process ends")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 after a stop, 2 when the workspace file or the port is unusable."""
    try:
        asyncio.run(serve(parse(arguments)))
    except (SeedError, OSError) as error:
        print(f"Slack stand-in: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
