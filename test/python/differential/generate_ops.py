"""Random computing ops: elementwise ops, reductions, normalisations, matmul."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from difference import Node
from reference import COMPARISONS, FLOAT_BINARY, NUMBER_BINARY, NUMBER_UNARY, OPS, PREDICATES, is_float
from relax_mlir import op as R

if TYPE_CHECKING:
    from generator import Generator

TARGETS = ("float32", "float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool")


def builder(name: str) -> Any:
    """The builder of an op, also of ``nn.*``."""
    found: Any = R
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _is_number(node: Node) -> bool:
    return node.dtype != "bool"


def _is_float(node: Node) -> bool:
    return is_float(node.dtype or "")


def _is_integer(node: Node) -> bool:
    return node.dtype != "bool" and not is_float(node.dtype or "")


FLOAT_UNARY = (
    *("exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "erf", "sin", "cos", "atan", "asinh"),
    *("nn.gelu", "nn.gelu_tanh", "nn.silu"),
)
INTEGER_BINARY = ("floor_divide", "floor_mod", "bitwise_and", "bitwise_or", "bitwise_xor")
BOOL_BINARY = ("add", "multiply", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor")


def unary(g: Generator) -> Node | None:
    """One operand."""
    x = g.pick(_is_float if g.random.random() < 0.5 else _is_number)
    if x is None:
        return None
    names: Collection[str] = FLOAT_UNARY if _is_float(x) and g.random.random() < 0.6 else NUMBER_UNARY
    if x.dtype == "bool" or g.random.random() < 0.08:
        names = PREDICATES
    name = g.random.choice(sorted(names))
    return g.emit(lambda: builder(name)(x.value), lambda _, a: OPS[name](a), [x], name)


def predicate_to_number(g: Generator) -> Node | None:
    """`bitwise_not`."""
    x = g.pick(lambda node: not _is_float(node))
    return x and g.emit(lambda: R.bitwise_not(x.value), lambda _, a: np.invert(a), [x], "bitwise_not")


def partner(g: Generator, x: Node) -> Node | None:
    """Another operand for `x`: of its dtype, with a shape that may broadcast."""
    chance = g.random.random()
    if chance < 0.1:
        return x
    if chance < 0.2:
        return g.constant((), x.dtype or "")
    last = x.dims[-1] if x.dims else 1
    if chance < 0.35 and isinstance(last, int):
        return g.constant((last,), x.dtype or "")
    if chance < 0.4:
        return g.constant((g.random.choice((1, 2)), *(1 for _ in x.dims)), x.dtype or "")
    return g.pick(lambda node: node.dtype == x.dtype)


def binary(g: Generator) -> Node | None:
    """Two operands that broadcast."""
    x = g.pick()
    y = x and partner(g, x)
    if x is None or y is None:
        return None
    names: Collection[str] = NUMBER_BINARY
    if x.dtype == "bool":
        names = BOOL_BINARY
    elif _is_float(x):
        names = [*names, *(FLOAT_BINARY if g.random.random() < 0.4 else ())]
    elif g.random.random() < 0.5:
        names = INTEGER_BINARY
    if g.random.random() < 0.2:
        names = COMPARISONS
    name = g.random.choice(sorted(names))
    if g.random.random() < 0.5:
        x, y = y, x
    return g.emit(lambda: builder(name)(x.value, y.value), lambda _, a, b: OPS[name](a, b), [x, y], name)


def where(g: Generator) -> Node | None:
    """A choice by a condition."""
    condition, x = g.pick(lambda node: node.dtype == "bool"), g.pick()
    y = x and partner(g, x)
    if condition is None or x is None or y is None:
        return None
    return g.emit(
        lambda: R.where(condition.value, x.value, y.value),
        lambda _, c, a, b: np.where(c, a, b),
        [condition, x, y],
        "where",
    )


def clip(g: Generator) -> Node | None:
    """Limits on both sides, or one."""
    x = g.pick(_is_number)
    if x is None:
        return None
    low, high = g.random.choice(((0, 6), (1, None), (None, 2), (2, 3)))
    return g.emit(lambda: R.clip(x.value, low, high), lambda _, a: np.clip(a, low, high), [x], "clip")


def astype(g: Generator) -> Node | None:
    """A conversion."""
    x = g.pick()
    dtype = g.random.choice(TARGETS)
    return x and g.emit(lambda: R.astype(x.value, dtype), lambda _, a: OPS["astype"](a, dtype), [x], f"astype {dtype}")


def reduction(g: Generator) -> Node | None:
    """Over some axes."""
    x = g.pick(_is_number)
    if x is None:
        return None
    names = ("sum", "max", "min", "sum", "mean", "variance", "std") if _is_float(x) else ("sum", "max", "min", "prod")
    name, keepdims = g.random.choice(names), g.random.random() < 0.5
    rank = len(x.dims)
    if name in ("max", "min"):
        safe = [a for a in range(rank) if isinstance(x.dims[a], int) and x.dims[a] > 0]
        axes = safe if g.random.random() < 0.9 else list(range(rank))
    else:
        axes = list(range(rank))
    axes = sorted(g.random.sample(axes, g.random.randint(min(1, len(axes)), len(axes))))
    return g.emit(
        lambda: builder(name)(x.value, axis=axes, keepdims=keepdims),
        lambda _, a: OPS[name](a, axes, keepdims),
        [x],
        f"{name} {axes}",
    )


def position(g: Generator) -> Node | None:
    """`argmax` and `argmin`."""
    x = g.pick(lambda node: bool(node.dims) and isinstance(node.dims[-1], int) and node.dims[-1] > 0)
    if x is None:
        return None
    name, keepdims = g.random.choice(("argmax", "argmin")), g.random.random() < 0.5
    return g.emit(
        lambda: builder(name)(x.value, axis=-1, keepdims=keepdims),
        lambda _, a: OPS[name](a, -1, keepdims),
        [x],
        name,
    )


def rows(g: Generator) -> Node | None:
    """Softmax and norms."""
    x = g.pick(lambda node: _is_float(node) and len(node.dims) > 0)
    if x is None:
        return None
    name = g.random.choice(("softmax", "log_softmax", "layer_norm", "rms_norm"))
    if name in ("softmax", "log_softmax"):
        axis = g.random.choice((-1, -1, -1, 0))
        return g.emit(lambda: getattr(R.nn, name)(x.value, axis), lambda _, a: OPS[f"nn.{name}"](a, axis), [x], name)
    last = x.dims[-1]
    if not isinstance(last, int):
        return None
    gamma, beta = g.constant((last,), x.dtype or ""), g.constant((last,), x.dtype or "")
    if gamma is None or beta is None:
        return None
    if name == "rms_norm":
        return g.emit(
            lambda: R.nn.rms_norm(x.value, gamma.value, -1, 1e-3),
            lambda _, a, w: OPS["nn.rms_norm"](a, w, -1, 1e-3),
            [x, gamma],
            name,
        )
    return g.emit(
        lambda: R.nn.layer_norm(x.value, gamma.value, beta.value, -1, 1e-3),
        lambda _, a, w, b: OPS["nn.layer_norm"](a, w, b, -1, 1e-3),
        [x, gamma, beta],
        name,
    )


def matmul(g: Generator) -> Node | None:
    """A matmul: with a constant, with the transpose of a value, or with any matching value."""
    x = g.pick(lambda node: _is_number(node) and len(node.dims) > 0)
    if x is None:
        return None
    last, chance = x.dims[-1], g.random.random()
    y: Node | None
    if isinstance(last, int) and chance < 0.6:
        y = g.constant((last, g.random.choice((1, 3, 8, 20))), x.dtype or "")
    elif len(x.dims) >= 2 and chance < 0.85:
        axes = [*range(len(x.dims) - 2), len(x.dims) - 1, len(x.dims) - 2]
        y = g.emit(lambda: R.permute_dims(x.value, axes), lambda _, a: np.transpose(a, axes), [x], "transpose")
    else:
        y = g.pick(lambda node: node.dtype == x.dtype and len(node.dims) > 0)
    if y is None:
        return None
    return g.emit(lambda: R.matmul(x.value, y.value), lambda _, a, b: OPS["matmul"](a, b), [x, y], "matmul")


MOVES = (
    (unary,) * 6
    + (binary,) * 8
    + (where, where, clip, astype, astype, predicate_to_number)
    + ((reduction,) * 3 + (position, rows, rows, matmul, matmul))
)
