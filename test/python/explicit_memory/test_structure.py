"""The programs of `test/python/structure` in explicit memory and with a shape heap, against their native code."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import tvm_ffi
from interpreter import assert_same, forms
from relax_mlir import symbolic
from relax_mlir.dialects.types import Object, Prim, Shape, StructInfo, Tensor, Tuple, struct_info

STRUCTURE = str(Path(__file__).parent.parent / "structure")
FILES = ("test_inplace", "test_effects", "test_calls", "test_values", "test_assert_print")
SIZES = {"n": 5, "m": 3, "k": 4}


def _values(info: StructInfo, rng: np.random.Generator) -> Iterator[Any]:
    """Values that fit a parameter: one, or both of a condition."""
    if isinstance(info, Tensor):
        if info.shape is None or info.dtype is None:
            return
        shape = [_size(d) for d in info.shape]
        if info.dtype.name == "bool" and not shape:
            yield from (np.array(True), np.array(False))
        else:
            yield np.asarray(rng.integers(0, 3, shape)).astype(info.dtype.numpy)
    elif isinstance(info, Shape):
        if info.values is not None:
            yield tuple(_size(d) for d in info.values)
    elif isinstance(info, Prim):
        yield 3
    elif isinstance(info, Tuple):
        yield from itertools.product(*(list(_values(item, rng)) for item in info.fields))
    else:
        assert isinstance(info, Object)


def _size(dim: Any) -> int:
    if dim is None:
        return 5
    return dim if isinstance(dim, int) else symbolic.evaluate(dim, {s: SIZES.get(s, 6) for s in symbolic.symbols(dim)})


def _native(value: Any) -> Any:
    if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
        return tvm_ffi.Shape(value)
    return tuple(map(_native, value)) if isinstance(value, tuple) else value


def _run(function: Any, args: Any) -> Any:
    try:
        return function(*args)
    except Exception as error:
        return error


@pytest.mark.parametrize("file", sweep.quick(FILES, "test_effects", "test_calls"))
def test_programs(file: str) -> None:
    if STRUCTURE not in sys.path:
        sys.path.append(STRUCTURE)
    source: Any = importlib.import_module(file)
    mod: rx.IRModule = source.program.bb.get()
    native = rx.build(mod)
    compared = 0
    cases = [
        (name, args)
        for name in native
        for args in itertools.product(
            *(list(_values(struct_info(t), np.random.default_rng(1))) for t in mod[name].type.inputs)
        )
    ]
    expected = [_run(native[name], map(_native, args)) for name, args in cases]
    for step, form in forms(mod):
        for (name, args), wanted in zip(cases, expected, strict=True):
            found = _run(lambda *given, name=name, form=form: form.call(name, *given), _copied(args))
            where = f"{file}.{name} after {step}"
            if isinstance(wanted, Exception) or isinstance(found, Exception):
                both = isinstance(wanted, Exception) and isinstance(found, Exception)
                assert both, f"{where}: {found!r}, natively {wanted!r}"
                continue
            assert_same(where, found, wanted)
            compared += 1
    assert compared >= len(cases)


def _copied(args: Any) -> Any:
    return tuple(a.copy() if isinstance(a, np.ndarray) else _copied(a) if isinstance(a, tuple) else a for a in args)
