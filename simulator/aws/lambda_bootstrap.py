"""Runs inside each Lambda worker process: AWS's own runtime client, the function's code first on the path.

Imports the standard library and awslambdaric. Ends with the launcher: its standard input is a pipe that only the
launcher holds, and end-of-file on it means that the launcher is gone.
"""

import os
import sys
import threading


def _end_with_launcher() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    """Serve invocations of the handler named in _HANDLER until the Runtime API goes away."""
    threading.Thread(target=_end_with_launcher, daemon=True).start()
    root = os.environ["LAMBDA_TASK_ROOT"]
    sys.path[0] = root  # replaces the directory of this file
    from awslambdaric import bootstrap
    from awslambdaric.lambda_runtime_client import LambdaRuntimeClient

    bootstrap.run(os.environ["_HANDLER"], LambdaRuntimeClient(os.environ["AWS_LAMBDA_RUNTIME_API"]))


if __name__ == "__main__":
    main()
