"""The tools that link object files to libraries: the C compiler of the system, or Zig's from the package index."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from relax_mlir.error import CompileError, UnsupportedError
from relax_mlir.target import Target

EXTRA = "link"
"""The extra of the package that installs Zig's C compiler."""

VARIABLE = "CC"


@dataclass(frozen=True)
class Linker:
    """A C compiler driver, which assembles and links: the words of its command."""

    command: tuple[str, ...]

    @staticmethod
    def find(architecture: str | None = None) -> Linker:
        """The linker for an architecture (LLVM's name of it; None: this machine's).

        ``$CC``; else ``cc``, ``gcc`` or ``clang``, and for another architecture ``ARCHITECTURE-linux-gnu-gcc``; else
        ``python -m ziglang cc``, which links for all. ``$CC`` has to be for the architecture.

        Raises:
            UnsupportedError: ``$CC`` is no program, or none of these exists.
        """
        if chosen := os.environ.get(VARIABLE):
            command = tuple(shlex.split(chosen))
            if not command or shutil.which(command[0]) is None:
                raise UnsupportedError(
                    f"export: the environment variable {VARIABLE} is {chosen!r}, which is no program here; "
                    "unset it, or name a C compiler"
                )
            return Linker(command)
        is_cross = architecture not in (None, Target.host().architecture)
        names = (f"{architecture}-linux-gnu-gcc",) if is_cross else ("cc", "gcc", "clang")
        for name in names:
            if path := shutil.which(name):
                return Linker((path,))
        if importlib.util.find_spec("ziglang"):
            other = ("-target", f"{architecture}-linux-gnu") if is_cross else ()
            return Linker((sys.executable, "-m", "ziglang", "cc", *other))
        kind = f"C compiler for {architecture}" if is_cross else "C compiler"
        raise UnsupportedError(
            f"export: there is no {kind} to link with ({', '.join(names)}): install one, name it in the environment "
            f"variable {VARIABLE}, or: pip install 'relax-mlir[{EXTRA}]', which brings Zig's"
        )

    def run(self, arguments: Sequence[str | Path], folder: Path) -> None:
        """Run the command in a folder; raises CompileError with its message if it fails."""
        run_tool([*self.command, *map(str, arguments)], folder)


def run_tool(command: Sequence[str], folder: Path) -> None:
    """Run a program in a folder; raises CompileError with its message if it fails or cannot be started."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CompileError(f"export: {command[0]} cannot be started: {error.strerror}") from None
    # The program may get Ctrl-C from the terminal first.
    if done.returncode in (-signal.SIGINT, 128 + signal.SIGINT):
        raise KeyboardInterrupt
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise CompileError(f"export: {shlex.join(command)} failed with code {done.returncode}: {said}")


def binary_tool(name: str, architecture: str) -> str:
    """The path of a tool for object files of an architecture (``objcopy``, ``ar``), or of LLVM's, which handles all.

    Raises UnsupportedError if neither exists.
    """
    is_cross = architecture != Target.host().architecture
    own = f"{architecture}-linux-gnu-{name}" if is_cross else name
    path = shutil.which(own) or shutil.which(f"llvm-{name}")
    if path is None:
        raise UnsupportedError(
            f"export: there is no {own} here (it comes with binutils); a shared library (.so) needs none"
        )
    return path
