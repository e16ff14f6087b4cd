"""Puts the embedded AWS together: verified hooks, replacements, added services, the world's clockwork, control path.

Imports MiniStack, so the environment must be set before (simulator.aws.launcher does).
"""

import asyncio
import concurrent.futures
import contextvars
import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

from simulator.aws import (
    alarms,
    decisions,
    events,
    hooks,
    iam,
    lambda_roles,
    lambdas,
    log_patterns,
    metrics,
    policies,
    resources,
    services,
    virtual_time,
)
from simulator.aws.asl import engine, replace
from simulator.aws.launcher import build_world
from simulator.aws.models import Models
from simulator.aws.settings import Settings

logger = logging.getLogger("simulator.assembly")

TICK = 0.05
"""Real seconds between two ticks of the world."""

METRICS_TICK = 0.5
"""Real seconds between two looks at the queues and the alarms."""

WARMED_AT_ONCE = 3
"""Functions that are started at the same time when all are warmed."""

CONTROL_PREFIX = "/_simulator/"


class EmbeddedProcess:
    """The assembled AWS of this process: an ASGI application and what must be stopped at the end."""

    def __init__(self, settings: Settings, world: Any, pool: lambdas.Pool, decided: decisions.Decisions) -> None:
        self.stop = asyncio.Event()
        self._settings = settings
        self._world = world
        self._pool = pool
        self._decided = decided
        self._loop: asyncio.AbstractEventLoop | None = None
        threading.Thread(target=self._tick, daemon=True, name="world").start()
        threading.Thread(target=self._watch_metrics, daemon=True, name="metrics").start()

    def describe(self) -> dict[str, Any]:
        """What the ready file holds."""
        clock = self._settings.clock
        return {
            "endpoint": self._settings.endpoint,
            "region": self._settings.region,
            "account": self._settings.account,
            "pid": os.getpid(),
            "clock": {"origin": clock.origin, "scale": clock.scale},
        }

    def close(self) -> None:
        """Kill the Lambda workers."""
        self._pool.close()

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        """ASGI: the control path is ours, everything else is MiniStack's."""
        from ministack.app import app

        if scope["type"] == "http" and scope["path"].startswith(CONTROL_PREFIX):
            body = b""
            more = True
            while more:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
            status, answer = await self._control(scope["path"].removeprefix(CONTROL_PREFIX), body)
            payload = json.dumps(answer, default=str).encode()
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(payload)).encode()),
            ]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": payload})
            return
        await app(scope, receive, send)

    async def _control(self, command: str, body: bytes) -> tuple[int, Any]:
        try:
            params = json.loads(body or b"{}")
        except ValueError:
            return 400, {"error": "the request body is not JSON"}
        if command == "shutdown":
            self.stop.set()
            return 200, {}
        if command == "clock":
            clock = self._settings.clock
            return 200, {"now": clock.now().isoformat(), "origin": clock.origin, "scale": clock.scale}
        if command == "workers":
            return 200, {"pids": self._pool.pids()}
        if command == "decisions":
            return 200, {"decisions": self._decided.counts()}
        if command == "warm":
            return 200, await asyncio.to_thread(self._warm)
        try:
            return 200, await asyncio.to_thread(self._world.control, command, params)
        except (KeyError, ValueError, TypeError) as error:
            return 400, {"error": f"{type(error).__name__}: {error}"}
        except Exception as error:
            logger.exception("control command %s failed", command)
            return 500, {"error": f"simulator bug in control command {command}: {error!r}"}

    def _warm(self) -> dict[str, Any]:
        from ministack.services import lambda_svc

        events.as_account(self._settings)
        functions = {name: _called(each) for name, each in dict(lambda_svc._functions.items()).items()}
        context = contextvars.copy_context()
        with concurrent.futures.ThreadPoolExecutor(WARMED_AT_ONCE) as starts:
            begun = {name: starts.submit(context.copy().run, self._pool.warm, each) for name, each in functions.items()}
        return {"failed": sorted(name for name, each in begun.items() if not each.result()), "count": len(begun)}

    def _watch_metrics(self) -> None:
        events.as_account(self._settings)
        pause = threading.Event()
        while not pause.wait(METRICS_TICK):
            try:
                metrics.record_queues()
                alarms.evaluate_all()
            except Exception:
                logger.exception("the metrics' tick failed")

    def _tick(self) -> None:
        events.as_account(self._settings)
        pause = threading.Event()
        while not pause.wait(TICK):
            try:
                self._world.tick(self._settings.clock.now())
            except Exception:
                logger.exception("the world's tick failed")


def assemble(settings: Settings, scenario: dict[str, Any], world_spec: str, code: Path) -> EmbeddedProcess:
    """Check the hooks, replace what has to be replaced, build the world and register its services."""
    replace.spare_batch()
    hooks.verify()
    code.mkdir(parents=True, exist_ok=True)
    pool = lambdas.Pool(settings, code)
    world = build_world(world_spec, scenario, settings.clock, events.LiveSignals(settings))
    decided = decisions.Decisions(settings.records)
    decisions.install(decided)
    virtual_time.install(settings)
    events.install(settings)
    log_patterns.install()
    policies.install(settings)
    lambdas.install(pool)
    resources.install(settings)
    engine.install(settings)
    metrics.install()
    lambda_roles.install(settings)
    alarms.install(settings)
    iam.install(world.cluster_arn, world.cluster_tags, engine.machine_of_token)
    services.register(world.services, Models(settings.models), iam.further_refusal)
    seed_subnets(settings, world.subnets)
    return EmbeddedProcess(settings, world, pool, decided)


def _called(function: dict[str, Any]) -> dict[str, Any]:
    """The version that callers get: that of the function's alias, else the newest code."""
    from ministack.services import lambda_svc

    alias = next(iter(function.get("aliases") or ()), None)
    record: dict[str, Any] = lambda_svc._effective_func_record_for_qualifier(function, alias)[0] or function
    return record


def seed_subnets(settings: Settings, subnets: list[dict[str, Any]]) -> None:
    """Let ec2:DescribeSubnets show the world's subnets."""
    from ministack.services import ec2

    events.as_account(settings)
    for subnet in subnets:
        ec2._subnets[subnet["SubnetId"]] = {
            "AvailableIpAddressCount": 4091,
            "State": "available",
            "DefaultForAz": False,
            "MapPublicIpOnLaunch": False,
            "OwnerId": settings.account,
            **subnet,
        }
