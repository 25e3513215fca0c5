"""Random ops with dedicated kernels, and chains that are fused: scans, norms, attention, epilogues, rotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from difference import Node
from generate_ops import builder
from reference import OPS, is_float
from relax_mlir import op as R

if TYPE_CHECKING:
    from generator import Generator

EPSILON = 1e-3
ACCUMULATED = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "int8")


def _floats(node: Node, rank: int = 1) -> bool:
    return is_float(node.dtype or "") and len(node.dims) >= rank


def scan(g: Generator) -> Node | None:
    """`cumsum` and `cumprod`: along an axis or over all elements, in other dtypes, exclusive."""
    x = g.pick(lambda node: len(node.dims) > 0)
    if x is None:
        return None
    name, exclusive = g.random.choice(("cumsum", "cumsum", "cumprod")), g.random.random() < 0.3
    axis = None if g.random.random() < 0.15 else g.random.randrange(len(x.dims))
    dtype = x.dtype or ""
    if dtype == "bool" or g.random.random() < 0.2:
        dtype = g.random.choice(ACCUMULATED)
    if name == "cumprod" and is_float(x.dtype or "") and not is_float(dtype):
        # A rounding error may make a factor even or odd, and all later products zero, in few noisy evaluations.
        dtype = x.dtype or ""
    given = None if dtype == x.dtype else dtype
    return g.emit(
        lambda: builder(name)(x.value, axis, given, exclusive),
        lambda _, a: OPS[name](a, axis, dtype, exclusive),
        [x],
        f"{name} {axis} {dtype} {exclusive}",
    )


def norm_by_channels(g: Generator) -> Node | None:
    """`nn.group_norm` and `nn.instance_norm`."""
    x = g.pick(lambda node: _floats(node, 2) and any(isinstance(d, int) and d > 0 for d in node.dims))
    if x is None:
        return None
    rank = len(x.dims)
    channel = g.random.choice([i for i, d in enumerate(x.dims) if isinstance(d, int) and d > 0])
    others = [i for i in range(rank) if i != channel]
    axes = tuple(sorted(g.random.sample(others, g.random.randint(1, len(others)))))
    channels = int(x.dims[channel])
    gamma, beta = (g.constant((channels,), x.dtype or "") for _ in range(2))
    if gamma is None or beta is None:
        return None
    if g.random.random() < 0.3:
        return g.emit(
            lambda: R.nn.instance_norm(x.value, gamma.value, beta.value, channel, axes, EPSILON),
            lambda _, a, w, b: OPS["nn.instance_norm"](a, w, b, channel, axes, EPSILON),
            [x, gamma, beta],
            f"instance_norm {channel} {axes}",
        )
    groups = g.random.choice([k for k in range(1, channels + 1) if channels % k == 0])
    return g.emit(
        lambda: R.nn.group_norm(x.value, gamma.value, beta.value, groups, channel, axes, EPSILON),
        lambda _, a, w, b: OPS["nn.group_norm"](a, w, b, groups, channel, axes, EPSILON),
        [x, gamma, beta],
        f"group_norm {groups} {channel} {axes}",
    )


def norm(g: Generator) -> Node | None:
    """`nn.layer_norm` and `nn.rms_norm` over several dimensions, with weights that are values."""
    x = g.pick(lambda node: _floats(node))
    if x is None:
        return None
    count = g.random.randint(1, min(2, len(x.dims)))
    last = tuple(x.dims[len(x.dims) - count :])
    axes = list(range(-count, 0))
    made = [
        g.pick(lambda node: node.dtype == x.dtype and node.dims == last)
        or (g.constant(last, x.dtype or "") if all(isinstance(d, int) for d in last) else None)
        for _ in range(g.random.randint(1, 2))
    ]
    weights = [w for w in made if w is not None]
    if len(weights) < len(made):
        return None
    name = "layer_norm" if len(weights) == 2 else "rms_norm"
    return g.emit(
        lambda: builder(f"nn.{name}")(x.value, *(w.value for w in weights), axes, EPSILON),
        lambda _, a, *given: OPS[f"nn.{name}"](a, *given, axes, EPSILON),
        [x, *weights],
        f"{name} {axes}",
    )


def _heads(g: Generator, x: Node, heads: int, size: int) -> Node | None:
    """`x` as ``(batch, sequence, heads, size)``: its last dimension split into heads, with leading dimensions of 1."""
    dims = [*(1 for _ in range(3 - len(x.dims))), *x.dims[:-1], heads, size]
    return g.emit(
        lambda: R.reshape(x.value, dims),
        lambda f, a: a.reshape([f.dim(d) for d in dims]),
        [x],
        f"heads {dims}",
    )


def attention(g: Generator) -> Node | None:
    """`nn.attention`: with and without bias, masks, and heads shared by several queries."""
    x = g.pick(lambda node: _floats(node, 2) and len(node.dims) < 4 and node.dims[-1] in (2, 4, 8, 16))
    if x is None:
        return None
    width = int(x.dims[-1])
    heads = g.random.choice([h for h in (1, 2, 4) if h <= width])
    size = width // heads
    batch = x.dims[:-2]
    other = g.pick(lambda n: n.dtype == x.dtype and n.dims[:-2] == batch and n.dims[-1:] == (width,)) or x
    if len(other.dims) != len(x.dims):
        other = x
    query, key, value = (
        _heads(g, x, heads, size),
        _heads(g, other, heads, size),
        _heads(g, other, heads, size),
    )
    if query is None or key is None or value is None:
        return None
    if heads > 1 and g.random.random() < 0.3:
        shared = [_first_head(g, node, heads // 2) for node in (key, value)]
        if shared[0] is None or shared[1] is None:
            return None
        key, value = shared
    mask = g.random.choice((None, None, "TopLeft", "BottomRight"))
    scale = g.random.choice((None, 0.5))
    bias = _bias(g, query, key) if g.random.random() < 0.4 else None

    def compute(frame: Any, q: Any, k: Any, v: Any, *more: Any) -> Any:
        noisy = frame.noise is not None
        return OPS["nn.attention"](q, k, v, more[0] if more else None, scale, mask, noisy)

    return g.emit(
        lambda: R.nn.attention(query.value, key.value, value.value, bias and bias.value, scale, mask),
        compute,
        [query, key, value, *([bias] if bias else [])],
        f"attention {mask} {scale}",
    )


def _first_head(g: Generator, x: Node | None, heads: int) -> Node | None:
    return x and g.emit(lambda: R.strided_slice(x.value, [2], [0], [heads]), lambda _, a: a[:, :, :heads], [x], "heads")


def _bias(g: Generator, query: Node, key: Node) -> Node | None:
    """Something that broadcasts to the scores."""
    target = (query.dims[0], query.dims[2], query.dims[1], key.dims[1])

    def fits(node: Node) -> bool:
        pairs = zip(reversed(node.dims), reversed(target), strict=False)
        return node.dtype == query.dtype and len(node.dims) <= 4 and all(a in (1, b) for a, b in pairs)

    return g.pick(fits)


def epilogue(g: Generator) -> Node | None:
    """A GEMM with a constant, followed by a chain that may change the dtype."""
    x = g.pick(lambda node: _floats(node, 2) and isinstance(node.dims[-1], int))
    if x is None:
        return None
    width = g.random.choice((1, 3, 16, 24, 70))
    weights, bias = g.constant((int(x.dims[-1]), width), x.dtype or ""), g.constant((width,), x.dtype or "")
    if weights is None or bias is None:
        return None
    product = g.emit(
        lambda: R.matmul(x.value, weights.value),
        lambda _, a, b: OPS["matmul"](a, b),
        [x, weights],
        "product",
    )
    total = product and _sum(g, product, bias, "bias")
    return _finished(g, total)


def _active(g: Generator, x: Node | None) -> Node | None:
    """`x` followed by an activation."""
    name = g.random.choice(("nn.relu", "nn.gelu", "nn.silu", "tanh", "square"))
    return x and g.emit(lambda: builder(name)(x.value), lambda _, a: OPS[name](a), [x], name)


def _sum(g: Generator, x: Node, y: Node, text: str) -> Node | None:
    """The sum of two values, called `text`."""
    return g.emit(
        lambda: R.add(x.value, y.value),
        lambda _, a, b: OPS["add"](a, b),
        [x, y],
        text,
    )


def _finished(g: Generator, x: Node | None) -> Node | None:
    """`x` followed by an activation and a conversion."""
    active = _active(g, x)
    dtype = g.random.choice(("float32", "float16", "bfloat16", "float64", "int8"))
    if active is None or g.random.random() < 0.4:
        return active
    return g.emit(
        lambda: R.astype(active.value, dtype),
        lambda _, a: OPS["astype"](a, dtype),
        [active],
        f"astype {dtype}",
    )


def prologue(g: Generator) -> Node | None:
    """A prologue of a reduction, softmax or norm: an affine function, then the op."""
    from generate_ops import reduction, rows

    x = g.pick(lambda node: _floats(node))
    factor, shift = (g.constant((), x.dtype or "") if x else None for _ in range(2))
    if x is None or factor is None or shift is None:
        return None
    scaled = g.emit(lambda: R.multiply(x.value, factor.value), lambda _, a, b: a * b, [x, factor], "scale")
    _ = scaled and _sum(g, scaled, shift, "shift")
    return g.random.choice((reduction, rows, norm, scan))(g)


def behind_rows(g: Generator) -> Node | None:
    """A kernel over rows or channels with an epilogue: an activation, and a residual."""
    from generate_ops import rows

    x = g.random.choice((rows, norm, norm_by_channels))(g)
    if x is None:
        return None
    active = _active(g, x)
    other = g.pick(lambda node: node.dtype == x.dtype and node.dims == x.dims)
    if active is None or other is None:
        return active
    return _sum(g, active, other, "residual")


def rotation(g: Generator) -> Node | None:
    """A rotation: the halves of the last dimension swapped, one of them negated, between two multiplications."""
    x = g.pick(lambda node: len(node.dims) > 0 and isinstance(node.dims[-1], int) and node.dims[-1] % 2 == 0)
    if x is None or x.dtype == "bool":
        return None
    half, axis = int(x.dims[-1]) // 2, len(x.dims) - 1
    cosines, sines = (g.constant((2 * half,), x.dtype or "") for _ in range(2))
    if cosines is None or sines is None or half == 0:
        return None
    by_split = g.random.random() < 0.5

    def build() -> Any:
        if by_split:
            parts = R.split(x.value, 2, axis)
            first, second = (R.tuple_get_item(parts, i) for i in range(2))
        else:
            first = R.strided_slice(x.value, [axis], [0], [half])
            second = R.strided_slice(x.value, [axis], [half], [2 * half])
        swapped = R.concat([R.negative(second), first], axis)
        return R.multiply(x.value, cosines.value), R.multiply(swapped, sines.value)

    made: list[Any] = []

    def turned(which: int) -> Any:
        if not made:
            made.extend(build())
        return made[which]

    plain = g.emit(lambda: turned(0), lambda _, a, c: a * c, [x, cosines], "cosines")
    swapped = g.emit(
        lambda: turned(1),
        lambda _, a, s: np.concatenate([-a[..., half:], a[..., :half]], -1) * s,
        [x, sines],
        "sines",
    )
    if plain is None or swapped is None:
        return None
    return _sum(g, plain, swapped, "rotated")


def pieces(g: Generator) -> Node | None:
    """A tensor in pieces, each with an op, joined in another order, followed by an op."""
    x = g.pick(lambda node: len(node.dims) > 0 and _floats(node))
    if x is None:
        return None
    axis = g.random.randrange(len(x.dims))
    cuts = g.random.choice(([1], [2], [1, 3], [0, 2]))
    parts: list[Node] = []
    before = len(g.pool)
    g.emit(lambda: R.split(x.value, cuts, axis), lambda _, a: OPS["split"](a, cuts, axis), [x], "pieces")
    for piece in g.pool[before:]:
        name = g.random.choice(("abs", "negative", "nn.relu", "square", "tanh", "exp"))
        made = g.emit(
            lambda name=name, piece=piece: builder(name)(piece.value),
            lambda _, a, name=name: OPS[name](a),
            [piece],
            name,
        )
        parts += [made] if made and g.random.random() < 0.8 else [piece]
    if not parts:
        return None
    g.random.shuffle(parts)
    joined = g.emit(
        lambda: R.concat([p.value for p in parts], axis),
        lambda _, *arrays: np.concatenate(arrays, axis),
        parts,
        f"joined {axis}",
    )
    return joined and g.emit(lambda: R.abs(joined.value), lambda _, a: np.abs(a), [joined], "abs")


def triangle(g: Generator) -> Node | None:
    """`tril` and `triu`."""
    x = g.pick(lambda node: len(node.dims) > 1)
    if x is None:
        return None
    name, k = g.random.choice(("tril", "triu")), g.random.choice((-1, 0, 0, 2))
    return g.emit(lambda: builder(name)(x.value, k), lambda _, a: getattr(np, name)(a, k), [x], f"{name} {k}")


MOVES = (
    scan,
    scan,
    norm_by_channels,
    norm,
    attention,
    epilogue,
    epilogue,
    prologue,
    behind_rows,
    rotation,
    pieces,
    triangle,
)
