"""Children of a process that has imported the compiler (`warm_server`), with the API of `subprocess`.

A test whose child needs the compiler, but does not test the start of an interpreter, calls `run`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import multiprocessing.util
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from warm_server import LENGTH

IMPORT_TIME = ("PYTHON", "RELAX_MLIR_BINDINGS", "LD_", "TVM_FFI_", "OMP_", "MKL_")
"""Prefixes of variables that may affect imports."""
SERVER = Path(__file__).with_name("warm_server.py")


class WarmServer:
    """The connection to a server process; it ends when this process does."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.owner = os.getpid()
        self.key = import_time(env)
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, str(SERVER), str(theirs.fileno())],
                # NumPy's threads would not exist in a child; a server has a single thread.
                env={**env, "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self.requests = ours
        self._lock = threading.Lock()
        multiprocessing.util.Finalize(self, self.close, exitpriority=1)

    def close(self) -> None:
        """End the server, in the process that has started it."""
        if self.owner == os.getpid():
            self.requests.close()
            self.process.wait()

    def start(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> socket.socket:
        """Start a command; return the socket of the server's answers."""
        ours, theirs = socket.socketpair()
        data = json.dumps(request).encode()
        with theirs, self._lock:
            socket.send_fds(self.requests, [LENGTH.pack(len(data))], [*descriptors, theirs.fileno()])
            self.requests.sendall(data)
        return ours


class WarmProcess:
    """The subset of `subprocess.Popen` that lit uses, for a child of the server."""

    def __init__(
        self,
        server: WarmServer,
        python: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        stdin: Any,
        stdout: Any,
        stderr: Any,
        session: bool = False,
    ) -> None:
        self.args = [sys.executable, *python]
        self.returncode: int | None = None
        given: list[int] = []
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = None
        self.stderr: IO[str] | None = None
        try:
            if stdin == subprocess.PIPE:
                stdin, self.stdin = _pipe(given, write=True)
            if stdout == subprocess.PIPE:
                stdout, self.stdout = _pipe(given, write=False)
            if stderr == subprocess.PIPE:
                stderr, self.stderr = _pipe(given, write=False)
            elif stderr == subprocess.STDOUT:
                stderr = stdout
            standard = [_descriptor(stream) for stream in (stdin, stdout, stderr)]
            umask = os.umask(0)
            os.umask(umask)
            request = {
                "python": list(python),
                "cwd": cwd,
                "env": dict(env),
                "umask": umask,
                "session": session,
            }
            self._answers = server.start(request, standard)
        finally:
            for descriptor in given:
                os.close(descriptor)
        self.pid = self._next_answer()

    def _next_answer(self) -> int:
        line = bytearray()
        while not line.endswith(b"\n"):
            piece = self._answers.recv(1)
            if not piece:
                raise OSError("the server of warm processes has ended")
            line += piece
        return int(line)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code; that of a signal is negative.

        Raises:
            subprocess.TimeoutExpired: it has not ended within the timeout.
        """
        if self.returncode is None:
            if timeout is not None and not select.select([self._answers], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = self._next_answer()
            self._answers.close()
        return self.returncode

    def kill(self) -> None:
        """End it, if it has not ended, and wait for that."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, but the server's message has not arrived
                os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def communicate(self) -> tuple[str | None, str | None]:
        """Both outputs, until they end."""
        errors: list[str] = []
        reader = threading.Thread(target=lambda: errors.append(self.stderr.read()) if self.stderr else None)
        reader.start()
        output = self.stdout.read() if self.stdout else None
        reader.join()
        self.wait()
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        return output, errors[0] if errors else None


def _pipe(given: list[int], *, write: bool) -> tuple[int, IO[str]]:
    """The child's end of a new pipe, which is added to `given`, and ours: for writing, or for reading."""
    ends = os.pipe()
    child, ours = ends if write else reversed(ends)
    given.append(child)
    return child, os.fdopen(ours, "w" if write else "r", errors="replace")


def _descriptor(stream: Any) -> int:
    return stream if isinstance(stream, int) else stream.fileno()


def import_time(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that affect the imports of a new process."""
    return {name: value for name, value in env.items() if name.startswith(IMPORT_TIME)}


@functools.cache
def _server(owner: int) -> WarmServer:
    """The server of this process, whose id is `owner`: a child does not have a server yet."""
    assert owner == os.getpid()
    return WarmServer(os.environ)


def parent() -> int:
    """The process id of the parent of all children."""
    return _server(os.getpid()).process.pid


def start(python: Sequence[str], streams: tuple[int, int, int], env: Mapping[str, str]) -> WarmProcess:
    """Start a child in a separate session with these standard streams: on a terminal, all are the same."""
    return WarmProcess(_server(os.getpid()), python, os.getcwd(), env, *streams, session=True)


class PipedChild:
    """The subset of ``subprocess.Popen([sys.executable, *python], stdin=PIPE, stdout=PIPE, bufsize=0)`` that tests use.

    The child is in a separate session; `errors` is its standard error.
    """

    def __init__(self, python: Sequence[str], errors: int, env: Mapping[str, str]) -> None:
        given, write = os.pipe()
        read, answers = os.pipe()
        self.stdin, self.stdout = os.fdopen(write, "wb", 0), os.fdopen(read, "rb", 0)
        try:
            self._child = start(python, (given, answers, errors), env)
        finally:
            os.close(given)
            os.close(answers)
        self.pid, self.kill, self.wait = self._child.pid, self._child.kill, self._child.wait

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self._child.returncode


def run(
    python: Sequence[str], data: bytes = b"", timeout: float = 60, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Return ``subprocess.run([sys.executable, *python], input=data, capture_output=True)`` of a forked child.

    `python`: ``-m NAME ...``, ``-c CODE ...`` or ``SCRIPT ...``.

    Raises:
        subprocess.TimeoutExpired: it has been killed after the timeout.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(data)
        given.seek(0)
        environment = dict(os.environ if env is None else env)
        child = WarmProcess(_server(os.getpid()), python, os.getcwd(), environment, given, out, err)
        try:
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(child.args, child.wait(), out.read(), err.read())
