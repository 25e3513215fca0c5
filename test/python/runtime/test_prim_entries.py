"""Prim funcs called from outside: ``ex["f"](a, b, out)``, with every argument checked."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import te, transform
from relax_mlir.error import (
    ArgumentError,
    BoundsError,
    DTypeError,
    RelaxError,
    ShapeError,
    UnsupportedError,
    VerifyError,
)
from relax_mlir.mlir import ir
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

# ruff: noqa: F821 - symbols of the scripts


@I.ir_module
class Alone:
    @T.prim_func
    def add(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32"), C: T.Buffer((n, 4), "float32")):
        for i, j in T.grid(n, 4):
            with T.block("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + B[vi, vj]

    @T.prim_func
    def count(A: T.Buffer((n,), "int64")):
        for i in range(n):
            A[i] = A[i] + i

    @T.prim_func
    def column(C: T.Buffer((n,), "float32"), A: T.Buffer((n, m), "float32"), k: T.int64):
        for i in range(n):
            C[i] = A[i, k]

    @T.prim_func
    def pairs(A: T.Buffer((n,), "float32"), B: T.Buffer((2 * n,), "float32")):
        for i in range(n):
            B[2 * i] = A[i]
            B[2 * i + 1] = A[i]

    @T.prim_func
    def evens(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        for i in range(n):
            if i % 2 == 0:
                B[i] = A[i]

    @T.prim_func
    def scaled(A: T.Buffer((), "float32"), s: T.float32, B: T.Buffer((), "float32")):
        B[()] = A[()] * s

    @T.prim_func
    def low(A: T.Buffer((n,), "bfloat16"), B: T.Buffer((n,), "bfloat16")):
        for i in range(n):
            B[i] = A[i] + A[i]

    @T.prim_func
    def half(A: T.Buffer((n,), "float16"), B: T.Buffer((n,), "float16")):
        for i in range(n):
            with T.block("half"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] + A[vi]

    @T.prim_func
    def split(A: T.Buffer((n,), "int8"), P: T.Buffer((n,), "int8"), N: T.Buffer((n,), "int8")):
        for i in range(n):
            P[i] = T.max(A[i], T.int8(0))
            N[i] = T.min(A[i], T.int8(0))

    @T.prim_func
    def first(B: T.Buffer((n,), "float32"), A: T.Buffer((n,), "float32")):
        for i in range(n):
            B[i] = A[i] + T.float32(1)


MODES = ("native", "bytecode")
in_both_modes = pytest.mark.parametrize("mode", MODES)


@functools.cache
def alone(mode: str = "native", level: int = 2) -> Any:
    return built(Alone, mode, level)


def built(mod: rx.IRModule, mode: str, level: int = 2) -> Any:
    """The functions of a module; bytecode is saved and loaded."""
    if mode == "native":
        return rx.build(mod, opt_level=level)
    executable = rx.vm.build(mod, opt_level=level)
    with tempfile.TemporaryDirectory() as directory:
        executable.save(Path(directory) / "functions.vmexec")
        loaded = rx.vm.Executable.load(Path(directory) / "functions.vmexec", trusted=level != 0)
    assert loaded == executable
    return rx.VirtualMachine(loaded if level != 2 else executable)


def new(*shape: int, dtype: Any = "float32") -> np.ndarray[Any, Any]:
    """An uninitialised array."""
    return np.full(shape, 99, dtype)


@in_both_modes
@pytest.mark.parametrize("level", [0, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_each_prim_func_of_a_module_is_callable(n: int, level: int, mode: str) -> None:
    ex, rng = alone(mode, level), np.random.default_rng(n)
    assert list(ex) == list(Alone)
    a, b = rng.standard_normal((2, n, 4), dtype="float32")
    a[:1, 0], b[:1, 1] = np.nan, np.inf
    out = new(n, 4)
    assert ex["add"](a, b, out) is None
    np.testing.assert_array_equal(out, a + b)
    numbers = np.arange(n) * 3
    ex["count"](numbers)
    np.testing.assert_array_equal(numbers, np.arange(n) * 4)
    column = new(n)
    ex["column"](column, a, 3)
    np.testing.assert_array_equal(column, a[:, 3])
    twice = new(2 * n)
    ex["pairs"](a[:, 2], twice)  # an input of other strides
    np.testing.assert_array_equal(twice, np.repeat(a[:, 2], 2))
    kept = new(n)
    ex["evens"](np.ascontiguousarray(a[:, 1]), kept)
    np.testing.assert_array_equal(kept, np.where(np.arange(n) % 2, np.float32(99), a[:, 1]))
    for name, dtype in (("low", ml_dtypes.bfloat16), ("half", np.float16)):
        x, doubled = a[:, 2].astype(dtype), new(n, dtype=dtype)
        ex[name](x, doubled)
        np.testing.assert_array_equal(doubled.astype("f4"), (x + x).astype("f4"))
    signed, positive, negative = rng.integers(-9, 9, n, "int8"), new(n, dtype="int8"), new(n, dtype="int8")
    ex["split"](signed, positive, negative)
    np.testing.assert_array_equal(positive, np.maximum(signed, 0))
    np.testing.assert_array_equal(negative, np.minimum(signed, 0))


@in_both_modes
def test_rank_0(mode: str) -> None:
    out = np.zeros((), "float32")
    alone(mode)["scaled"](np.array(3, "float32"), np.array(0.5, "float32"), out)
    assert out == 1.5


@in_both_modes
def test_tensors_of_the_ffi_and_of_torch(mode: str) -> None:
    torch = pytest.importorskip("torch")
    a, out = np.ones((3, 4), "float32"), new(3, 4)
    alone(mode)["add"](*map(tvm_ffi.from_dlpack, (a, a, out)))
    np.testing.assert_array_equal(out, 2)
    x, y = torch.ones(3, 4), torch.zeros(3, 4)
    alone(mode)["add"].ffi(x, x, y)
    alone(mode)["add"](x, y, y)
    assert (y == 3).all()


@in_both_modes
def test_inputs_that_share_memory_with_what_is_written(mode: str) -> None:
    add, memory = alone(mode)["add"], np.arange(24, dtype="float32")
    first, second = memory[:16].reshape(4, 4), memory[8:24].reshape(4, 4)
    wanted = first + first
    add(first, first, second)
    np.testing.assert_array_equal(second, wanted)
    wanted = second + second
    add(second, second, second)
    np.testing.assert_array_equal(second, wanted)
    with pytest.raises(ArgumentError, match=r"split: the given N overlaps the given P: each needs memory"):
        alone(mode)["split"](new(3, dtype="int8"), *[new(3, dtype="int8")] * 2)


A, C = np.ones((3, 4), "float32"), np.zeros((3, 4), "float32")
WRONG: list[tuple[tuple[Any, ...], type[RelaxError], str]] = [
    ((A, A), ArgumentError, r"add: takes 3 arguments \(A, B, C\); got 2"),
    ((A, A, C, C), ArgumentError, r"add: takes 3 arguments \(A, B, C\); got 4"),
    (
        (A, A, new(2, 4)),
        ShapeError,
        r"add: parameter 'C' dimension 0 is 2, but n = 3, taken from parameter 'A'",
    ),
    ((A, A, new(3, 5)), ShapeError, r"add: parameter 'C' dimension 1 is 5, expected 4"),
    ((A, A[:2], C), ShapeError, "add: parameter 'B' dimension 0 is 2, but n = 3"),
    ((A, A, new(12)), ShapeError, "add: parameter 'C'"),
    ((A.astype("f8"), A, C), DTypeError, "add: parameter 'A' has dtype float64, expected float32"),
    ((A, A, C.astype("f8")), DTypeError, "add: parameter 'C' has dtype float64, expected float32"),
    ((A, A, 3), ArgumentError, "add: parameter 'C' is of type int"),
    ((A, None, C), ArgumentError, "add: parameter 'B' is of type None"),
    (
        (A, A, new(3, 8)[:, ::2]),
        ArgumentError,
        "add: parameter 'C' is not contiguous, so it cannot be written",
    ),
]


@in_both_modes
@pytest.mark.parametrize(("arguments", "kind", "message"), WRONG)
def test_wrong_arguments(arguments: tuple[Any, ...], kind: type[RelaxError], message: str, mode: str) -> None:
    before = C.copy()
    with pytest.raises(kind, match=message):
        alone(mode)["add"](*arguments)
    np.testing.assert_array_equal(C, before)


@in_both_modes
def test_arrays_that_cannot_be_written(mode: str) -> None:
    add, low = alone(mode)["add"], alone(mode)["low"]
    fixed = new(3, 4)
    fixed.flags.writeable = False
    with pytest.raises(ArgumentError, match="add: the given result 0 is a read-only array"):
        add(A, A, fixed)
    bits = new(3, dtype=ml_dtypes.bfloat16)
    bits.flags.writeable = False
    with pytest.raises(ArgumentError, match="low: the given result 0 is a read-only array"):
        low(bits.copy(), bits)
    add(fixed, fixed, C)
    given, made = new(3), new(3)
    given.flags.writeable = False
    alone(mode)["first"](made, given)
    np.testing.assert_array_equal(made, given + 1)
    with pytest.raises(ArgumentError, match=r"first: parameter '.*' is a read-only array"):
        alone(mode)["first"](given, made)


@in_both_modes
def test_indices_are_checked_under_the_name_of_the_function(mode: str) -> None:
    with pytest.raises(BoundsError, match=r"^column: 'A': index 4 is out of range for dimension 1 of size 4"):
        alone(mode)["column"](new(3), A, 4)


@I.ir_module
class Mixed:
    @T.prim_func
    def hidden(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        for i in range(n):
            B[i] = A[i] * T.float32(2)

    @T.prim_func
    def seen(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        T.func_attr({"global_symbol": "seen"})
        for i in range(n):
            B[i] = A[i] + T.float32(1)

    @T.prim_func
    def inner(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        T.func_attr({"global_symbol": "outer"})
        for i in range(n):
            B[i] = A[i] - T.float32(1)

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        with R.dataflow():
            y = R.call_tir(cls.hidden, (x,), out=R.Tensor((n,), "float32"))
            z = R.call_tir(cls.seen, (y,), out=R.Tensor((n,), "float32"))
            w = R.call_tir(cls.inner, (z,), out=R.Tensor((n,), "float32"))
            R.output(w)
        return w


@in_both_modes
@pytest.mark.parametrize("level", [0, 2, 3])
def test_beside_relax_functions_a_global_symbol_makes_one_callable(level: int, mode: str) -> None:
    ex = built(Mixed, mode, level)
    assert sorted(ex) == ["main", "outer", "seen"]
    x, out = np.arange(5, dtype="float32"), new(5)
    ex["seen"](x, out)
    np.testing.assert_array_equal(out, x + 1)
    ex["outer"](x, out)
    np.testing.assert_array_equal(out, x - 1)
    np.testing.assert_array_equal(np.from_dlpack(ex["main"](x)), x * 2)


def test_bytecode_calls_the_native_entry_points() -> None:
    executable = rx.build(Mixed, exec_mode="bytecode")
    lines = executable.as_text().splitlines()
    at = lines.index("@seen:")
    assert lines[at + 1].split() == ["call", "seen.prim", "in:", "%0,", "%1", "dst:", "%2"]
    machine = rx.VirtualMachine(executable)
    assert [place.path for place in machine["seen"].written] == [(1,)] and machine["main"].written == ()
    assert [place.path for place in alone("bytecode")["column"].written] == [(0,)]


def test_explicit_memory_with_a_global_symbol() -> None:
    mod = Mixed.clone()
    for made in (transform.LegalizeOps(), transform.ToNonDataflow(), transform.CallTIRRewrite()):
        mod = made(mod)
    machine = rx.VirtualMachine(rx.vm.build(mod))
    assert sorted(machine) == ["main", "outer", "seen"]
    x, out = np.arange(5, dtype="float32"), new(5)
    machine["outer"](x, out)
    np.testing.assert_array_equal(out, x - 1)
    np.testing.assert_array_equal(np.from_dlpack(machine["main"](x)), x * 2)


def test_a_relax_function_has_the_name_that_bytecode_needs() -> None:
    bb = rx.BlockBuilder(rx.IRModule.parse(CALLED.replace("PARAMS", PARAMS).partition("func.func @main")[0]))
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("copy.prim", [x]):
        bb.emit_func_output(x)
    mod = bb.get()
    named = ir.Attribute.parse('{global_symbol = "copy"}', mod.context)
    mod.mlir.body.operations[0].attributes["relax.prim_attrs"] = named
    with pytest.raises(UnsupportedError, match=r"'copy' needs the name 'copy\.prim' in bytecode"):
        rx.vm.build(mod)


CALLED = """
func.func private @copy(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func, PARAMS} {
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}
func.func private @outer(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func, PARAMS} {
  func.call @copy(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  return
}
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %args = builtin.unrealized_conversion_cast %x
    : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %0 = "relax.call_tir"(%args) {callee = @outer, tir_vars = []}
    : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
"""
PARAMS = """relax.params = [{name = "A", shape = ["n"], dtype = "float32"},
  {name = "B", shape = ["n"], dtype = "float32"}]"""


@in_both_modes
def test_prim_funcs_that_call_others(mode: str) -> None:
    x = np.arange(5, dtype="float32")
    text = CALLED.replace("PARAMS", PARAMS)
    main = built(rx.IRModule.parse(text), mode)["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(x)), x)
    alone = built(rx.IRModule.parse(text.partition("func.func @main")[0]), mode)
    assert list(alone) == ["copy", "outer"]
    for name in alone:
        out = new(5)
        alone[name](x, out)
        np.testing.assert_array_equal(out, x)
        with pytest.raises(ShapeError, match=f"^{name}: parameter 'B' dimension 0 is 4"):
            alone[name](x, new(4))
    hidden = text.partition("func.func @main")[0].replace(PARAMS, 'relax.pattern = "opaque"', 1)
    assert list(built(rx.IRModule.parse(hidden), mode)) == ["outer"]


@in_both_modes
def test_tensor_expressions(mode: str) -> None:
    n = te.var("n")
    x = te.placeholder((n, 3), "float32", name="X")
    y = te.compute((n, 3), lambda i, j: x[i, j] * 2, name="Y")
    ex = built(te.create_prim_func([x, y]), mode)
    (name,) = ex
    a, out = np.arange(6, dtype="float32").reshape(2, 3), new(2, 3)
    ex[name](a, out)
    np.testing.assert_array_equal(out, a * 2)


def test_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELAX_MLIR_CACHE", "1")
    for is_cached in (False, True):
        ex = rx.build(Mixed)
        assert ex.compile_report is not None and ex.compile_report.from_cache is is_cached
        out = new(2)
        ex["seen"](np.float32([1, 2]), out)
        np.testing.assert_array_equal(out, [2, 3])


UNDECLARED = """
func.func private @f(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func} {
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}
"""


@in_both_modes
def test_parameters_that_are_not_declared(mode: str) -> None:
    with pytest.raises(UnsupportedError, match="prim func 'f' cannot be called: it does not declare its parameters"):
        built(rx.IRModule.parse(UNDECLARED), mode)


ENTRY = """
func.func @g(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32, #relax.shape<["SIZE"]>>) -> tuple<>
    attributes {relax.exposes = {callee = @CALLEE, written = array<i64: WRITTEN>}} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  return %none : tuple<>
}
"""


@in_both_modes
@pytest.mark.parametrize("declared", [PARAMS, 'relax.pattern = "opaque"'])
@pytest.mark.parametrize(("callee", "size", "written"), [("copy", "m", 1), ("copy", "n", 0), ("none", "n", 1)])
def test_entries_that_users_write(callee: str, size: str, written: int, declared: str, mode: str) -> None:
    entry = ENTRY.replace("CALLEE", callee).replace("SIZE", size).replace("WRITTEN", str(written))
    call = "func.func @main" + CALLED.partition("func.func @main")[2].replace("@outer", "@copy")
    copy = CALLED.partition("func.func private @outer")[0].replace("PARAMS", declared)
    for rest in ("", call):  # a call makes sizes known, which the entry does not check
        with pytest.raises(VerifyError, match=r"'g' has an attribute relax\.exposes that expose-prim-funcs has not"):
            built(rx.IRModule.parse(copy + rest + entry), mode)


@in_both_modes
def test_an_exposed_module_is_built(mode: str) -> None:
    alone = rx.IRModule.parse(CALLED.replace("PARAMS", PARAMS).partition("func.func @main")[0])
    for module in (Mixed, Alone, alone):
        exposed = transform.ExposePrimFuncs()(module)
        functions = built(transform.ExposePrimFuncs()(exposed), mode)
        assert sorted(functions) == sorted(built(module, mode))
    out = new(3)
    functions["outer"](np.zeros(3, "float32"), out)
    np.testing.assert_array_equal(out, 0)
