"""A lit test format that forks Python tools from a process that has already imported them.

Everything else is lit's own shell: only `subprocess.Popen` in `lit.TestRunner` is replaced. A command that is not
``python -m TOOL ...`` or ``python -c ...``, or whose environment would change what is imported, is started as usual.
``lit -Dcold=1`` starts all of them as usual.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import lit.formats
import lit.TestRunner
from warm_process import WarmProcess, WarmServer, import_time

TOOLS = frozenset({"relax_mlir.tools.opt", "filecheck"})


def warm_arguments(args: Sequence[str]) -> list[str] | None:
    """The arguments after the interpreter, if a child of the server can run them."""
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
        """A child of the server if possible, else a new process."""
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
