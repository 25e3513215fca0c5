"""Matrix products, also of groups of rows, and distances between rows."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.prim_funcs import add_prim_func, window
from relax_mlir.frontend.torch.registry import OpCall, Operand, constant, rule
from relax_mlir.frontend.torch.rules.nn import norm_of
from relax_mlir.frontend.torch.torch_types import Argument
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar
from relax_mlir.mlir import ir, linalg
from relax_mlir.scalars.linalg_builders import generic, identity

# Matrix products.


@rule("linear.default")
def linear(call: OpCall, x: Value, weight: Value, bias: Value | None = None) -> Value:
    product = R.matmul(x, R.permute_dims(weight))
    return product if bias is None else R.add(product, bias)


@rule(
    *("matmul.default", "mm.default", "bmm.default", "mv.default", "dot.default", "inner.default"),
    "vdot.default",
)
def matmul(call: OpCall, x: Value, other: Value) -> Value:
    if call.dtype == "bool":
        raise call.unsupported("a product of bool matrices")
    if call.name == "inner" and other.ndim is not None and other.ndim > 1:
        other = R.permute_dims(other, [*range(other.ndim - 2), other.ndim - 1, other.ndim - 2])
    return R.matmul(x, other)


@rule("addmm.default", "addmv.default", "baddbmm.default", "addbmm.default")
def addmm(call: OpCall, x: Value, first: Value, second: Value, *, beta: Operand = 1, alpha: Operand = 1) -> Value:
    product = R.matmul(first, second)
    if call.name == "addbmm":
        product = R.sum(product, [0])
    if alpha != 1:
        product = R.multiply(
            product, constant(alpha, call.dtype) if isinstance(alpha, int | float) else call.tensor(alpha)
        )
    if isinstance(beta, int | float) and beta == 0:
        return product  # even if `x` contains NaN, as in torch
    return R.add(product, x if beta == 1 else R.multiply(x, call.tensor(beta)))


@rule("outer.default", "ger.default")
def outer(call: OpCall, x: Value, other: Value) -> Value:
    rows, columns = call.shape
    return R.multiply(R.reshape(call.tensor(x), [rows, 1]), R.reshape(call.tensor(other), [1, columns]))


@rule("einsum.default")
def einsum(call: OpCall, equation: str, tensors: Sequence[Value], *rest: Argument) -> Value:
    inputs, _, output = equation.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if len(parts) == 2 and output and "." not in equation:
        found = _contraction(call, parts, output, tensors)
        if found is not None:
            return found
    return call.te(topi.einsum, equation, *map(call.tensor, tensors))


def _contraction(call: OpCall, parts: Sequence[str], output: str, tensors: Sequence[Value]) -> Value | None:
    """Emit an einsum of two tensors as a batched matrix product; return None if it is not one."""
    left, right = parts
    if any(len(set(text)) != len(text) for text in (left, right, output)):
        return None
    batch = [c for c in output if c in left and c in right]
    rows = [c for c in output if c in left and c not in right]
    columns = [c for c in output if c in right and c not in left]
    summed = [c for c in left if c in right and c not in output]
    if not summed or sorted(left) != sorted(batch + rows + summed) or sorted(right) != sorted(batch + summed + columns):
        return None
    sizes = {
        letter: call.importer.dim(size)
        for text, node in zip(parts, call.node.args[1], strict=True)
        for letter, size in zip(text, node.meta["val"].shape, strict=True)
    }

    def arranged(value: Value, text: str, order: Sequence[Sequence[str]]) -> Value:
        from relax_mlir.symbolic import product

        moved = R.permute_dims(value, [text.index(c) for group in order for c in group])
        lead, *groups = order
        return R.reshape(moved, [*(sizes[c] for c in lead), *(product([sizes[c] for c in group]) for group in groups)])

    first, second = (call.tensor(t) for t in tensors)
    product = R.matmul(arranged(first, left, (batch, rows, summed)), arranged(second, right, (batch, summed, columns)))
    apart = R.reshape(product, [sizes[c] for c in (*batch, *rows, *columns)])
    made = [*batch, *rows, *columns]
    return R.permute_dims(apart, [made.index(c) for c in output])


# Grouped matrix products, one matrix per group of rows: mixtures of experts.


_NARROW = ("float16", "bfloat16")


@rule("transformers::grouped_mm_fallback.default")
def grouped_fallback(call: OpCall, x: Value, matrices: Value, ends: Value) -> Value:
    return _grouped(call, x, matrices, ends)


@rule("_grouped_mm.default")
def grouped(
    call: OpCall,
    x: Value,
    matrices: Value,
    ends: Value | None = None,
    bias: Value | None = None,
    dtype: Argument = None,
) -> Value:
    if ends is None or x.ndim != 2 or matrices.ndim != 3 or bias is not None or call.dtype != x.dtype:
        raise call.unsupported("grouped products of others than rows by one matrix for each group")
    return _grouped(call, x, matrices, ends)


def _grouped(call: OpCall, x: Value, matrices: Value, ends: Value) -> Value:
    """Multiply rows ``ends[i - 1]`` to ``ends[i]`` of `x`, ``(s, k)``, by matrix i of `matrices`, ``(g, k, n)``.

    Rows after the last group are zeros. Ends that decrease, or exceed the number of rows, are errors at run time.
    """
    name = f"grouped_matmul_{call.dtype}_{ends.dtype}"
    dtype = str(call.dtype)
    parameters = [
        ("x", ["s", "k"], dtype),
        ("w", ["g", "k", "n"], dtype),
        ("ends", ["g"], str(ends.dtype)),
        ("out", ["s", "n"], dtype),
    ]
    add_prim_func(call.builder, name, parameters, _grouped_products)
    return R.call_tir(name, [x, matrices, ends], Tensor(call.shape, call.dtype))


def _grouped_products(b: LoopBuilder, x: Buffer, w: Buffer, ends: Buffer, out: Buffer) -> None:
    """Emit one matrix product per group, in float32 for 16-bit floats."""
    rows, inner, groups, columns = (b.symbols[name] for name in ("s", "k", "g", "n"))
    is_narrow = out.dtype.name in _NARROW
    sums = b.alloc(out.shape or (), "float32", "sums") if is_narrow else out
    linalg.fill(b.const(0.0, sums.dtype.name).ssa, outs=[sums.ssa])
    with b.loop(groups) as i:
        begin = b.choose(i > 0, lambda: ends[i - 1].index(), lambda: 0)
        end = ends[i].index()
        b.check(end >= begin, "grouped_mm: the ends of the groups decrease")
        b.check(end <= rows, "grouped_mm: a group ends behind the last row")
        count = end - begin
        linalg.matmul(
            window(x, [begin, 0], [count, inner]),
            window(w, [i, 0, 0], [1, inner, columns], rank=2),
            outs=[window(sums, [begin, 0], [count, columns])],
        )
    if is_narrow:

        def rounded(total: ir.Value, _: ir.Value) -> ir.Value:
            return Scalar(total, sums.dtype).astype(out.dtype.name).ssa

        maps = [identity(2)]
        generic([sums.ssa], maps, [out.ssa], maps, ["parallel", "parallel"], rounded)


# Distances between rows.


@rule("_cdist_forward.default", "cdist.default")
def cdist(call: OpCall, x: Value, y: Value, p: float = 2, mode: int | None = None) -> Value:
    """Return the p-norm distance of every row of `x` to every row of `y`."""
    apart = R.abs(R.subtract(R.expand_dims(x, -2), R.expand_dims(y, (y.ndim or 2) - 2)))
    return norm_of(apart, p, [-1])
