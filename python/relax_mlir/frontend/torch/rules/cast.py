"""Dtype conversions, copies and other ops that return their operand."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir.dialects.effects import literal_format
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall, Operand
from relax_mlir.frontend.torch.registry import rule


@rule(
    "_to_copy.default",
    "to.dtype",
    "to.dtype_layout",
    "to.device",
    "to.other",
    "type_as.default",
    "prims::convert_element_type.default",
)
def convert(call: OpCall, x: Operand, *rest: object) -> Value:
    return call.tensor(x)


@rule(
    "clone.default",
    "alias.default",
    "contiguous.default",
    "detach.default",
    "detach_.default",
    "lift_fresh_copy.default",
    "lift_fresh.default",
    "view_copy.dtype",
    "resolve_conj.default",
    "resolve_neg.default",
    "prims::view_of.default",
)
def same(call: OpCall, x: Value, *rest: object) -> Value:
    if x.dtype != call.dtype:
        raise call.unsupported(f"the bits of {x.dtype} seen as {call.dtype}")
    return x


@rule("copy.default")
def copy(call: OpCall, x: Value, source: Operand, *rest: object) -> Value:
    return R.broadcast_to(call.tensor(source), call.shape)


@rule("_local_scalar_dense.default", "item.default")
def local_scalar(call: OpCall, x: Value) -> None:
    """``x.item()``: an integer becomes a symbol; for a float or bool, its symbol denotes a tensor of rank 0."""
    number = call.node.meta["val"]
    if type(number).__name__ not in ("SymInt", "SymFloat", "SymBool"):
        return
    expression = number.node.expr
    scalars = call.importer.scalars
    flat = R.reshape(x, ())
    if type(number).__name__ == "SymInt":
        scalars.bind(flat, str(expression))
    else:
        scalars.known[str(expression)] = flat


@rule("_assert_scalar.default")
def assert_scalar(call: OpCall, condition: object, message: str = "") -> None:
    if condition is True:
        return
    if isinstance(condition, Value):
        R.assert_op(condition, format=literal_format(str(message)))
        return
    raise call.unsupported(f"a condition that never holds: {message}")
