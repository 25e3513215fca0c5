"""The arguments of a call by ``relax-run``: arrays from files, and random ones that fit the function's parameters."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import (
    ArgumentError,
    OutOfMemoryError,
    ParseError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
)
from relax_mlir.files import load_arrays
from relax_mlir.tools.run_model import RunnableFunction

Array = np.ndarray[Any, Any]
_DEFAULT_DTYPE = "float32"
LARGEST = 1 << 63


def read_arrays(texts: Sequence[str], names: Sequence[str]) -> dict[str, Array]:
    """The arrays that ``--input`` names, by parameter.

    Raises ParseError: a file that cannot be read; UnknownNameError: no such parameter; ArgumentError: a repeated name,
    or an array (.npy) without a name if there are several parameters.
    """
    found: dict[str, Array] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals:
            name, path = "", text
        loaded = _load(path)
        if isinstance(loaded, np.ndarray):
            if not name and len(names) != 1:
                raise ArgumentError(
                    f"--input: say for which parameter {path} is, as {names[0] if names else 'x'}={path}"
                )
            loaded = {name or names[0]: loaded}
        elif name:
            raise ArgumentError(
                f"--input: {path} has arrays with names of their own: give it without {name!r}"
            )
        for key, array in loaded.items():
            if key not in names:
                raise UnknownNameError("parameter", key, names)
            if key in found:
                raise ArgumentError(f"--input: parameter {key!r} is given twice")
            found[key] = array
    return found


def read_archive(path: str) -> dict[str, Array]:
    """The arrays of an .npz file; raises ParseError."""
    loaded = _load(path)
    if isinstance(loaded, np.ndarray):
        raise ParseError(f"{path}: one array, expected a file of arrays with names (.npz)")
    return loaded


def _load(path: str) -> Array | dict[str, Array]:
    try:
        loaded = load_arrays(path)
        return loaded if isinstance(loaded, np.ndarray) else dict(loaded)
    except OSError as error:
        raise ParseError(f"cannot open {path!r}: {error.strerror or error}") from None
    except (ValueError, EOFError) as error:
        raise ParseError(f"{path}: neither an array (.npy) nor a file of arrays (.npz): {error}") from None


def read_values(option: str, texts: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The ranges in ``n=7,m=1:64``, by symbol; raises ParseError."""
    found: dict[str, tuple[int, int]] = {}
    for item in ",".join(texts).split(","):
        if not item:
            continue
        name, _, value = item.partition("=")
        first, _, last = value.partition(":")
        if not name.isidentifier() or not first.isdecimal() or not (last or first).isdecimal():
            raise ParseError(f"{option}: {item!r}, expected n=7 or n=1:64")
        low, high = int(first), int(last or first)
        if low > high:
            raise ParseError(f"{option}: {item!r}: the first value is larger than the last")
        found[name] = low, high
    return found


def symbols_of(function: RunnableFunction) -> list[str]:
    """The symbols in the types of the parameters, in order of their first use."""
    found: dict[str, None] = {}
    for leaf in _leaves(function):
        for dim in leaf.dims:
            found.update(dict.fromkeys(symbolic.symbols(symbolic.parse(dim))))
    return list(found)


@dataclass(frozen=True)
class _Leaf:
    """A parameter, or a field of a tuple parameter: its kind, its dimensions as text, its dtype."""

    name: str
    kind: str
    dims: tuple[str, ...]
    dtype: str
    fields: tuple[_Leaf, ...] = ()


def _leaves(function: RunnableFunction) -> list[_Leaf]:
    if function.params is None:
        raise UnsupportedError(
            f"{function.name}: bytecode does not say what its parameters are: give each array with --input"
        )
    return [_leaf(facts) for facts in function.params]


def _leaf(facts: Mapping[str, Any]) -> _Leaf:
    """Parse the text of a type: ``Tensor((n, 2 * m), "float32")``, ``Shape((n,))``."""
    name, kind = str(facts.get("name", "_")), str(facts["kind"])
    fields = tuple(_leaf(each) for each in facts.get("fields", ()))
    dims: tuple[str, ...] = ()
    dtype = _DEFAULT_DTYPE
    if kind in ("tensor", "shape"):
        call = _expression(str(facts.get("type", "None")))
        if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Tuple):
            raise UnsupportedError(f"parameter {name!r} is {facts.get('type')}: give its value with --input")
        dims = tuple(ast.unparse(dim) for dim in call.args[0].elts)
        if kind == "tensor" and len(call.args) > 1:
            dtype = str(ast.literal_eval(call.args[1]))
    return _Leaf(name, kind, dims, dtype, fields)


def _expression(text: str) -> ast.expr | None:
    """The parsed text of a type; None if it is not fully known, as ``Tensor(?, "float32")``."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def arguments(
    function: RunnableFunction, given: Mapping[str, Array], values: Mapping[str, int] | None, seed: int
) -> list[object]:
    """The arguments of a call: the given arrays, and random ones for these values of symbols.

    Raises:
        ArgumentError: an argument is missing and `values` is None, or a symbol has no value.
        ShapeError: a value is outside of the symbol's bounds.
        UnsupportedError: a parameter of a kind that cannot be generated.
    """
    missing = [name for name in function.names if name not in given]
    if missing and values is None:
        raise ArgumentError(
            f"{function.name}: no value for {', '.join(missing)}: give --input {missing[0]}=FILE.npy, or --random"
        )
    if not missing:
        return [given[name] for name in function.names]
    rng = np.random.default_rng(seed)
    leaves = _leaves(function)
    sizes = {**_sizes_given(leaves, given), **(values or {})}
    _check_bounds(function, sizes)
    return [given[leaf.name] if leaf.name in given else _random(leaf, sizes, rng) for leaf in leaves]


def _sizes_given(leaves: Sequence[_Leaf], given: Mapping[str, Array]) -> dict[str, int]:
    """The symbols determined by the given arrays: those that are a dimension by themselves."""
    found: dict[str, int] = {}
    for leaf in leaves:
        if leaf.kind == "tensor" and leaf.name in given:
            for dim, size in zip(leaf.dims, given[leaf.name].shape, strict=False):
                if dim.isidentifier():
                    found.setdefault(dim, size)
    return found


def _check_bounds(function: RunnableFunction, sizes: Mapping[str, int]) -> None:
    for name, (low, high) in function.bounds.items():
        value = sizes.get(name)
        if value is not None and (value < (low or 0) or (high is not None and value > high)):
            last = "" if high is None else f" to {high}"
            raise ShapeError(f"{function.name}: {name} = {value} is outside of its bounds, from {low}{last}")


def _random(leaf: _Leaf, sizes: Mapping[str, int], rng: np.random.Generator) -> object:
    if leaf.fields:
        return tuple(_random(each, sizes, rng) for each in leaf.fields)
    if leaf.kind == "int":
        return _size(leaf.name, leaf, sizes)
    shape = tuple(_size(dim, leaf, sizes) for dim in leaf.dims)
    if leaf.kind == "shape":
        return tvm_ffi.Shape(shape)
    if leaf.kind != "tensor":
        raise UnsupportedError(f"parameter {leaf.name!r} is of kind {leaf.kind}: no value can be made for it")
    dtype = dtypes.dtype(leaf.dtype).numpy
    if any(size < 0 for size in shape):
        raise ShapeError(f"parameter {leaf.name!r}: the shape {shape} has a negative dimension")
    elements = math.prod(shape)
    try:
        if leaf.dtype == "bool" or leaf.dtype.startswith(("int", "uint")):
            return rng.integers(0, 2, shape).astype(dtype)
        return rng.standard_normal(shape, np.float32).astype(dtype)
    except (MemoryError, ValueError) as error:  # NumPy: "array is too big", "maximum supported dimension"
        raise OutOfMemoryError(
            f"parameter {leaf.name!r}: no memory for {elements} elements of {leaf.dtype}, the shape {shape}: {error}"
        ) from None


def _size(dim: str, leaf: _Leaf, sizes: Mapping[str, int]) -> int:
    formula = symbolic.parse(dim)
    unknown = [name for name in symbolic.symbols(formula) if name not in sizes]
    if unknown:
        raise ArgumentError(
            f"parameter {leaf.name!r}: symbol {unknown[0]!r} has no value: give --random {unknown[0]}=7"
        )
    value = symbolic.evaluate(formula, sizes)
    if not -LARGEST <= value < LARGEST:
        raise ShapeError(f"parameter {leaf.name!r}: {dim} is {value}, which is no number of 64 bits")
    return value
