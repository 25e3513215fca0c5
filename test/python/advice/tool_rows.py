"""``relax-opt`` and completion: what they refuse, and what to do instead."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from advice_rows import Row, Rows
from relax_mlir.error import RelaxError
from relax_mlir.tools import command_line, opt, supervise
from relax_mlir.transform import registry

TEXT = "func.func @main(%x: i32) -> i32 {\n  return %x : i32\n}\n"
PLUGIN = """
from relax_mlir.transform import module_pass

@module_pass(name="{name}")
def mine(mod, ctx):
    return mod
"""


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "model.mlir").write_text(TEXT)
        yield path


def _relax_opt(*arguments: str, terminal: bool = False) -> str:
    """The standard error of relax-opt; raises `RelaxError` with this text if it fails."""
    stdout, stderr = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with (
        mock.patch.object(sys, "stdout", stdout),
        mock.patch.object(sys, "stderr", stderr),
        mock.patch.object(stdout, "isatty", lambda: terminal),
        mock.patch.dict(os.environ, {supervise.IN_PROCESS_VARIABLE: "1"}),
    ):
        code = opt.main(list(arguments))
    if code:
        raise RelaxError(stderr.getvalue())
    return stderr.getvalue()


def _bytecode() -> None:
    with _folder() as folder:
        _relax_opt(str(folder / "model.mlir"), "--emit-bytecode", terminal=True)


def _tree(*dumps: str) -> None:
    with _folder() as folder:
        arguments = ["--cse", f"--mlir-print-ir-tree-dir={folder / 'tree'}", *dumps]
        assert _relax_opt(str(folder / "model.mlir"), "-o", os.devnull, *arguments) == ""
        (dump,) = (folder / "tree").rglob("*.mlir")
        assert "return %x" in dump.read_text()


def _plugin(name: str) -> None:
    with _folder() as folder, mock.patch.object(registry, "PLUGINS", []):
        (folder / "plugin.py").write_text(PLUGIN.format(name=name))
        plugin = f"--load-pass-plugin={folder / 'plugin.py'}"
        shown = _relax_opt(str(folder / "model.mlir"), plugin, f"--{name}", "--mlir-pass-statistics", "-o", os.devnull)
        assert name in shown


def _completion() -> None:
    missing: dict[str, object] = {"shtab": None}
    with mock.patch.dict(sys.modules, missing):
        assert "--fuse-ops" in command_line.completion_script(command_line.opt_parser(), "bash")


ROWS: dict[str, Row] = {
    "bytecode": (
        _bytecode,
        "--emit-bytecode does not write to a terminal: give a file with -o",
    ),
    "tree": (_tree, "give --mlir-print-ir-after-all"),
    "name_of_ours": (lambda: _plugin("fuse-ops"), "of relax-mlir or of another plugin: give it another one"),
    "name_of_mlir": (lambda: _plugin("cse"), "of MLIR: give it another one"),
    "completion": (_completion, r"pip install 'relax-mlir\[completion\]'"),
}

TABLE = Rows(ROWS)
