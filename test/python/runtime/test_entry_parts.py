"""Separately compiled entry points: functions of equal signature share their code, others do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import kept_parts
import numpy as np
import pytest
import relax_mlir as rx
import relax_mlir.runtime.process_codegen  # it takes the original compile_part
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.error import RelaxError
from relax_mlir.lowering.base.module_parts import Part
from relax_mlir.runtime import compile_native, compile_units, elf
from relax_mlir.runtime.compile_units import PartCompiler
from relax_mlir.runtime.elf import with_symbol_names
from relax_mlir.symbolic import symbol

pytestmark = pytest.mark.skipif(not elf.SUPPORTED, reason="objects for this machine cannot be loaded")

Array = np.ndarray[Any, Any]


def matrix(name: str, rows: str = "n", dtype: str = "float32") -> rx.Var:
    return rx.Var(name, rx.Tensor((rows, 2), dtype))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Part], list[str]]:
    """The entry points that builds submit, and the symbols of those that LLVM compiles."""
    parts: list[Part] = []
    compiled: list[str] = []
    add, compile_part = PartCompiler.add, compile_units.compile_part

    def record(self: PartCompiler, given: Iterable[Part]) -> None:
        more = list(given)
        parts.extend(part for part in more if part.exported[0] in dict(part.renamed))
        add(self, more)

    def noted(part: Part, *rest: Any) -> bytes:
        if part.exported[0] in dict(part.renamed):
            compiled.append(dict(part.renamed)[part.exported[0]])
        return compile_part(part, *rest)

    monkeypatch.setattr(PartCompiler, "add", record)
    monkeypatch.setattr(compile_units, "compile_part", noted)
    kept_parts.forget(monkeypatch)
    return parts, compiled


def test_functions_of_a_kind_share_code(made: tuple[list[Part], list[str]]) -> None:
    """Names, symbols, static sizes and element types do not matter; ranks and numbers of tensors do."""
    parts, compiled = made
    builder = rx.BlockBuilder()
    for name, (x, y) in {
        "plus": (matrix("x"), matrix("y")),
        "minus": (matrix("left", "m"), matrix("right", "m")),
        "double": (matrix("x", dtype="float64"), matrix("y", dtype="float64")),
        "row": (rx.Var("x", rx.Tensor(("n",), "int8")), rx.Var("y", rx.Tensor(("n",), "int8"))),
        "static": (rx.Var("a", rx.Tensor((3, 4), "float32")), rx.Var("b", rx.Tensor((3, 4), "float32"))),
    }.items():
        with builder.function(name, [x, y]):
            builder.emit_func_output(R.subtract(x, y) if name == "minus" else R.add(x, y))
    executable = rx.build(builder.get(), cache=False)
    assert [dict(part.renamed)["__tvm_ffi_relax.entry"] for part in parts] == [
        f"__tvm_ffi_{name}" for name in ("plus", "minus", "double", "row", "static")
    ]
    assert sorted(compiled) == ["__tvm_ffi_plus", "__tvm_ffi_row"]
    assert dict(executable.functions) == dict.fromkeys(("plus", "minus", "double", "row", "static"), 2)
    x, y = np.ones((3, 2), "f4"), np.full((3, 2), 3, "f4")
    np.testing.assert_array_equal(executable["plus"](x, y), x + y)
    np.testing.assert_array_equal(executable["minus"](x, y), x - y)
    np.testing.assert_array_equal(executable["double"](x.astype("f8"), y.astype("f8")), x + y)
    np.testing.assert_array_equal(executable["row"](x[0].astype("i1"), x[1].astype("i1")), [2, 2])
    np.testing.assert_array_equal(executable["static"](np.ones((3, 4), "f4"), np.ones((3, 4), "f4")), 2)
    with pytest.raises(RelaxError, match=r"^plus: parameter 'y' dimension 0 is 2, but n = 3"):
        executable["plus"](x, y[:2])
    with pytest.raises(RelaxError, match=r"^minus: parameter 'right' dimension 0 is 2, but m = 3"):
        executable["minus"](x, y[:2])
    with pytest.raises(RelaxError, match=r"^minus: parameter 'left' has rank 1, expected rank 2 \(left: Tensor"):
        executable["minus"](x[0], y)
    with pytest.raises(RelaxError, match=r"^double: parameter 'x' has dtype float32, expected float64 \(x: Tensor"):
        executable["double"](x, y)
    with pytest.raises(RelaxError, match=r"^static: takes 2 arguments \(a, b\), or 3 .* got 1"):
        executable["static"](x)
    compiled.clear()
    rx.build(builder.get(), cache=False)
    assert not compiled


def test_names_like_those_of_the_lowering(made: tuple[list[Part], list[str]]) -> None:
    """Users' functions never replace the callees or the strings of an entry point."""
    parts, _ = made
    builder = rx.BlockBuilder()
    names = ("f", "f.flat", "flat.f", "entry", "entry.callee", "entry.table")
    for scale, name in enumerate(names):
        with builder.function(name, [x := matrix("x")]):
            builder.emit_func_output(R.multiply(x, builder.const(np.float32(scale))))
    executable = rx.build(builder.get(), cache=False)
    assert len(parts) == len(names)
    for scale, name in enumerate(names):
        np.testing.assert_array_equal(executable[name](np.ones((2, 2), "f4")), scale)


def _pair() -> rx.IRModule:
    builder = rx.BlockBuilder()
    x, y = matrix("x"), matrix("y")
    with builder.function("main", [x, y]):
        builder.emit_func_output((builder.emit(R.add(x, y)), builder.emit(R.subtract(x, y))))
    return builder.get()


def _numbers() -> rx.IRModule:
    builder = rx.BlockBuilder()
    x, k = matrix("x"), rx.Var("k", rx.Prim("int64"))
    shape = rx.Var("s", rx.Shape(("n", "m")))
    with builder.function("main", [x, k, shape]):
        wide = builder.emit(R.broadcast_to(R.sum(x), (symbol("m"), symbol("n"))))
        builder.emit_func_output(wide)
    return builder.get()


def _tuples() -> rx.IRModule:
    builder = rx.BlockBuilder()
    p = rx.Var("p", rx.Tuple((rx.Tensor(("n",), "float32"), rx.Tensor(("n",), "bool"))))
    with builder.function("main", [p]):
        first = builder.emit(R.where(p[1], p[0], R.negative(p[0])))
        builder.emit_func_output([[first], builder.emit(R.matmul(first, first))])
    return builder.get()


def _product() -> rx.IRModule:
    builder = rx.BlockBuilder()
    x, y = matrix("x"), rx.Var("y", rx.Tensor((2, "m"), "float32"))
    with builder.function("main", [x, y]):
        builder.emit_func_output(R.matmul(x, y))
    return builder.get()


X = np.arange(6, dtype="f4").reshape(3, 2)
FLAGS = np.array([True, False, True])
CALLS: dict[Callable[[], rx.IRModule], list[tuple[Any, ...]]] = {
    _pair: [(X, X), (X[::-1], X), (X[:0], X[:0]), (X, X[:2]), (X,), (X, 3), (X[0], X), (X.astype("f8"), X)],
    _numbers: [
        (X, 4, (3, 5)),
        (X, 4, [3, 5]),
        (X, -1, (3, 5)),
        (X, 4, (3, -5)),
        (X, 4, (2, 5)),
        (X, 4, (3,)),
        (X, 4, (3, "x")),
        (X, 4.5, (3, 5)),
        (X, X, (3, 5)),
        (X, 4, 5),
        (X, 1 << 62, (3, 1 << 62)),
        (X, 1 << 40, (3, 1 << 40)),
    ],
    _tuples: [
        ((X[:, 0], FLAGS),),
        ((X[0], FLAGS),),
        ((X[:, 0],),),
        (X,),
        ((X[:, 0], X[:, 1]),),
        ((X[:, 0], FLAGS), FLAGS),
        ((X, FLAGS),),
    ],
    _product: [(X, X.T), (X, X.T.copy()), (X, X), (X[:0], X[:2]), (X, X[:2, :0]), (X, None), (X, X[:2], X)],
}
"""Modules, and arguments for `main` of each; some of them are invalid."""


def _leaves(value: Any) -> list[Array]:
    if isinstance(value, (tuple, list, tvm_ffi.Array)):
        return [leaf for each in value for leaf in _leaves(each)]
    return [] if value is None else [np.from_dlpack(value)]


def _called(executable: rx.Executable, arguments: tuple[Any, ...]) -> Any:
    try:
        return _leaves(executable["main"](*arguments))
    except (RelaxError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("module", CALLS, ids=lambda make: make.__name__.strip("_"))
def test_the_same_as_in_the_module(
    module: Callable[[], rx.IRModule], made: tuple[list[Part], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results and messages are those of the same entry point lowered with its function."""
    parts, _ = made
    with monkeypatch.context() as patch:
        patch.setattr(compile_native, "SUPPORTED", False)  # LLVM links a module as one
        whole = rx.build(module(), cache=False)
    assert not parts
    apart = rx.build(module(), cache=False)
    assert len(parts) == 1
    assert apart._engine.interface.functions == whole._engine.interface.functions
    assert apart._engine.latency_critical == whole._engine.latency_critical
    texts = 0
    for arguments in CALLS[module]:
        one, other = _called(apart, arguments), _called(whole, arguments)
        if isinstance(other, str):
            assert one == other
            texts += 1
            continue
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)
    assert 0 < texts < len(CALLS[module])


def test_what_is_handed_over_as_it_comes_stays_in_its_module(made: tuple[list[Part], list[str]]) -> None:
    """Objects, and results whose size the function computes, depend on more than the signature."""
    parts, _ = made
    builder = rx.BlockBuilder()
    for name, parameter, make in (
        ("any", rx.Var("x", rx.Object()), lambda x: x),
        ("found", rx.Var("x", rx.Tensor(("n",), "float32")), R.unique),
    ):
        with builder.function(name, [parameter]):
            builder.emit_func_output(builder.emit(make(parameter)))
    executable = rx.build(builder.get(), cache=False)
    assert not parts
    assert executable["any"](3) == 3
    np.testing.assert_array_equal(_leaves(executable["found"](np.array([2, 1, 2], "f4")))[0], [1, 2])


def test_names_of_symbols() -> None:
    """Only the requested symbols are renamed, whatever their length."""
    objects = rx.build(_product(), cache=False)._engine.objects
    (code,) = [each for each in objects if b"__tvm_ffi_main" in each]
    longer = "__tvm_ffi_" + "long" * 100
    renamed = with_symbol_names(code, {"__tvm_ffi_main": longer, "nobody": "is called so"})
    back = with_symbol_names(renamed, {longer: "__tvm_ffi_main"})
    assert elf.LoadedObject(back).address("__tvm_ffi_main") is not None
    assert elf.LoadedObject(back).address(longer) is None
    assert elf.LoadedObject(code).address("__tvm_ffi_main") is not None
    loaded = elf.LoadedObject(renamed)
    assert loaded.address(longer) is not None
    assert loaded.address("__tvm_ffi_main") is None
    with pytest.raises(ValueError, match=re.escape("an object file without the symbol nobody")):
        with_symbol_names(code, {"nobody": "is called so"})
