"""A lit test format that starts Python tools as children of a process which has imported them already.

Everything else is lit's own shell: only `subprocess.Popen`, as `lit.TestRunner` sees it, is another function. A command
that is not ``python -m TOOL ...`` or ``python -c ...``, or whose environment would change what is imported, is started
as usual. ``lit -Dcold=1`` starts all of them as usual.
"""

from __future__ import annotations

import json
import multiprocessing.util
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import lit.formats
import lit.Test
import lit.TestRunner
from warm_server import LENGTH

TOOLS = frozenset({"relax_mlir.tools.opt", "filecheck"})
IMPORT_TIME = ("PYTHON", "RELAX_MLIR_BINDINGS", "LD_", "TVM_FFI_", "OMP_", "MKL_")
"""Variables that begin like this may change what is imported, and how."""
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
                # NumPy's threads would not be in a child; a server has a single one.
                env={**env, "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self.requests = ours
        multiprocessing.util.Finalize(self, self.close, exitpriority=1)

    def close(self) -> None:
        """End the server, in the process that has started it."""
        if self.owner == os.getpid():
            self.requests.close()
            self.process.wait()

    def start(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> socket.socket:
        """Have a command started; the socket on which the answers come."""
        ours, theirs = socket.socketpair()
        data = json.dumps(request).encode()
        with theirs:
            socket.send_fds(self.requests, [LENGTH.pack(len(data))], [*descriptors, theirs.fileno()])
            self.requests.sendall(data)
        return ours


class WarmProcess:
    """What lit uses of `subprocess.Popen`, for a child of the server."""

    def __init__(
        self,
        server: WarmServer,
        python: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        stdin: Any,
        stdout: Any,
        stderr: Any,
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
            request = {"python": list(python), "cwd": cwd, "env": dict(env), "umask": umask}
            self._answers = server.start(request, standard).makefile("r")
        finally:
            for descriptor in given:
                os.close(descriptor)
        self.pid = self._next_answer()

    def _next_answer(self) -> int:
        line = self._answers.readline()
        if not line:
            raise OSError("the server of warm processes has ended; lit -Dcold=1 does without it")
        return int(line)

    def wait(self) -> int:
        """The exit code; that of a signal is negative."""
        if self.returncode is None:
            self.returncode = self._next_answer()
            self._answers.close()
        return self.returncode

    def communicate(self) -> tuple[str | None, str | None]:
        """Both outputs to their ends."""
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
    """The child's end of a new pipe, also noted in `given`, and ours: to `write`, or to read."""
    ends = os.pipe()
    child, ours = ends if write else reversed(ends)
    given.append(child)
    return child, os.fdopen(ours, "w" if write else "r", errors="replace")


def _descriptor(stream: Any) -> int:
    return stream if isinstance(stream, int) else stream.fileno()


def import_time(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that act on the imports of a new process."""
    return {name: value for name, value in env.items() if name.startswith(IMPORT_TIME)}


def warm_arguments(args: Sequence[str]) -> list[str] | None:
    """What follows the interpreter, where a child of the server can run it."""
    if len(args) < 3 or args[0] != sys.executable.replace("\\", "/"):
        return None
    if args[1] == "-c" or (args[1] == "-m" and args[2] in TOOLS):
        return list(args[1:])
    return None


class _Subprocess:
    """The module `subprocess` with another `Popen`."""

    server: WarmServer | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def Popen(self, args: list[str], **options: Any) -> Any:
        """A child of the server where that can be, else a new process."""
        python = warm_arguments(args)
        env: Mapping[str, str] = options["env"]
        if python is None:
            return subprocess.Popen(args, **options)
        if self.server is None or self.server.owner != os.getpid():
            self.server = WarmServer(env)
        if import_time(env) != self.server.key:
            return subprocess.Popen(args, **options)
        return WarmProcess(
            self.server,
            python,
            options["cwd"],
            env,
            options["stdin"],
            options["stdout"],
            options["stderr"],
        )


_SUBPROCESS = _Subprocess()


class WarmShTest(lit.formats.ShTest):
    """`lit.formats.ShTest` with lit's own shell, whose Python tools are children of one server per worker."""

    def __init__(self) -> None:
        super().__init__(execute_external=False)

    def execute(self, test: Any, litConfig: Any) -> Any:
        """Run one file."""
        lit.TestRunner.subprocess = _SUBPROCESS
        return super().execute(test, litConfig)
