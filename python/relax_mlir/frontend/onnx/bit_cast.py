"""Reinterpret the bits of elements as another dtype."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.te.tensors import Fresh, LoopOp, Tensor, element, grid


def bit_cast(x: Tensor, dtype: str) -> Tensor:
    """Reinterpret the bits of `x` as elements of `dtype`, which has the same width."""

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        at = [fresh("i") for _ in x.shape]
        return [
            grid(at, x.shape),
            f'    {element(outs[0], at)} = T.reinterpret("{dtype}", {element(ins[0], at)})',
        ]

    return LoopOp([x], [x.shape], [dtype], body, "T_bit_cast").outputs[0]
