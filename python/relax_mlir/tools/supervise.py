"""Run a tool's work in a child process, so that a crash in C++ becomes a message and an exit code.

The child records its current activity in shared memory (`note`); the parent quotes it if the child crashes.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence

from relax_mlir.terminal import error_line

SIZE = 4096
IN_PROCESS_VARIABLE = "RELAX_MLIR_IN_PROCESS"
TRACEBACK_VARIABLE = "RELAX_MLIR_TRACEBACK"

Work = Callable[[Sequence[str]], int]
_shared = mmap.mmap(-1, SIZE)


def note(activity: str) -> None:
    """Record the current activity."""
    data = activity.encode(errors="replace")[: SIZE - 1]
    _shared[: len(data) + 1] = data + b"\0"


def _noted() -> str:
    return _shared[:].split(b"\0", 1)[0].decode(errors="replace") or "starting"


def supervised(tool: str, work: Work, arguments: Sequence[str]) -> int:
    """The exit code of `work`; 1, with one line on stderr, if it crashes or raises.

    `RELAX_MLIR_IN_PROCESS=1` disables the child process (for debuggers), `RELAX_MLIR_TRACEBACK=1` shows the Python
    traceback of an internal error.
    """
    if os.environ.get(IN_PROCESS_VARIABLE) or not hasattr(os, "fork"):
        return guarded(tool, work, arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = guarded(tool, work, arguments)
        os._exit(code)
    return _wait(tool, child)


def _wait(tool: str, child: int) -> int:
    while True:
        try:
            status = os.waitpid(child, 0)[1]
        except KeyboardInterrupt:  # the child gets the signal too: wait until it exits
            continue
        break
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    if -code == signal.SIGINT:
        return 130
    name = signal.Signals(-code).name
    print(error_line(tool, f"crashed ({name}) while {_noted()}", sys.stderr), file=sys.stderr)
    return 1


def guarded(tool: str, work: Work, arguments: Sequence[str]) -> int:
    """The exit code of `work`; its exceptions are reported in one line."""
    try:
        code = work(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exc()
        text = " ".join(str(error).split())
        hint = f"set {TRACEBACK_VARIABLE}=1 for the trace"
        print(
            f"{tool}: internal error while {_noted()}: {type(error).__name__}: {text} ({hint})",
            file=sys.stderr,
        )
        return 1
    finally:
        sys.stderr.flush()
