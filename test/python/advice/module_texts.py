"""Modules of rows of advice, as text, as script and from the builder; the valid ones are built together."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Row, same
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
Make = Callable[[], rx.IRModule]


class Together:
    """Modules whose `main` is called: all are built as one module on first use."""

    def __init__(self) -> None:
        self.makers: list[Make] = []

    def add(self, make: Make) -> Callable[..., Any]:
        """Add a module; return a function that calls its `main`."""
        number = len(self.makers)
        self.makers.append(make)

        def call(*args: Any) -> Any:
            text = self.texts[number]
            if isinstance(text, Exception):
                raise text
            return self.built[f"m{number}.main"](*args)

        return call

    @cached_property
    def texts(self) -> list[str | Exception]:
        """The functions of each module, or the reason why it could not be built, which is an error of its row only."""
        return [_functions(make, f"m{number}") for number, make in enumerate(self.makers)]

    @cached_property
    def built(self) -> rx.Executable:
        text = "\n".join(text for text in self.texts if isinstance(text, str))
        return rx.build(rx.IRModule.parse(text, trusted=True), opt_level=0)


def _functions(make: Make, prefix: str) -> str | Exception:
    """The functions of a module, with a prefix added to their names."""
    try:
        module = make()
        module.verify()
        lines = module.asm(elide_above=None).strip().split("\n")
    except Exception as error:  # `call` raises it
        return error
    assert (lines[0], lines[-1]) == ("module {", "}"), "no attributes, no large constants"
    return re.sub(r"@([\w.]+)", rf'@"{prefix}.\1"', "\n".join(lines[1:-1]))


TOGETHER = Together()


def gives(make: Make, expected: object, *args: Any) -> Callable[[], None]:
    """Assert that `main` of a module returns this result, by default for `X`."""
    call = TOGETHER.add(make)
    return lambda: same(call(*(args or (X,))), expected)


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


def texts(
    wrong: str, message: str, right: str, expected: object, *args: Any, passes: str = "", then: str = ""
) -> Row:
    """Rows of modules in MLIR's text: passes run on the wrong one (or it is built), `then` on the right one."""

    def refuse() -> object:
        return run(module_of(wrong), passes) if passes else rx.build(module_of(wrong))

    compare = gives(lambda: module_of(right), expected, *args)

    def follow() -> None:
        if then:
            run(module_of(right), then).verify()
        compare()

    return Row(refuse, message, follow)


def script_of(body: str) -> rx.IRModule:
    """A module with this body in script."""
    return parse("@I.ir_module\nclass Module:\n" + textwrap.indent(textwrap.dedent(body), "    "))


def scripts(wrong: str, message: str, right: str, expected: object, *args: Any) -> Row:
    """Bodies of modules in script, which are built."""
    return Row(lambda: rx.build(script_of(wrong)), message, gives(lambda: script_of(right), expected, *args))


def function(make: Callable[..., Any], *infos: rx.StructInfo) -> rx.IRModule:
    """A module whose `main` is built by `make` from a builder and parameters."""
    bb = rx.BlockBuilder()
    params = [rx.Var(name, info) for name, info in zip("xyz", infos, strict=False)]
    with bb.function("main", params):
        bb.emit_func_output(make(bb, *params))
    return bb.get()
