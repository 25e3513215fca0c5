"""Executables as text and as Python code, which rebuilds equal ones when it runs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.bytecode.constant_pool import same
from relax_mlir.dialects.dtypes import DTYPES


def run(code: str) -> rx.vm.Executable:
    found: dict[str, Any] = {}
    exec(compile(code, "as_python", "exec"), found)
    ex = found["ex"]
    assert isinstance(ex, rx.vm.Executable)
    return ex


def arrays() -> list[np.ndarray[Any, Any]]:
    """Every dtype, in sizes 0, 1 and above the limit for single elements, with unusual bits."""
    rng = np.random.default_rng(0)
    made = []
    for dtype in DTYPES.values():
        for shape in ((), (0, 3), (1,), (2, 3, 1), (5, 13)):
            bits = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
            if dtype.name == "bool":
                bits %= 2
            made.append(np.frombuffer(bits.tobytes(), dtype.numpy).reshape(shape))
        if dtype.is_float:
            made.append(np.array([np.nan, np.inf, -np.inf, -0.0, 0.1], dtype.numpy))
    return made


OTHERS: list[object] = [
    *((), (0,), (1, -2, 1 << 40), "", "a\n\"b'\\", "ü\u2028", "float32", np.float32, ml_dtypes.bfloat16),
    *(None, True, False, 0, -1, 1 << 62, -(1 << 63), 0.0, -0.0, 0.1, 1e300, float("nan"), float("-inf")),
]


def everything() -> rx.vm.Executable:
    """All kinds of constants, instructions and arguments."""
    ib = rx.vm.ExecBuilder()
    values = [*arrays(), *OTHERS]
    with ib.function('a "name"\n', 2, param_names=["x", "y"], allow_unused=True):
        label = ib.label()
        ib.emit_call("f", args=[ib.c(value) for value in values], dst=ib.r(3))
        ib.emit_call("f", args=[ib.vm_state(), ib.imm(-(1 << 55)), ib.f("later"), ib.f("g")])
        ib.emit_if(ib.r(3), label)
        ib.emit_call("later", args=[ib.r(3)], dst=ib.r(3))
        ib.emit_goto(-3)
        ib.place(label)
        ib.emit_ret(ib.r(3))
    with ib.function("later", 1):
        ib.emit_ret(ib.r(0))
    ib.set_kernels('module {\n  "f"() : () -> ()\n}\n', [ib.c(values[0])])
    return ib.get()


def test_code_makes_an_equal_executable() -> None:
    ex = everything()
    code = ex.as_python()
    assert "ib.emit_call" in code and ex.aspython() == code
    again = run(code)
    assert again == ex
    assert again.as_python() == code
    assert all(type(a) is type(b) for a, b in zip(again.constants, ex.constants, strict=True))


def test_code_is_readable() -> None:
    ib = rx.vm.ExecBuilder()
    with ib.function("main", num_inputs=1):
        ib.emit_if(ib.r(0), 3)
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.imm(-5), ib.vm_state()], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
        ib.emit_call("test.vm.mul", args=[ib.f("main"), (2, 3), np.ones(2, "float32")])
        ib.emit_ret(ib.r(0))
    assert ib.get().as_python() == (
        "import numpy as np\n"
        "import relax_mlir as rx\n"
        "\n"
        "ib = rx.vm.ExecBuilder()\n"
        "c = [\n"
        "    ib.c((2, 3)),\n"
        '    ib.c(np.array([1.0, 1.0], "float32")),\n'
        "]\n"
        'with ib.function("main", num_inputs=1):\n'
        "    ib.emit_if(ib.r(0), 3)\n"
        '    ib.emit_call("test.vm.add", args=[ib.r(0), ib.imm(-5), ib.vm_state()], dst=ib.r(1))\n'
        "    ib.emit_ret(ib.r(1))\n"
        '    ib.emit_call("test.vm.mul", args=[ib.f("main"), c[0], c[1]])\n'
        "    ib.emit_ret(ib.r(0))\n"
        "ex = ib.get()\n"
    )


def test_functions_keep_their_places_in_the_table() -> None:
    ib = rx.vm.ExecBuilder()
    for name in ("unused", "later", "main"):
        ib.declare_function(name)
    with ib.function("main", 1):
        ib.emit_call("packed", args=[ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("later", 1):
        ib.emit_ret(ib.r(0))
    ex = ib.get()
    assert [info.name for info in ex.functions] == ["unused", "later", "main", "packed"]
    assert ex.function("later").start == 2
    assert run(ex.as_python()) == ex


def parts(**changes: Any) -> rx.vm.Executable:
    """An executable that no builder produces."""
    given: dict[str, Any] = {
        "functions": (rx.vm.FunctionInfo("main", "vm", 0, 2, 1, 2), rx.vm.FunctionInfo("f")),
        "constants": (),
        "words": np.array([1, 1, 1, 1, 0, 2, 1]),
        "offsets": np.array([0, 5]),
    }
    return rx.vm.Executable(**(given | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"constants": (1.0, (1,), 1.0)},
        {"functions": (rx.vm.FunctionInfo("main", "vm", 0, 2, 1, 3), rx.vm.FunctionInfo("f"))},
        {
            "functions": (rx.vm.FunctionInfo("main", "vm", 0, 2, 1, 3), rx.vm.FunctionInfo("f")),
            "words": np.array([1, 2, 1, 1, 0, 2, 2]),
            "kernels": rx.vm.Kernels("module {\n}", (0,)),
            "constants": (np.zeros(100), "x"),
        },
        {"functions": (), "words": np.zeros(0, int), "offsets": np.zeros(0, int), "constants": ("x",)},
        {"functions": (rx.vm.FunctionInfo("f"),), "words": np.zeros(0, int), "offsets": np.zeros(0, int)},
    ],
    ids=["constant twice", "register too many", "register skipped", "only constants", "only packed"],
)
def test_executables_that_no_builder_makes(changes: dict[str, Any]) -> None:
    ex = parts(**changes)
    assert run(ex.as_python()) == ex


def test_executables_that_differ() -> None:
    ex = parts(constants=(np.array([1.0, np.nan]), 0.0, "s"))
    assert ex == parts(constants=(np.array([1.0, np.nan]), 0.0, "s"))
    for constants in (
        (np.array([1.0, np.nan]), -0.0, "s"),
        (np.array([1.0, -np.nan]), 0.0, "s"),
        (np.array([1.0, np.nan], "f4"), 0.0, "s"),
        (np.array([[1.0, np.nan]]), 0.0, "s"),
        (np.array([1.0, np.nan]), 0, "s"),
        (np.array([1.0, np.nan]), False, "s"),
        (np.array([1.0, np.nan]), 0.0, "t"),
        (np.array([1.0, np.nan]), 0.0),
    ):
        assert ex != parts(constants=constants), constants
    assert ex != parts(constants=ex.constants, kernels=rx.vm.Kernels(""))
    named = rx.vm.FunctionInfo("main", "vm", 0, 2, 1, 2, ("x",))
    assert parts() != parts(functions=(named, rx.vm.FunctionInfo("f")))


def test_equality_of_constants_is_by_kind() -> None:
    values = [*(0, 0.0, False, None, "", (), np.zeros(()), "float32", np.dtype("float32"))]
    pool = parts(constants=tuple(values)).constants
    assert [[same(a, b) for b in pool] for a in pool] == np.eye(len(pool), dtype=bool).tolist()


def test_names_on_one_line() -> None:
    text = everything().as_text()
    assert text.startswith('@a "name"\\n:\n')
    assert text.count("\n") == sum(1 for _ in everything().offsets) + 2 * 2 + 2 * 2


def test_stats_of_all_kinds() -> None:
    values = [np.zeros((2, 0)), np.float32(1), (1, 2), (), np.float32, "a\nb", 5, 1.5, True, None]
    assert parts(constants=tuple(values)).stats() == (
        "Relax VM executable statistics:\n"
        "  Constant pool (# 10): [[2, 0], scalar, shapetuple[1, 2], shapetuple[], float32, "
        '"a\\nb", 5, 1.5, True, None]\n'
        "  Globals (#2): [main, f]\n"
    )
