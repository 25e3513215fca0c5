"""The source of a decorated class or function: the one at its own lines, even if others have the same name."""
# ruff: noqa: B023 - a script reads the variable at once

from __future__ import annotations

import linecache
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ArgumentError, ScriptError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

OPERATORS = {"R.add": "+", "R.subtract": "-", "R.multiply": "*"}


def texts(*modules: rx.IRModule) -> list[str]:
    """The computation of each module: its operator and the number next to x, or the op's name."""
    found = []
    for module in modules:
        text = module.script().split(" = ")[1].split("\n")[0]
        name, _, rest = text.partition("(")
        number = re.search(r"R.const\((.*?),", rest)
        if number is None:
            found.append(text)
            continue
        order = [number[1], "x"] if rest.startswith("R.const") else ["x", number[1]]
        found.append(f" {OPERATORS[name]} ".join(order))
    return found


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return x + 1.0


first = Module


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return x * 10.0


def test_two_classes_of_one_name() -> None:
    assert texts(first, Module) == ["x + 1.0", "x * 10.0"]


def test_classes_in_branches_loops_and_functions_of_one_name() -> None:
    found = []
    for number in (2.0, 3.0):
        if number == 2.0:

            @I.ir_module
            class M:
                @R.function
                def main(x: R.Tensor(("n",), "float32")):
                    return x - number

        else:

            @I.ir_module
            class M:
                @R.function
                def main(x: R.Tensor(("n",), "float32")):
                    return number - x

        found.append(M)

    def inner() -> rx.IRModule:
        @I.ir_module
        class M:
            @R.function
            def main(x: R.Tensor(("n",), "float32")):
                return R.exp(x)

        return M

    found.append(inner())

    def inner() -> rx.IRModule:
        @I.ir_module
        class M:
            @R.function
            def main(x: R.Tensor(("n",), "float32")):
                return R.tanh(x)

        return M

    found.append(inner())
    assert texts(*found) == ["x - 2.0", "3.0 - x", "R.exp(x)", "R.tanh(x)"]


def test_classes_without_functions() -> None:
    @I.ir_module
    class M:
        I.mlir("func.func @one(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }")

    one = M

    @I.ir_module
    class M:
        I.mlir("func.func @two(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }")

    @I.ir_module
    class M3(object):  # noqa: UP004 - a head of more than its name
        """A docstring."""

    assert [[f.name.value for f in m.functions()] for m in (one, M, M3)] == [["one"], ["two"], []]


def test_functions_of_one_name() -> None:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return x + 1.0

    one = main

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return x + 2.0

    assert texts(one, main) == ["x + 1.0", "x + 2.0"]

    @T.prim_func
    def f(a: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):
        for i in T.serial(4):
            out[i] = a[i] + T.float32(1)

    prim = f

    @T.prim_func
    def f(a: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):
        for i in T.serial(4):
            out[i] = a[i] * T.float32(3)

    assert "arith.mulf" in str(f)
    assert "arith.mulf" not in str(prim)


def test_a_symbol_that_is_a_variable_assigned_later() -> None:
    @I.ir_module
    class M:
        @R.function
        def main(x: R.Tensor((n, 4), "float32")):
            y = R.reshape(x, (4 * n,))
            return y

    main = rx.build(M)["main"]
    for n in (1, 3):
        assert np.from_dlpack(main(np.ones((n, 4), "f4"))).shape == (4 * n,)


HEAD = "from relax_mlir.script import ir as I, relax as R\n"
TEXT = (
    HEAD + '@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor(("n",), "float32")):\n        return {}\n'
)
LATE = TEXT.replace("@I.ir_module\n", "")


def imported(path: Path, text: str) -> ModuleType:
    """A module of `text`, simulated as imported from `path`."""
    module = ModuleType("edited")
    module.__file__ = str(path)
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("now", ["x * 2.0", "x + 3.0", "y + 2.0", "\n\n        return x + 2.0", "x +", None], ids=repr)
def test_a_file_that_has_been_edited(tmp_path: Path, now: str | None) -> None:
    path = tmp_path / "edited.py"
    path.write_text(LATE.format("x + 2.0"))
    module = imported(path, path.read_text())
    assert texts(I.ir_module(module.M)) == ["x + 2.0"]
    text = LATE.format(now) if now is not None else "\n\n" + LATE.format("x + 2.0")
    path.write_text(text)
    linecache.clearcache()
    with pytest.raises(ScriptError, match=r"import the (file )?again"):
        I.ir_module(module.M)
    assert texts(I.ir_module(imported(path, path.read_text()).M)) == ["x * 2.0"] if now == "x * 2.0" else True


def test_characters_at_which_only_strings_are_split(tmp_path: Path) -> None:
    """Form feeds and other separators end no line of Python."""
    path = tmp_path / "pages.py"
    first, second = (TEXT.format(f"x + {number}.0").removeprefix(HEAD) for number in (1, 2))
    path.write_text(f"{HEAD}# a\x0cb\x0bc\x85d\u2028e\n{first}A = M\n\x0c\n{second}", encoding="utf-8")
    module = imported(path, path.read_text(encoding="utf-8"))
    assert texts(module.A, module.M) == ["x + 1.0", "x + 2.0"]


def test_what_has_no_source() -> None:
    with pytest.raises(ScriptError, match=r"<string> is no file; relax_mlir.script.parse reads"):
        exec(TEXT.format("x + 1.0"), {"__name__": "nowhere"})
    with pytest.raises(ScriptError, match="cannot read the source of 'M'"):
        I.ir_module(type("M", (), {}))
    with pytest.raises(ScriptError, match="is no function made by `def`"):
        R.function(lambda x: x)
    with pytest.raises(ArgumentError, match="decorate a function, not 3"):
        R.function(3)  # type: ignore[call-overload]  # tested here
    with pytest.raises(ArgumentError, match="decorate a function"):
        T.prim_func(len)
    with pytest.raises(ArgumentError, match="ir_module decorates a class"):
        I.ir_module(test_what_has_no_source)  # type: ignore[arg-type]  # tested here
    with pytest.raises(ScriptError, match="is a coroutine"):

        @R.function
        async def main(x: R.Tensor(("n",), "float32")):
            return x
