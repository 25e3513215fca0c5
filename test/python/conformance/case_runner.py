"""Runs cases in child processes, which are restarted after a crash or a hang."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))

from cold_process import environment  # noqa: E402 - which is found now

SECONDS_PER_CASE = 300

_listed: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
"""The child that has listed the cases: it runs cases, too, as ONNX takes seconds to create them."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case: ``passed``, ``refused`` with the error's text, or ``failed``."""

    kind: str
    name: str
    verdict: str
    reason: str


def case_names() -> dict[str, list[str]]:
    """The cases of each suite, sorted, from a child process, which runs cases of the next `run_cases`."""
    child = _start()
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write("names\n")
    child.stdin.flush()
    names: dict[str, list[str]] = json.loads(child.stdout.readline())
    _listed.put(child)
    return names


def run_cases(
    cases: Sequence[tuple[str, str]], workers: int, seen: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    """Run cases, each given by suite and name, in some processes; the outcomes in the order of `cases`.

    `seen` is called with each outcome immediately.
    """
    waiting: SimpleQueue[tuple[str, str]] = SimpleQueue()
    for case in cases:
        waiting.put(case)
    found: dict[tuple[str, str], Outcome] = {}

    def work() -> None:
        child: subprocess.Popen[str] | None = None
        with contextlib.suppress(Empty):
            child = _listed.get_nowait()
        while True:
            try:
                kind, name = waiting.get_nowait()
            except Empty:
                break
            if child is not None and child.poll() is not None:
                _end(child)
                child = None
            child = child or _start()
            found[kind, name] = _ask(child, kind, name)
            seen(found[kind, name])
        if child is not None:
            _end(child)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[case] for case in cases]


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(HERE / "case_worker.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment({**os.environ, "PYTHONWARNINGS": "ignore"}),
    )


def _end(child: subprocess.Popen[str]) -> None:
    """End a child process and close its pipes."""
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _ask(child: subprocess.Popen[str], kind: str, name: str) -> Outcome:
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdin.write(f"{kind} {name}\n")
        child.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            if not selector.select(SECONDS_PER_CASE):
                child.kill()
                child.wait()
                return Outcome(kind, name, "failed", f"no answer after {SECONDS_PER_CASE} seconds")
        answer = child.stdout.readline()
    except OSError:
        answer = ""
    if not answer:
        return Outcome(kind, name, "failed", f"the process ended with {child.wait()}")
    return Outcome(*json.loads(answer))
