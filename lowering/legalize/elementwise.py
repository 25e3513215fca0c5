"""The rule of elementwise ops: one ``linalg.generic`` whose body is a scalar rule."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from relax_mlir.dialects.attributes import Pattern
from relax_mlir.dialects.dtypes import DType
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.mlir import ir
from relax_mlir.scalars.arithmetic import ScalarRule
from relax_mlir.scalars.linalg_builders import ScalarBody, broadcast_map, generic, identity


def dtype_of(arg: Arg) -> DType:
    """The dtype of a tensor; the legaliser has checked that it is known."""
    dtype = arg.info.dtype
    assert dtype is not None
    return dtype


def prim_name(op: OpCall, dtype: DType) -> str:
    """Name of the prim func of an op: never that of a C library function, such as ``exp``."""
    return f"{op.args.op}_{dtype.mlir}"


def elementwise(body: ScalarBody) -> Callable[[PrimBody], Sequence[ir.Value]]:
    """The body of a prim func that applies `body` to the scalars of its inputs, which broadcast to its one output."""

    def build(prim: PrimBody) -> Sequence[ir.Value]:
        out_shape = prim.out_infos[0].known_shape
        assert out_shape is not None
        rank = len(out_shape)
        maps = [broadcast_map(info.known_shape or (), out_shape) for info in prim.in_infos]
        return generic(
            prim.ins,
            maps,
            prim.outs,
            [identity(rank)],
            ["parallel"] * rank,
            lambda *scalars: body(*scalars[: len(prim.ins)]),
        )

    return build


def elementwise_prim(lz: Legalizer, op: OpCall, body: ScalarBody, key: Hashable = ()) -> Sequence[Arg]:
    """Apply `body` to the scalars of the operands, which broadcast. `key`: what else than dtypes `body` depends on."""
    same_shape = all(arg.shape == op.results[0].shape for arg in op.operands)
    pattern: Pattern = "elementwise" if same_shape else "broadcast"
    result = op.results[0].dtype
    assert result is not None
    name = prim_name(op, dtype_of(op.operands[0]) if op.operands else result)
    return lz.prim(name, op.operands, op.results, elementwise(body), pattern=pattern, key=key)


def register(rules: dict[str, ScalarRule]) -> None:
    """Legalise each op of the table by its scalar rule, with the dtype of the first operand."""

    def legalize(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
        rule, dtype = rules[op.args.op], dtype_of(op.operands[0])
        return elementwise_prim(lz, op, lambda *scalars: rule(dtype, *scalars))

    legalization(*(f"relax.{name}" for name in rules))(legalize)
