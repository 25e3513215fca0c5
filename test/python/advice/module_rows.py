"""Whole scripts and their sources: what is refused, and the replacements."""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import linecache
import shutil
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from advice_rows import Row, Rows
from module_texts import script_of, scripts
from programs import register
from relax_mlir.frontend.tvm import from_tvm
from relax_mlir.script import parse

_numbers = itertools.count()
_folder = Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, _folder)


@register("advice.rows")
def _rows(x: Any) -> Any:
    return tvm_ffi.Shape((x.shape[0],))


@register("advice.fill")
def _fill(out: Any) -> None:
    np.from_dlpack(out)[...] = 1


PARAMETER = 'x: R.Tensor(("n", "m"), "float32")'
PLAIN = f"""
@R.function
def main({PARAMETER}):
    return x + 1.0
"""
CALL = f"""
@R.function
def main({PARAMETER}):
    return cls.other(x)
"""
OTHER = f"""
@R.function
def other({PARAMETER}){{0}}:
    return x + 1.0
"""
CLOSURE = f"""
@R.function
def main({PARAMETER}):
    f = cls.other
    return R.invoke_pure_closure(f, (x,), R.Tensor(("n", "m"), "float32"))
"""
ANNOTATION = ' -> R.Tensor(("n", "m"), "float32")'
PRINTING = f"""
@R.function{{0}}
def main({PARAMETER}):{{1}}
    R.print(x)
    return x + 1.0
"""
CALLER = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32")):
    return R.call_tir(cls.k, (x,), R.Tensor(("n", "m"), "float32"))
"""
HANDLES = """
@T.prim_func
def k(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    {0}T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        B[i, j] = {1}[i, j] + T.float32(1)
"""
GENERATED = """
@T.prim_func
def k(A: T.Buffer(({0}, 3), "float32"), B: T.Buffer(({0}, 3), "float32"){1}):
    for i, j in T.grid({0}, 3):
        B[i, j] = A[i, j] + T.float32(1)

@R.function
def main(x: R.Tensor(("p", 3), "float32")):
    p = T.int64()
    return R.call_tir(cls.k, (x,), R.Tensor((p, 3), "float32"){2})
"""
BLOCK = """
@T.prim_func
def k(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
    with T.block([2, T.reduce_axis({0}3)], "b") as [i, j]:
        B[i, j] = A[i, j] + T.float32(1)
""" + CALLER.replace('("n", "m")', "(2, 3)")
SHAPE_FIRST = """
@R.function
def other(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    return x + 1.0

@T.prim_func
def k(a: T.Buffer(("n",), "float32"), b: T.Buffer(("n",), "float32")):
    n = T.int64()
    for j in range(n):
        b[j] = a[j] + T.float32(1)

@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    return {0}
"""


def _file(text: str) -> ModuleType:
    """A new Python file with this text, imported."""
    path = _folder / f"advice_file_{next(_numbers)}.py"
    head = "from relax_mlir.script import ir as I\nfrom relax_mlir.script import relax as R\n"
    path.write_text(head + textwrap.dedent(text))
    return _imported(path)


def _imported(path: Path) -> ModuleType:
    linecache.checkcache()
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


CLASS = "@I.ir_module\nclass Module:\n" + textwrap.indent(PLAIN, "    ")
DELAYED = f"def make():\n{textwrap.indent(CLASS, '    ')}\n    return Module\n"


def _typed_in() -> None:
    """A class whose source is not available."""
    names: dict[str, Any] = {"I": rx.script.ir, "R": rx.script.relax, "__name__": "typed"}
    exec(compile(CLASS, "<nowhere>", "exec"), names)


def _changed(text: str) -> Any:
    """A module whose function is decorated after its file has changed to this text; imported again on request."""
    module = _file(DELAYED)
    path = Path(str(module.__file__))
    path.write_text(text)
    linecache.checkcache()
    return module.make()


MOVED = "from relax_mlir.script import ir as I\nfrom relax_mlir.script import relax as R\n\n\n\n# more\n" + DELAYED


class _Tvm:
    """An object that prints itself like TVM's objects."""

    def __init__(self, text: str) -> None:
        self.text = text

    def script(self) -> str:
        return self.text


TVM = f"""# from tvm.script import ir as I
@I.ir_module
class Module:
{textwrap.indent(PLAIN, "    ")}
"""

WEIGHTED = f"""
@R.function
def main({PARAMETER}):
    return x + R.astype(R.sum(R.const({"[" + "1.0, " * 300 + "]"}, "float32")) / 300.0, "float32")
"""


def _weighted() -> rx.IRModule:
    return script_of(WEIGHTED)


ROWS: Mapping[str, Row] = {
    "weights": (
        lambda: parse(_weighted().script()),
        r"give them, parse\(text, constants=script_constants\(mod\)\).*or keep the module with IRModule.save",
    ),
    "result_of_call": scripts(
        CALL + OTHER.format("").replace("x + 1.0", "cls.main(x)"),
        r"annotate it \(`-> R.Tensor.*or define it first",
    ),
    "closure_of_later": scripts(
        CLOSURE + OTHER.format("").replace("x + 1.0", "cls.main(x)"),
        r"annotate it \(`-> R.Tensor.*or define it first",
    ),
    "closure_with_effects": scripts(CLOSURE + OTHER.format(ANNOTATION), "which may have effects: use invoke_closure"),
    "impure": scripts(
        PRINTING.format("(pure=True)", ""),
        r'leave that out.*vouch for it by R.func_attr\(\{"relax.force_pure": True\}\)',
    ),
    "result": scripts(PLAIN.replace("):", ') -> R.Tensor((2, 3), "float32"):'), "R.match_shape asserts at run time"),
    "nothing_returned": scripts(PLAIN.replace("return x + 1.0", "return"), r"`return \(\)` returns the empty tuple"),
    "shape_first": scripts(
        SHAPE_FIRST.format("R.call_tir((n,), cls.other, (x,))"),
        "write the result as a Tensor, behind the arguments",
    ),
    "shape_first_unknown": scripts(
        SHAPE_FIRST.format('R.call_tir(R.call_pure_packed("advice.rows", x, out=R.Shape()), cls.k, (x,))'),
        "match_shape the arguments so that it can be proved",
    ),
    "shape_first_dtype": scripts(
        SHAPE_FIRST.format('R.call_tir((n,), "advice.fill", ())'), "give it as a Tensor behind the arguments"
    ),
    "match_buffer": scripts(HANDLES.format("", "A") + CALLER, r"write A = T.match_buffer\(a, shape, dtype\)"),
    "symbol": scripts(
        GENERATED.format('"n*p"', "", "").replace('T.grid("n*p"', "T.grid(2"),
        "add a parameter `n: T.int64`|add a parameter `p: T.int64`",
    ),
    "reduce_axis": scripts(BLOCK.format("1, "), r"write T.reduce_axis\(0, k\)"),
    "emit_te": scripts(
        PLAIN.replace("x + 1.0", "R.emit_te(add_one, x)"), "use the decorators, or BlockBuilder.emit_te"
    ),
    "coroutine": (lambda: _file(CLASS.replace("def main", "async def main")), "write `def`"),
    "source_nowhere": (_typed_in, "relax_mlir.script.parse reads a script that is a text"),
    "changed_file": (
        lambda: _changed(MOVED),
        "import the file again.*or give the text to relax_mlir.script.parse",
    ),
    "broken_file": (lambda: _changed("def ("), "is not the text that runs: .*; import the file again"),
    "function_of_tvm": (
        lambda: from_tvm(_Tvm("@R.function\ndef main(x: R.Tensor((2,))):\n    return x")),
        "put a function into a module first",
    ),
}


TABLE = Rows(ROWS)
