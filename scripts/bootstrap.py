"""Makes the project's tools ready: `.venv`, `.venv-simulator`, `node_modules`. Standard library only.

Run by every make target. Each part carries a stamp of the files it was made from, so that a second run only reads
them. Needs Python 3.11 or newer, and a package registry the first time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

NEEDED = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
VENV, SIMULATOR, NODE = ROOT / ".venv", ROOT / ".venv-simulator", ROOT / "node_modules"
TAIL = 40


class Failed(Exception):
    """A step did not work; the message says what to do."""


def main(arguments) -> int:
    """Exit code 0 when everything is ready, 1 when something could not be made.

    `--look-for PROGRAM...` only says how to get programs that are not here, and is content.
    """
    if sys.version_info < NEEDED:
        found = ".".join(str(part) for part in sys.version_info[:3])
        say(f"Roundhouse needs Python {NEEDED[0]}.{NEEDED[1]} or newer; {sys.executable} is {found}.")
        say("Install a newer one and name it: make PYTHON=python3.13 demo")
        return 1
    if arguments[:1] == ["--look-for"]:
        look_for(arguments[1:])
        return 0
    try:
        steps = [step for step in (python_step(), simulator_step(), node_step()) if not step.is_done()]
        for number, step in enumerate(steps, 1):
            step.run(f"[{number}/{len(steps)}] {step.title}")
    except Failed as problem:
        say(str(problem))
        return 1
    except KeyboardInterrupt:
        say("Stopped. Run the same command again: finished parts are kept.")
        return 1
    if steps:
        say("Ready.")
    return 0


def look_for(programs) -> None:
    """Debian's packages are called like the programs; what is missing fails the tests that need it."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        say(f"Not found: {', '.join(missing)}. On Debian and Ubuntu: sudo apt-get install {' '.join(missing)}")


class Step:
    """One thing to make, and the stamp that says from which files it was made."""

    def __init__(self, title, stamp, inputs, commands):
        self.title, self.stamp, self.inputs, self.commands = title, stamp, inputs, commands

    def identity(self) -> str:
        digest = hashlib.sha256(repr((sys.version_info[:2], str(ROOT))).encode())
        for path in self.inputs:
            if not path.is_file():
                raise Failed(f"{path.relative_to(ROOT)} is missing: is this a complete checkout?")
            digest.update(path.read_bytes() + b"\0")
        return digest.hexdigest()

    def is_done(self) -> bool:
        return self.stamp.is_file() and self.stamp.read_text() == self.identity()

    def run(self, title: str) -> None:
        self.stamp.unlink(missing_ok=True)
        with Progress(title) as progress:
            for command in self.commands():
                execute(command, progress)
        self.stamp.write_text(self.identity())


def python_step() -> Step:
    locks = [ROOT / name for name in ("requirements.txt", "pyproject.toml")]

    def commands():
        python = make_venv(VENV)
        uv = pinned("uv", locks[0])
        if version_of_uv(python) != uv.replace("==", " "):
            yield [python, "-m", "ensurepip"]  # a sync takes pip away: nothing but this needs it
            yield [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", uv]
        yield [python, "-m", "uv", "pip", "sync", "--python", python, str(locks[0])]
        yield [python, "-m", "uv", "pip", "install", "--python", python, "--no-deps", "--editable", str(ROOT)]

    return Step("Python packages (about 500 MB)", VENV / ".roundhouse-stamp", locks, commands)


def simulator_step() -> Step:
    lock = ROOT / "simulator" / "requirements.txt"

    def commands():
        python = make_venv(SIMULATOR)
        yield [str(VENV / "bin" / "python"), "-m", "uv", "pip", "sync", "--python", python, str(lock)]

    return Step("The embedded AWS", SIMULATOR / ".roundhouse-stamp", [lock], commands)


def node_step() -> Step:
    locks = [ROOT / "package.json", ROOT / "package-lock.json"]

    def commands():
        yield [str(VENV / "bin" / "npm"), "ci", "--no-audit", "--no-fund", "--loglevel=error"]

    return Step("The CDK command line", NODE / ".roundhouse-stamp", locks, commands)


def make_venv(folder: Path) -> str:
    """Path of the folder's Python; the environment is made when it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        try:
            import ensurepip  # noqa: F401, PLC0415 (Debian leaves it out of python3)
            import venv  # noqa: F401, PLC0415
        except ImportError:
            version = f"{sys.version_info[0]}.{sys.version_info[1]}"
            raise Failed(
                "Python's venv module is not complete here. On Debian and Ubuntu: "
                f"sudo apt-get install python3-venv   (or python{version}-venv)"
            ) from None
        command = [sys.executable, "-m", "venv", "--clear", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"could not make {folder.name}: {done.stdout}{done.stderr}")
    return str(python)


def version_of_uv(python: str) -> str:
    """`uv 0.1.2`, or an empty text when that environment has none."""
    done = subprocess.run([python, "-m", "uv", "--version"], capture_output=True, text=True, check=False)
    return " ".join(done.stdout.split()[:2])


def pinned(package: str, lock: Path) -> str:
    for line in lock.read_text().splitlines():
        if line.startswith(f"{package}=="):
            return line.split()[0]
    raise Failed(f"{lock.name} does not pin {package}")


def execute(command: list, progress: Progress) -> None:
    """Run a command; its last line is shown while it runs, its last lines when it fails."""
    # npm runs `node` and programs ask for `python`: both must be the ones in .venv
    environment = dict(os.environ, PATH=f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}")
    environment.pop("VIRTUAL_ENV", None)
    lines = []
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            progress.note(lines[-1])
    if process.returncode:
        progress.fail()
        shown = "\n".join(f"    {line}" for line in lines[-TAIL:])
        raise Failed(f"`{' '.join(str(part) for part in command)}` failed:\n{shown}")


class Progress:
    """One line that shows what runs, for how long, and its latest word; plain lines where there is no terminal."""

    def __init__(self, title: str) -> None:
        self.title, self.latest, self.failed = title, "", False
        self.started = time.monotonic()
        self.stop = threading.Event()
        self.live = sys.stderr.isatty()
        self.thread = threading.Thread(target=self.spin, daemon=True)

    def __enter__(self) -> Progress:
        if self.live:
            self.thread.start()
        else:
            say(f"{self.title} ...")
        return self

    def __exit__(self, kind, *_rest) -> None:
        self.stop.set()
        seconds = time.monotonic() - self.started
        word = "failed after" if self.failed or kind else "done in"
        if self.live:
            self.thread.join()
            sys.stderr.write("\r\033[K")
        say(f"{self.title}: {word} {seconds:.0f} s")

    def note(self, line: str) -> None:
        self.latest = line.strip() or self.latest

    def fail(self) -> None:
        self.failed = True

    def spin(self) -> None:
        frames = "|/-\\"
        turn = 0
        while not self.stop.wait(0.1):
            turn += 1
            width = shutil.get_terminal_size().columns - 1
            line = f"{frames[turn % 4]} {self.title} {time.monotonic() - self.started:4.0f} s  {self.latest}"
            sys.stderr.write(f"\r\033[K{line[:width]}")
            sys.stderr.flush()


def say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
