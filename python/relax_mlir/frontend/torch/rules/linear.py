"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall, Operand, constant
from relax_mlir.frontend.torch.registry import rule
from relax_mlir.frontend.torch.torch_types import Argument


@rule("linear.default")
def linear(call: OpCall, x: Value, weight: Value, bias: Value | None = None) -> Value:
    product = R.matmul(x, R.permute_dims(weight))
    return product if bias is None else R.add(product, bias)


@rule(
    "matmul.default",
    "mm.default",
    "bmm.default",
    "mv.default",
    "dot.default",
    "inner.default",
    "vdot.default",
)
def matmul(call: OpCall, x: Value, other: Value) -> Value:
    if call.dtype == "bool":
        raise call.unsupported("a product of bool matrices")
    if "inner" in str(call.node.target) and other.ndim is not None and other.ndim > 1:
        other = R.permute_dims(other, [*range(other.ndim - 2), other.ndim - 1, other.ndim - 2])
    return R.matmul(x, other)


@rule("addmm.default", "addmv.default", "baddbmm.default", "addbmm.default")
def addmm(
    call: OpCall, x: Value, first: Value, second: Value, *, beta: Operand = 1, alpha: Operand = 1
) -> Value:
    product = R.matmul(first, second)
    if "addbmm" in str(call.node.target) and "badd" not in str(call.node.target):
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
    if (
        not summed
        or sorted(left) != sorted(batch + rows + summed)
        or sorted(right) != sorted(batch + summed + columns)
    ):
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
        return R.reshape(
            moved, [*(sizes[c] for c in lead), *(product([sizes[c] for c in group]) for group in groups)]
        )

    first, second = (call.tensor(t) for t in tensors)
    product = R.matmul(
        arranged(first, left, (batch, rows, summed)), arranged(second, right, (batch, summed, columns))
    )
    apart = R.reshape(product, [sizes[c] for c in (*batch, *rows, *columns)])
    made = [*batch, *rows, *columns]
    return R.permute_dims(apart, [made.index(c) for c in output])
