"""Run an action in a child process first: MLIR's C++ can crash on bad text, and must not crash the user's process."""

from __future__ import annotations

import faulthandler
import os
import signal
import warnings
from collections.abc import Callable


def crash_of(action: Callable[[], object]) -> str | None:
    """The name of the signal that ends a child process that runs `action`; None if it exits normally.

    The result, exceptions and output of `action` are lost. On systems without fork, nothing is run.
    """
    if not hasattr(os, "fork"):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of other libraries: the child only runs `action`
        child = os.fork()
    if child == 0:
        faulthandler.disable()  # a crash is an expected result
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            action()
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return signal.Signals(-code).name if code < 0 else None
