"""A process that has imported the compiler, and forks a child for each command: ``warm_server.py FD``.

`FD` is a Unix stream socket. A request is the length of a JSON text (four bytes), with four descriptors: the child's
stdin, stdout and stderr, and a socket on which the server answers with the child's process id, and with its exit code
once it has ended. The JSON text has `python` (the arguments of the interpreter: ``-m NAME ...``, ``-c CODE ...`` or
``SCRIPT ...``), `cwd`, `env`, `umask`, and `session` (true: the child leads a new one). The child is equivalent to a
new interpreter, except for its start: a crash does not affect others.

There is one thread only and no MLIR context here, so nothing is lost by forking. The server ends with its socket.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import mmap
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import struct
import sys
import traceback
import types
from collections.abc import Sequence
from typing import Any, NoReturn

LENGTH = struct.Struct("!I")
PRELOADED = (
    *("dialects", "analysis", "transform", "instrument", "passes", "rewrite", "script"),
    *("lowering", "te", "tir", "runtime", "profiler"),
)
"""Packages imported beforehand."""
TOOL_PARTS = ("opt_driver", "opt_options")
"""The modules of `tools` that most commands use. Those that run as `__main__` cannot be preloaded."""

CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)


def preload() -> None:
    """Import the modules of the tools, and exclude them from garbage collection."""
    import relax_mlir

    with contextlib.suppress(ImportError):  # which tests without lit do without
        importlib.import_module("filecheck.main")
    # The FFI imports torch if it is installed. No tool needs it, and forks of a process with it take longer.
    sys.modules.setdefault("torch", None)  # type: ignore[arg-type] - which makes an import fail
    for name in PRELOADED:
        package = importlib.import_module(f"{relax_mlir.__name__}.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in TOOL_PARTS:
        importlib.import_module(f"{relax_mlir.__name__}.tools.{name}")
    if sys.modules["torch"] is None:
        del sys.modules["torch"]
    emit_dialect()
    gc.collect()
    gc.freeze()


def emit_dialect() -> None:
    """Emit the dialect once, in a child: in each later child, that would take as long as the rest of its start."""
    from relax_mlir.dialects.dialect import Relax, context, import_families

    import_families()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writer, "wb") as out:
            context()
            out.write(Relax._definition[1])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as given:
        Relax._definition = ((*Relax.types, *Relax.attributes, *Relax.operations), given.read())
    if status := os.waitpid(child, 0)[1]:
        sys.exit(f"warm_server: the child that emits the dialect has ended with status {status}")


def renew_shared_memory() -> None:
    """A tool shares memory with its own children only."""
    from relax_mlir.tools import supervise

    supervise._shared = mmap.mmap(-1, supervise.SIZE)


def threads() -> int:
    """Threads of this process."""
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1


class Server:
    """Running children, and the sockets on which to report their exit."""

    def __init__(self, requests: socket.socket) -> None:
        self.requests = requests
        self.running: dict[int, socket.socket] = {}
        self.woken, self.wake = os.pipe()
        os.set_blocking(self.wake, False)

    def serve(self) -> None:
        """Take requests until the other side closes its socket."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        with selectors.DefaultSelector() as ready:
            ready.register(self.requests, selectors.EVENT_READ)
            ready.register(self.woken, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    if key.fileobj is self.requests:
                        if not self._accept():
                            return
                    else:
                        os.read(self.woken, 1 << 12)
                        self._reap()

    def _accept(self) -> bool:
        header, descriptors, _, _ = socket.recv_fds(self.requests, LENGTH.size, 4)
        if not header:
            return False
        request = json.loads(_receive(self.requests, *LENGTH.unpack(header)))
        *standard, answers = descriptors
        child = os.fork()
        if child == 0:
            self._become_child(request, standard)
        for descriptor in standard:
            os.close(descriptor)
        self.running[child] = socket.socket(fileno=answers)
        self._answer(self.running[child], child)
        return True

    def _become_child(self, request: dict[str, Any], standard: Sequence[int]) -> NoReturn:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, *CRASHES):  # the FFI sets handlers when it is imported
                signal.signal(number, signal.SIG_DFL)
            for used in (self.requests, *self.running.values()):
                used.close()
            os.close(self.woken)
            os.close(self.wake)
            for target, descriptor in enumerate(standard):
                os.dup2(descriptor, target)
            for descriptor in standard:
                os.close(descriptor)
            reopen_standard_streams()
            if request["session"]:
                os.setsid()
            os.umask(request["umask"])
            os.chdir(request["cwd"])
            os.environ.clear()
            os.environ.update(request["env"])
            renew_shared_memory()
            code = run(request["python"])
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _reap(self) -> None:
        while self.running:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            with self.running.pop(child) as answers:
                self._answer(answers, os.waitstatus_to_exitcode(status))

    def _answer(self, answers: socket.socket, number: int) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client has closed its socket
            answers.sendall(b"%d\n" % number)


def _receive(source: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        piece = source.recv(length - len(data))
        if not piece:
            raise EOFError("the request ends too early")
        data += piece
    return bytes(data)


def reopen_standard_streams() -> None:
    """New objects for the standard streams, which detect if their files are pipes."""
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(
        io.BufferedReader(io.FileIO(0, closefd=False)), sys.stdin.encoding, sys.stdin.errors
    )
    sys.stdout = sys.__stdout__ = _writer(1, sys.stdout)
    sys.stderr = sys.__stderr__ = _writer(2, sys.stderr)


def _writer(descriptor: int, like: Any) -> io.TextIOWrapper:
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(
        raw if like.write_through else io.BufferedWriter(raw),  # type: ignore[arg-type] - as CPython does with -u
        like.encoding,
        like.errors,
        line_buffering=like.line_buffering,
        write_through=like.write_through,
    )


def run(python: Sequence[str]) -> int:
    """The exit code of the interpreter with these arguments in this process, all output flushed."""
    try:
        _execute(*python)
        code = 0
    except SystemExit as ended:
        code = _exit_code(ended)
    except BaseException:
        traceback.print_exc()
        code = 1
    try:
        sys.stdout.flush()
    except OSError:
        code = 120  # the interpreter's exit code if it cannot write the rest
    sys.stderr.flush()
    return code


def _execute(first: str, *rest: str) -> None:
    if first == "-m":
        sys.path[0] = os.getcwd()
        sys.argv[:] = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.path[0] = ""
        sys.argv[:] = ["-c", *rest[1:]]
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(first))
        sys.argv[:] = [first, *rest]
        runpy.run_path(first, run_name="__main__")


def _exit_code(ended: SystemExit) -> int:
    if ended.code is None:
        return 0
    if isinstance(ended.code, int):
        return ended.code & 0xFF
    print(ended.code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    preload()
    count = threads()
    if count > 1:
        sys.exit(f"warm_server: {count} threads after the imports; a child of a fork would have only one of them")
    Server(socket.socket(fileno=int(sys.argv[1]))).serve()
