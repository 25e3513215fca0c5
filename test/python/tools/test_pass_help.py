"""The help of passes, and the modules that help must not import."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from relax_mlir.tools.opt_help import summaries, summary_of
from relax_mlir.transform import registry


def test_sources_say_what_the_classes_do() -> None:
    """A type of an option is shown without its module."""
    table = summaries()
    assert table == {
        name: summary._replace(options=[(o, re.sub(r"\b[a-z_.]+\.(?=[A-Z])", "", k), d) for o, k, d in summary.options])
        for name, summary in ((name, summary_of(registry.pass_class(name))) for name in registry.PASSES)
    }


def test_what_it_says() -> None:
    table = summaries()
    assert set(table) == set(registry.PASSES)
    assert table["fuse-ops"].options == [("max-depth", "int", "16")]
    assert table["relax-to-llvm"].is_pipeline and not table["fuse-ops"].is_pipeline
    assert all(each.help for each in table.values())


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("opt", ["--help"]),
        ("opt", ["-h"]),
        ("opt", ["--version"]),
        ("opt", ["--show-passes"]),
        ("opt", ["--canonicalise"]),
        ("compile_command", ["--help"]),
        ("compile_command", ["--version"]),
        ("run_command", ["--help"]),
        ("run_command", ["--version"]),
    ],
)
def test_help_imports_little(module: str, arguments: list[str]) -> None:
    """Neither the bindings nor NumPy nor rich: importing them takes longer than printing the help."""
    code = (
        f"import sys\nfrom relax_mlir.tools import {module} as tool\ntool.run({arguments!r})\n"
        "heavy = {'torch_mlir', 'numpy', 'rich', 'tvm_ffi', 'relax_mlir.mlir', 'relax_mlir.ir_module'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True)
