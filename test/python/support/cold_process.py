"""Children that start as new interpreters, without torch.

The FFI imports torch if it is installed, which takes longer than all other imports. If a child may be forked from a
process with all imports done, `warm_process.run` is faster.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

SUPPORT = Path(__file__).parent
FOLDERS = (str(SUPPORT / "no_torch"), str(SUPPORT))
"""The first folders in which a child searches modules."""


def environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """`env`, by default this process's, for an interpreter that finds no torch."""
    given = os.environ if env is None else env
    path = [given["PYTHONPATH"]] if given.get("PYTHONPATH") else []
    return {**given, "PYTHONPATH": os.pathsep.join((*FOLDERS, *path))}


@functools.cache
def _cache() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="relax-mlir-cache-")


def cached(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """`env`, by default this process's, with a cache of compiled modules that children of this process share.

    So only the first one compiles the virtual machine's core.
    """
    given = os.environ if env is None else env
    return {**given, "RELAX_MLIR_CACHE": "1", "RELAX_MLIR_CACHE_DIR": _cache().name}


def run(
    python: Sequence[str], timeout: float = 240, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Return ``subprocess.run([sys.executable, *python])``, with both outputs as text.

    Raises:
        subprocess.TimeoutExpired: it has been killed after the timeout.
    """
    return subprocess.run(
        [sys.executable, *python], capture_output=True, text=True, timeout=timeout, env=environment(env)
    )
