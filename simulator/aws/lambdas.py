"""Runs Python Lambdas of the deployed template through AWS's runtime client, a few warm processes per function.

Replaces MiniStack's worker pool. Touches a directory for unpacked code and layers, and processes it starts. When all
workers of a function are busy the invocation waits: the embedded AWS has two cores, not an account's concurrency.
"""

import hashlib
import io
import logging
import os
import shutil
import sys
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import Any

from simulator.aws.lambda_worker import Worker
from simulator.aws.settings import Settings
from simulator.clock import ENV as CLOCK_ENV

logger = logging.getLogger("simulator.lambdas")

QUEUE_SECONDS = 120.0
"""Longest wait for a free worker before the invocation is refused as throttled."""


class CodeStore:
    """Unpacks each zip once, under its SHA-256."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock = threading.Lock()

    def unpack(self, archive: bytes) -> Path:
        """Directory with the archive's files; shared, to be read only."""
        target = self.directory / hashlib.sha256(archive).hexdigest()[:24]
        with self._lock:
            if not target.exists():
                partial = Path(tempfile.mkdtemp(prefix=f"{target.name}-", dir=self.directory))
                with zipfile.ZipFile(io.BytesIO(archive)) as files:
                    files.extractall(partial)
                try:
                    partial.rename(target)
                except OSError:  # another embedded AWS, which shares the directory, was faster: its files are the same
                    shutil.rmtree(partial, ignore_errors=True)
                    if not target.exists():
                        raise
        return target


class Pool:
    """Warm workers of every function; at most `settings.lambda_workers` for each version of a function's code."""

    def __init__(self, settings: Settings, directory: Path) -> None:
        self._settings = settings
        self._store = CodeStore(directory)
        self._lock = threading.Condition()
        self._idle: dict[str, list[Worker]] = {}
        self._count: dict[str, int] = {}
        self._workers: set[Worker] = set()
        self._closed = False

    def invoke(self, func: dict[str, Any], event: Any, request_id: str) -> dict[str, Any]:
        """MiniStack's `_execute_function_warm`: run `func` (its function record) on `event`."""
        config = func.get("config") or func
        code = func.get("code_zip")
        if not code:
            return _refused("InvalidParameterValueException", f"{config.get('FunctionName')} has no code")
        key = _key(config, code)
        self._retire(_name(config), key)
        worker = self._lease(key, config, code)
        if worker is None:
            return _refused(
                "TooManyRequestsException", f"{config['FunctionName']}: no free worker in {QUEUE_SECONDS:g} s"
            )
        try:
            return worker.invoke(event, request_id, config.get("FunctionArn", ""), float(config.get("Timeout") or 3))
        finally:
            self._release(key, worker)

    def warm(self, func: dict[str, Any]) -> bool:
        """Start one worker of `func` and wait until its module is imported; False if that failed."""
        config, code = func.get("config") or func, func.get("code_zip")
        if not code:
            return False
        key = _key(config, code)
        worker = self._lease(key, config, code)
        if worker is None:
            return False
        failed = worker.wait_for_init() is not None
        if failed:
            worker.kill()
        self._release(key, worker)
        return not failed

    def _retire(self, name: str, key: str) -> None:
        """End idle workers of the function's other versions: an alias that has moved does not come back to them."""
        with self._lock:
            old = [each for each in self._idle if each != key and each.startswith(name)]
            idle = [(each, worker) for each in old for worker in self._idle.pop(each)]
            for each, worker in idle:
                self._forget(each, worker)

    def close(self) -> None:
        """Kill every worker's process group."""
        with self._lock:
            self._closed = True
            workers, self._workers = self._workers, set()
            self._lock.notify_all()
        for worker in workers:
            worker.kill()

    def pids(self) -> list[int]:
        """Process ids of the live workers."""
        with self._lock:
            return [worker.pid for worker in self._workers if worker.alive()]

    def _lease(self, key: str, config: dict[str, Any], code: bytes) -> Worker | None:
        with self._lock:
            free = self._lock.wait_for(lambda: self._closed or self._free(key), timeout=QUEUE_SECONDS)
            if not free or self._closed:
                return None
            while self._idle.get(key):
                worker = self._idle[key].pop()
                if worker.alive():
                    return worker
                self._forget(key, worker)
            self._count[key] = self._count.get(key, 0) + 1
        try:
            worker = self._spawn(config, code)
        except BaseException:
            with self._lock:
                self._count[key] -= 1
                self._lock.notify_all()
            raise
        with self._lock:
            self._workers.add(worker)
        return worker

    def _free(self, key: str) -> bool:
        return bool(self._idle.get(key)) or self._count.get(key, 0) < self._settings.lambda_workers

    def _release(self, key: str, worker: Worker) -> None:
        with self._lock:
            if worker.alive() and not self._closed:
                self._idle.setdefault(key, []).append(worker)
            else:
                self._forget(key, worker)
            self._lock.notify_all()

    def _forget(self, key: str, worker: Worker) -> None:
        self._count[key] -= 1
        self._workers.discard(worker)
        worker.kill()

    def _spawn(self, config: dict[str, Any], code: bytes) -> Worker:
        root = self._store.unpack(code)
        return Worker(config["FunctionName"], self._environment(config, root), root)

    def _environment(self, config: dict[str, Any], root: Path) -> dict[str, str]:
        from ministack.core import lambda_runtime
        from ministack.services import lambda_svc

        settings = self._settings
        path = [root, *settings.lambda_path]
        for layer in config.get("Layers") or []:
            if archive := lambda_svc._resolve_layer_zip(layer):
                directory = self._store.unpack(archive)
                path += [directory / "python", directory]
        name = config["FunctionName"]
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TZ": ":UTC",
            "PYTHONPYCACHEPREFIX": str(self._store.directory / "pycache"),
            "PYTHONPATH": os.pathsep.join(str(each) for each in path),
            "LAMBDA_TASK_ROOT": str(root),
            "AWS_REGION": settings.region,
            "AWS_DEFAULT_REGION": settings.region,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{config.get('Runtime', 'python3.13')}",
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_VERSION": config.get("Version", "$LATEST"),
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(config.get("MemorySize", 128)),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": f"worker/{name}",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "_HANDLER": config["Handler"],
            **lambda_svc._runtime_env_vars(config),
            **lambda_runtime.execution_credentials(config),
            # last, so that no setting of the function can point it at the real AWS or at another clock
            "AWS_ENDPOINT_URL": settings.endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
            CLOCK_ENV: settings.clock.env(),
            **settings.outside,
        }
        if (config.get("LoggingConfig") or {}).get("LogFormat") == "JSON":
            environment["AWS_LAMBDA_LOG_FORMAT"] = "JSON"
        return environment


def _key(config: dict[str, Any], code: bytes) -> str:
    layers = [each if isinstance(each, str) else each.get("Arn", "") for each in config.get("Layers") or []]
    variables = sorted(((config.get("Environment") or {}).get("Variables") or {}).items())
    identity = repr((config.get("Version"), config.get("Handler"), config.get("Role"), layers, variables))
    return _name(config) + hashlib.sha256(identity.encode() + hashlib.sha256(code).digest()).hexdigest()


def _name(config: dict[str, Any]) -> str:
    return f"{config['FunctionName']} "


def _refused(kind: str, message: str) -> dict[str, Any]:
    return {"body": {"errorType": kind, "errorMessage": message}, "error": True, "log": ""}


def _with_own_retries(func: dict[str, Any], functions: Any) -> dict[str, Any]:
    """`func` with the retries and the failure destination that are set for the alias or version it was called by.

    MiniStack looks for those of `$LATEST` alone.
    """
    config = func.get("config") or func
    base = functions.get(config.get("FunctionName")) or {}
    version = config.get("Version", "$LATEST")
    aliases = [name for name, each in (base.get("aliases") or {}).items() if each.get("FunctionVersion") == version]
    own = base.get("event_invoke_configs") or {}
    found = next((own[name] for name in (*aliases, version) if name in own), None)
    return {**func, "event_invoke_config": found} if found else func


def install(pool: Pool) -> None:
    """Make MiniStack run Python functions on `pool`; any other runtime is refused at its first invocation."""
    from ministack.services import lambda_svc

    def execute(func: dict[str, Any], event: Any, request_id: str) -> dict[str, Any]:
        runtime = str((func.get("config") or func).get("Runtime", ""))
        if not runtime.startswith("python"):
            return _refused("Runtime.Unsupported", f"the embedded AWS runs Python functions only, not {runtime!r}")
        return pool.invoke(func, event, request_id)

    again = lambda_svc.invoke_async_with_retry

    def invoke_async(func: dict[str, Any], event: Any) -> None:
        again(_with_own_retries(func, lambda_svc._functions), event)

    lambda_svc._execute_function_warm = execute
    lambda_svc.invoke_async_with_retry = invoke_async
    logger.info("Lambda workers: %s, %d per function", sys.executable, pool._settings.lambda_workers)
