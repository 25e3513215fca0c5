"""Modules of rows of advice, as text, as script and from the builder."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Row
from relax_mlir.script import parse
from relax_mlir.transform import parse_pipeline

X = np.arange(3, dtype=np.float32)
VECTOR = rx.Tensor(("n",), "float32")
N = 'tensor<?xf32, #relax.shape<["n"]>>'
V = 'R.Tensor(("n",), "float32")'
PRIM = """
func.func private @k(%x: memref<?xf32>, %o: memref<?xf32>) attributes {relax.prim_func, relax.params = [
  {name = "x", shape = ["n"], dtype = "float32"}, {name = "o", shape = ["n"], dtype = "float32"}]} {
  linalg.exp ins(%x : memref<?xf32>) outs(%o : memref<?xf32>)
  return
}
"""


def fill(text: str, *parts: str) -> str:
    for number, part in enumerate(parts):
        text = text.replace(f"{{{number}}}", part)
    return text


def run(module: rx.IRModule, passes: str) -> rx.IRModule:
    parse_pipeline(passes).apply_(module)
    return module


def module_of(text: str) -> rx.IRModule:
    """A module of MLIR's text, in which ``!n`` is a vector."""
    return rx.IRModule.parse(text.replace("!n", N), trusted=True)


def texts(wrong: str, message: str, passes: str = "") -> Row:
    """A module in MLIR's text: passes run on it, or it is built."""
    return lambda: run(module_of(wrong), passes) if passes else rx.build(module_of(wrong)), message


def script_of(body: str) -> rx.IRModule:
    """A module with this body in script."""
    return parse("@I.ir_module\nclass Module:\n" + textwrap.indent(textwrap.dedent(body), "    "))


def scripts(wrong: str, message: str) -> Row:
    """The body of a module in script, which is built."""
    return lambda: rx.build(script_of(wrong)), message


def function(make: Callable[..., Any], *infos: rx.StructInfo) -> rx.IRModule:
    """A module whose `main` is built by `make` from a builder and parameters."""
    bb = rx.BlockBuilder()
    params = [rx.Var(name, info) for name, info in zip("xyz", infos, strict=False)]
    with bb.function("main", params):
        bb.emit_func_output(make(bb, *params))
    return bb.get()
