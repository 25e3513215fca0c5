"""Random ops that move elements, and structure: constants, calls, conditionals, packed functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from difference import Frame, Node, flatten, sizes_of
from reference import OPS, Array, is_float, numpy_dtype
from relax_mlir import op as R
from relax_mlir.analysis import is_pure

if TYPE_CHECKING:
    from generator import Generator


def reshape(g: Generator) -> Node | None:
    """Two neighbouring dimensions joined, one split, or all in one."""
    x = g.pick()
    if x is None:
        return None
    dims = list(x.dims)
    choice = g.random.randrange(4)
    if choice == 0 or not dims:
        return g.emit(lambda: R.flatten(x.value), lambda _, a: a.reshape(-1), [x], "flatten")
    axis = g.random.randrange(len(dims))
    if choice == 1 and axis + 1 < len(dims):
        dims[axis : axis + 2] = [dims[axis] * dims[axis + 1]]
    elif choice == 2 and isinstance(dims[axis], int) and dims[axis] % 2 == 0:
        dims[axis : axis + 1] = [2, dims[axis] // 2]
    else:
        dims = dims[::-1]
    return g.emit(lambda: R.reshape(x.value, dims), lambda f, a: a.reshape(sizes_of(f, dims)), [x], f"reshape {dims}")


def permute(g: Generator) -> Node | None:
    """The dimensions reordered."""
    x = g.pick(lambda node: len(node.dims) > 1)
    if x is None:
        return None
    axes = g.random.sample(range(len(x.dims)), len(x.dims))
    return g.emit(lambda: R.permute_dims(x.value, axes), lambda _, a: np.transpose(a, axes), [x], f"permute {axes}")


def expand(g: Generator) -> Node | None:
    """A dimension of size 1 more."""
    x = g.pick(lambda node: len(node.dims) < 4)
    if x is None:
        return None
    axis = g.random.randint(0, len(x.dims))
    return g.emit(lambda: R.expand_dims(x.value, axis), lambda _, a: np.expand_dims(a, axis), [x], "expand_dims")


def squeeze(g: Generator) -> Node | None:
    """Dimensions of size 1 less."""
    x = g.pick(lambda node: 1 in node.dims)
    if x is None:
        return None
    axes = tuple(i for i, d in enumerate(x.dims) if d == 1)
    return g.emit(lambda: R.squeeze(x.value), lambda _, a: np.squeeze(a, axes), [x], "squeeze")


def broadcast(g: Generator) -> Node | None:
    """Repeated along dimensions of size 1 and new ones."""
    x = g.pick(lambda node: len(node.dims) < 4)
    if x is None:
        return None
    names = [name for name in ("n", "m") if name in g.program.symbols]
    dims = [g.random.choice((2, 3, *names)) if d == 1 else d for d in x.dims]
    dims = [g.random.choice((1, 2, *names)), *dims][g.random.randrange(2) :]
    return g.emit(
        lambda: R.broadcast_to(x.value, dims),
        lambda f, a: np.broadcast_to(a, sizes_of(f, dims)),
        [x],
        f"broadcast_to {dims}",
    )


def concat(g: Generator) -> Node | None:
    """Some tensors joined."""
    x = g.pick(lambda node: len(node.dims) > 0)
    if x is None:
        return None
    fitting = [y for y in g.pool if y.dtype == x.dtype and len(y.dims) == len(x.dims)]
    parts = [x, *(g.random.choice(fitting) for _ in range(g.random.randint(0, 2)))]
    g.random.shuffle(parts)
    axis = g.random.randrange(len(x.dims))
    return g.emit(
        lambda: R.concat([p.value for p in parts], axis),
        lambda _, *arrays: np.concatenate(arrays, axis),
        parts,
        f"concat {axis}",
    )


def split(g: Generator) -> Node | None:
    """Parts of a tensor."""
    x = g.pick(lambda node: len(node.dims) > 0)
    if x is None:
        return None
    axis = g.random.randrange(len(x.dims))
    sections: Any = g.random.choice((2, 2, 3, [1], [2, 3]))
    return g.emit(
        lambda: R.split(x.value, sections, axis),
        lambda _, a: OPS["split"](a, sections, axis),
        [x],
        "split",
    )


def strided_slice(g: Generator) -> Node | None:
    """A slice along one axis, backwards too."""
    x = g.pick(lambda node: len(node.dims) > 0)
    if x is None:
        return None
    axis = g.random.randrange(len(x.dims))
    bounds = (
        (0, 1000, 2),
        (1, 1000, 1),
        (0, -1, 1),
        (-1, -1000, -1),
        (-2, -1000, -2),
        (0, 3, 1),
        (-3, 1000, 1),
    )
    begin, end, stride = g.random.choice(bounds)
    return g.emit(
        lambda: R.strided_slice(x.value, [axis], [begin], [end], [stride]),
        lambda _, a: OPS["strided_slice"](a, [axis], [begin], [end], [stride]),
        [x],
        f"strided_slice {axis} {begin}:{end}:{stride}",
    )


def take(g: Generator) -> Node | None:
    """A gather by another tensor or a constant."""
    x = g.pick(lambda node: len(node.dims) > 0)
    if x is None:
        return None
    indices = g.pick(lambda node: node.dtype in ("int32", "int64", "int8", "uint8") and len(node.dims) < 3)
    indices = indices or g.constant((3,), g.random.choice(("int32", "int64")))
    if indices is None:
        return None
    axis, mode = g.random.randrange(len(x.dims)), g.random.choice(("clip", "wrap"))
    return g.emit(
        lambda: R.take(x.value, indices.value, axis, mode),
        lambda _, a, i: OPS["take"](a, i, axis, mode),
        [x, indices],
        f"take {axis} {mode}",
    )


def constant(g: Generator) -> Node | None:
    """A constant, small or large."""
    shape = g.random.choice(((), (3,), (1,), (0,), (2, 3), (16, 40), (4, 1), (1, 8)))
    return g.constant(shape, g.random.choice(("float32", "float32", "int32", "int64", "bool", "float64", "bfloat16")))


def filled(g: Generator) -> Node | None:
    """`full`, `zeros`, `ones` and `arange` of symbolic size."""
    names = [name for name in ("n", "m") if name in g.program.symbols]
    dims = [g.random.choice((*names, *names, 2, 3)) for _ in range(g.random.randint(0, 2))]
    dtype = g.random.choice(("float32", "int32", "int64", "float16"))
    choice = g.random.randrange(3)
    if choice == 0 and names:
        end = f"{names[0]} + 1"
        return g.emit(
            lambda: R.arange(0, end, 2, dtype),
            lambda f: np.arange(0, f.dim(end), 2).astype(dtype),
            [],
            "arange",
        )
    if choice == 1:
        x = g.pick(lambda node: node.dtype != "bool")
        return x and g.emit(lambda: R.full_like(x.value, 3), lambda _, a: np.full_like(a, 3), [x], "full_like")
    return g.emit(
        lambda: R.full(dims, 2, dtype),
        lambda f: np.full(sizes_of(f, dims), 2.0).astype(dtype),
        [],
        f"full {dims}",
    )


def match(g: Generator) -> Node | None:
    """New names for the dimensions of a tensor."""
    x = g.pick(lambda node: any(not isinstance(d, int) for d in node.dims))
    return x and g.match(x)


def call(g: Generator) -> Node | None:
    """A call of an earlier function, with arguments of the dtypes it wants."""
    if not g.programs:
        return None
    callee = g.random.choice(g.programs)
    if g.pure and not is_pure(g.bb.lookup(callee.name)):
        return None
    picked = [g.pick(lambda node, p=p: node.dtype == p.dtype and len(node.dims) == len(p.dims)) for p in callee.params]
    arguments = [node for node in picked if node is not None]
    if len(arguments) < len(picked):
        return None

    def compute(frame: Frame, *arrays: Array) -> Any:
        inner = Frame(callee, arrays, frame.noise)
        return _nested(inner, callee.results)

    return g.emit(
        lambda: g.bb.call(callee.name, *(a.value for a in arguments)),
        compute,
        arguments,
        f"call {callee.name}",
    )


def _nested(frame: Frame, results: Any) -> Any:
    return frame.value(results) if isinstance(results, Node) else tuple(_nested(frame, r) for r in results)


def conditional(g: Generator) -> Node | None:
    """`if_then_else` on a scalar, with branches that compute something of the same type."""
    source = g.pick(lambda node: node.dtype not in ("bool",))
    condition = (
        g.emit(
            lambda: R.greater(R.sum(source.value), R.const(np.zeros((), _np(source)))),
            lambda _, a: np.sum(a, dtype=a.dtype) > 0,
            [source],
            "condition",
        )
        if source
        else None
    )
    x = g.pick()
    if condition is None or x is None or None in x.dims:
        return None
    chosen: list[Node] = []

    def branch() -> Any:
        with g.branch():
            outside = len(g.pool)
            for _ in range(g.random.randint(0, 3)):
                g.step()
            fitting = [n for n in g.pool if n.dtype == x.dtype and n.dims == x.dims]
            late = [n for n in g.pool[outside:] if n in fitting]
            chosen.append(g.random.choice(late or fitting))
        return chosen[-1].value

    def compute(frame: Frame, flag: Array) -> Array:
        return frame.value(chosen[0] if bool(flag) else chosen[1])

    return g.emit(lambda: R.if_then_else(condition.value, branch, branch), compute, [condition], "if_then_else")


def _np(node: Node) -> Any:
    return numpy_dtype(node.dtype or "")


def packed(g: Generator) -> Node | None:
    """`call_dps_packed` of a function in Python: one result or two."""
    x = g.pick(lambda node: node.dtype in ("float32", "int64", "int32", "float64", "uint8"))
    if x is None:
        return None
    info = x.value.tensor_info
    if g.random.random() < 0.5:
        return g.emit(lambda: R.call_dps_packed("differential.negate", [x.value], info), lambda _, a: -a, [x], "negate")
    return g.emit(
        lambda: R.call_dps_packed("differential.both", [x.value, 2], [info, info]),
        lambda _, a: (a, a + np.asarray(2, a.dtype)),
        [x],
        "both",
    )


MOVES = (
    reshape,
    reshape,
    permute,
    permute,
    expand,
    squeeze,
    broadcast,
    concat,
    concat,
    split,
    strided_slice,
    strided_slice,
    take,
    constant,
    filled,
    match,
    call,
)
TOP_MOVES = (conditional, conditional, packed, packed)
__all__ = ["MOVES", "TOP_MOVES", "flatten", "is_float"]
