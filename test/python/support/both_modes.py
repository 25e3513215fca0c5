"""The whole test suite in both modes: with ``pytest --both-modes`` each call of a built module also runs as bytecode.

`rx.build` returns native code, but each call first runs in a virtual machine on copies of the arguments; both must
return the same bits, or raise. A module built with options of native mode only is unchanged.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from interpreter import arrays
from relax_mlir.dialects.attributes import DONATED
from relax_mlir.error import RelaxError
from relax_mlir.ir_module import functions_of
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir
from relax_mlir.runtime import build as native_builds

compared = 0
"""Number of calls compared so far."""


class BothFunction:
    """A function of a module, in both modes."""

    def __init__(self, native: Any, bytecode: Any) -> None:
        self._native, self._bytecode = native, bytecode

    def __call__(self, *args: Any) -> Any:
        global compared
        if len(args) != self._native.inputs or any(map(_is_stateful, args)):
            return self._native(*args)
        copies = [_copy(arg) for arg in args]
        found = _outcome(self._bytecode, copies)
        wanted = _outcome(self._native, args)
        compared += 1
        _compare(self._native.name, found, wanted)
        if isinstance(wanted, Exception):
            raise wanted
        return wanted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)


class BothExecutable(Mapping[str, Any]):
    """A module in both modes."""

    def __init__(self, native: Any, bytecode: Any) -> None:
        self._native, self._bytecode = native, bytecode

    def __getitem__(self, name: str) -> BothFunction:
        return BothFunction(self._native[name], self._bytecode[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._native)

    def __len__(self) -> int:
        return len(self._native)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)


def _is_stateful(value: Any) -> bool:
    """True if a value cannot be passed to two calls: a callable, or an object that a call may change."""
    return not isinstance(value, np.ndarray | tvm_ffi.Tensor | tvm_ffi.Shape | int | float | tuple | list | np.generic)


def _copy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    return type(value)(map(_copy, value)) if type(value) in (tuple, list) else value


def _outcome(function: Any, args: Any) -> Any:
    try:
        return function(*args)
    except Exception as error:
        return error


def _compare(name: str, found: Any, wanted: Any) -> None:
    if isinstance(found, Exception) or isinstance(wanted, Exception):
        both = isinstance(found, Exception) and isinstance(wanted, Exception)
        assert both, f"{name}: as bytecode {found!r}, natively {wanted!r}"
        return
    if found is None or wanted is None:
        assert found is wanted, f"{name}: as bytecode {found!r}, natively {wanted!r}"
        return
    try:
        have, want = arrays(found), arrays(wanted)
    except Exception:  # objects: nothing to compare
        return
    assert len(have) == len(want), f"{name}: as bytecode {len(have)} results, natively {len(want)}"
    for index, (a, b) in enumerate(zip(have, want, strict=True)):
        same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        assert same, f"{name}: result {index}: as bytecode\n{a!r}\nnatively\n{b!r}"


def _acts(mod: rx.IRModule) -> bool:
    """True if calls may have side effects, so that two calls differ from one."""
    acting = "relax.print", "relax.call_packed", "relax.call_dps_packed", "relax.call_pure_packed"
    return any(
        op.name == "relax.print" or not ir.StringAttr(op.attributes["func"]).value.startswith("relax.")
        for op in ops_of(mod.mlir.operation, *acting)
    )


def _donates(mod: rx.IRModule) -> bool:
    """True if a function donates memory of parameters to results, which bytecode refuses."""
    return any(DONATED in function.attributes for function in functions_of(mod.mlir))


def install() -> None:
    """Replace `rx.build` by a function that builds both."""
    build = native_builds.build

    @functools.wraps(build)
    def both(mod: rx.IRModule, target: Any = "cpu", **options: Any) -> Any:
        native = build(mod, target, **options)
        if set(options) - {"cache"} or _acts(mod) or _donates(mod):
            return native
        try:
            bytecode = build(mod, target, exec_mode="bytecode", **options)
        except RelaxError as error:
            raise AssertionError(f"the module builds natively, but not as bytecode: {error}") from error
        return BothExecutable(native, bytecode)

    rx.build = both
