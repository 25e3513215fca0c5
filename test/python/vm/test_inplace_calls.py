"""`call_tir_inplace` as bytecode: the memory of an argument is reused if its elements are not needed later."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import numpy
from relax_mlir import transform
from relax_mlir.error import BoundsError, UnsupportedError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

# ruff: noqa: F821 - symbols of the scripts


@I.ir_module
class Module:
    @T.prim_func
    def twice(A: T.Buffer((n,), "float32")):
        for i in range(n):
            A[i] = A[i] * T.float32(2)

    @T.prim_func
    def accumulate(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        for i in range(n):
            A[i] = A[i] + B[i]

    @T.prim_func
    def combine(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), S: T.Buffer((n,), "float32"), k: T.int64):
        for i in range(n):
            S[i] = (A[i] + B[i]) * T.Cast("float32", k)
            A[i] = A[i] - B[i]
            B[i] = B[i] * T.float32(3)

    @T.prim_func
    def first(A: T.Buffer((n,), "float32"), k: T.int64):
        A[0] = A[k]

    @R.function
    def temporary(x: R.Tensor(("n",), "float32")):
        y = x + R.const(1.0, "float32")
        z = R.call_tir_inplace(cls.twice, (y,), [0], R.Tensor((n,), "float32"))
        return R.call_tir_inplace(cls.accumulate, (z, x), [0], R.Tensor((n,), "float32"))

    @R.function
    def used_later(x: R.Tensor(("n",), "float32")):
        y = x + R.const(1.0, "float32")
        z = R.call_tir_inplace(cls.twice, (y,), [0], R.Tensor((n,), "float32"))
        return y * z

    @R.function
    def parameter(x: R.Tensor(("n",), "float32")):
        return R.call_tir_inplace(cls.twice, (x,), [0], R.Tensor((n,), "float32"))

    @R.function
    def constant(x: R.Tensor((3,), "float32")):
        c = R.const([1, 2, 3], "float32")
        return R.call_tir_inplace(cls.accumulate, (c, x), [0], R.Tensor((3,), "float32"))

    @R.function
    def field(x: R.Tensor(("n",), "float32")):
        y = x + R.const(1.0, "float32")
        kept = (y, x)
        z = R.call_tir_inplace(cls.twice, (y,), [0], R.Tensor((n,), "float32"))
        return z, kept

    @R.function
    def parameter_field(t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32"))):
        return R.call_tir_inplace(cls.accumulate, (t[0], t[1]), [0], R.Tensor((n,), "float32"))

    @R.function
    def view(x: R.Tensor(("n",), "float32")):
        y = R.exp(x)
        rows = R.reshape(y, (n, 1))
        z = R.call_tir_inplace(cls.twice, (y,), [0], R.Tensor((n,), "float32"))
        return z, rows

    @R.function
    def one_of_both(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")):
        y = x + R.const(1.0, "float32")
        if c:  # noqa: SIM108 - the branches of the language
            z = R.call_tir_inplace(cls.twice, (y,), [0], R.Tensor((n,), "float32"))
        else:
            z = y
        return z, y

    @R.function
    def several(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        a = R.negative(x)
        b = y + R.const(1.0, "float32")
        return R.call_tir_inplace(
            cls.combine,
            (a, b),
            [-1, 0, 1],
            [R.Tensor((n,), "float32"), R.Tensor((n,), "float32"), R.Tensor((n,), "float32")],
            tir_vars=[n + 1],
        )

    @R.function
    def one_twice(x: R.Tensor(("n",), "float32")):
        y = x + R.const(1.0, "float32")
        return R.call_tir_inplace(cls.accumulate, (y, y), [0], R.Tensor((n,), "float32"))

    @R.function
    def rounds(x: R.Tensor(("n",), "float32")):
        y = x + R.const(1.0, "float32")
        for _i in range(3):
            y = R.call_tir_inplace(cls.twice, (y,), [0], R.Tensor((n,), "float32"))
        return y

    @R.function
    def indexed(x: R.Tensor(("n",), "float32"), k: R.Prim(value="k")):
        y = x + R.const(1.0, "float32")
        return R.call_tir_inplace(cls.first, (y,), [0], R.Tensor((n,), "float32"), tir_vars=[k])


@functools.cache
def functions(mode: str) -> Any:
    return rx.build(Module) if mode == "native" else rx.VirtualMachine(executable())


@functools.cache
def executable() -> rx.vm.Executable:
    return rx.vm.build(Module)


X = np.float32([3, -1, np.inf, 0.5, -0.0])
Y = np.float32([1, np.nan, 2, -7, 4])
ONE = np.float32(1)


def cases(size: int) -> dict[str, tuple[list[Any], Any]]:
    x, y = X[:size], Y[:size]
    one = x + ONE
    return {
        "temporary": ([x], one * 2 + x),
        "used_later": ([x], one * (one * 2)),
        "parameter": ([x], x * 2),
        "field": ([x], (one * 2, (one, x))),
        "parameter_field": ([(x, y)], x + y),
        "several": (
            [x, y],
            ((-x + (y + ONE)) * np.float32(size + 1), -x - (y + ONE), (y + ONE) * np.float32(3)),
        ),
        "one_twice": ([x], one + one),
        "rounds": ([x], one * 8),
    }


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert isinstance(found, tuple) and len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            same(f, e)
        return
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_values(mode: str, size: int) -> None:
    kept = X.copy(), Y.copy()
    for name, (arguments, expected) in cases(size).items():
        same(numpy(functions(mode)[name](*arguments)), expected)
    e = np.exp(X[:size])
    doubled, rows = numpy(functions(mode)["view"](X[:size]))
    np.testing.assert_allclose(doubled, 2 * e, rtol=1e-6)
    np.testing.assert_array_equal(doubled, 2 * rows[:, 0])
    for flag, factor in ((True, 2), (False, 1)):
        same(
            numpy(functions(mode)["one_of_both"](np.array(flag), X[:size])),
            (factor * (X[:size] + ONE), X[:size] + ONE),
        )
    same((X, Y), kept)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_constants_keep_their_elements(mode: str) -> None:
    for _ in range(2):
        same(numpy(functions(mode)["constant"](X[:3])), np.float32([1, 2, 3]) + X[:3])


@pytest.mark.parametrize("trusted", [True, False])
def test_files(tmp_path: Path, trusted: bool) -> None:
    executable().save(tmp_path / "inplace.vmexec")
    machine = rx.VirtualMachine(rx.vm.Executable.load(tmp_path / "inplace.vmexec", trusted=trusted))
    for name, (arguments, expected) in cases(5).items():
        same(numpy(machine[name](*arguments)), expected)
    for _ in range(2):  # a constant in the mapped file
        same(numpy(machine["constant"](X[:3])), np.float32([1, 2, 3]) + X[:3])


ALLOCATIONS = {  # storages, and copies to them
    "temporary": (1, 0),
    "used_later": (3, 1),
    "parameter": (1, 1),
    "constant": (1, 1),
    "field": (2, 1),
    "parameter_field": (1, 1),
    "view": (2, 1),
    "one_of_both": (2, 1),
    "several": (3, 0),
    "one_twice": (2, 1),
}


@pytest.mark.parametrize(("name", "wanted"), list(ALLOCATIONS.items()))
def test_storages(name: str, wanted: tuple[int, int]) -> None:
    text = executable().as_text()
    code = text.partition(f"@{name}:\n")[2].partition("\n\n")[0]
    assert (code.count("alloc_storage"), code.count("copy_into")) == wanted, code


def test_the_memory_is_the_same() -> None:
    machine = rx.VirtualMachine(executable())
    seen: list[tuple[str, list[int]]] = []

    def watch(function: Any, name: str, before: bool, result: Any, *args: Any) -> None:
        if before and name in ("add_f32", "twice", "accumulate", "combine"):
            seen.append((name, [arg.data_ptr() for arg in args if hasattr(arg, "data_ptr")]))

    machine.set_instrument(watch)
    x = np.ones(4, "float32")
    result = machine["temporary"](x)
    assert [name for name, _ in seen[-2:]] == ["twice", "accumulate"]
    assert {pointers[0] for _, pointers in seen[-2:]} == {result.ctypes.data}
    total, first, second = machine["several"](x, x)
    assert [t.ctypes.data for t in (first, second, total)] == seen[-1][1]
    result = machine["parameter"](x)
    assert seen[-1][1] == [result.ctypes.data] != [x.ctypes.data]


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_indices_are_checked(mode: str) -> None:
    indexed = functions(mode)["indexed"]
    x = np.arange(4, dtype="float32")
    same(numpy(indexed(x, 2)), np.float32([3, 2, 3, 4]))
    with pytest.raises(BoundsError, match=r"^first: 'A': index 4 is out of range for dimension 0 of size 4"):
        indexed(x, 4)


def test_after_passes() -> None:
    mod = Module.clone()
    for made in (transform.LegalizeOps(), transform.ToNonDataflow(), transform.CallTIRRewrite()):
        mod = made(mod)
    machine = rx.VirtualMachine(rx.vm.build(mod))
    for name, (arguments, expected) in cases(5).items():
        same(numpy(machine[name](*arguments)), expected)


def test_explicit_memory_that_would_write_a_parameter() -> None:
    mod = Module.clone()
    for made in (transform.LegalizeOps(), transform.ToNonDataflow(), transform.CallTIRRewrite()):
        mod = made(mod)
    function = mod["parameter"]
    copies = [op for op in function.entry_block.operations if op.operation.name == "relax.memory_copy"]
    (copy,) = copies
    source, target = copy.operation.operands
    target.replace_all_uses_with(source)
    with pytest.raises(UnsupportedError, match=r"'twice' writes 'A', which is no tensor of alloc_tensor"):
        rx.vm.build(mod)
