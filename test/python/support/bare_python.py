"""A Python with NumPy and the TVM FFI, without this project: the environment of exported libraries."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

IMPOSSIBLE_WORDS = [*[0] * 6, 1 << 8]
"""Feature words that no CPU has (`export.start_code`): bit 8 of XCR0 is always 0, as it is one of IA32_XSS (Intel)."""


def make_packages(folder: Path) -> None:
    """Fill a folder with links to the packages that a user of a library has installed."""
    folder.mkdir()
    for name in ("numpy", "tvm_ffi", "typing_extensions"):
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin is not None
        root = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
        (folder / root.name).symlink_to(root)
        for inside in root.parent.glob(f"{name}.libs"):
            (folder / inside.name).symlink_to(inside)


def run(packages: Path, script: str, *arguments: str, env: dict[str, str] | None = None) -> str:
    """Run a script and return its output; the child sees only `packages` and the standard library.

    Raises:
        AssertionError: its exit code is not 0 (with its output).
    """
    start = f"import sys; sys.path.insert(0, {str(packages)!r}); import tvm_ffi\n"
    done = _run(["-I", "-S", "-c", start + script, *arguments], env or {})
    assert done.returncode == 0, f"code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _run(arguments: Sequence[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, **env},
        check=False,
    )
