"""Windows over the last dimensions of a tensor: their sizes, steps, padding and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import Expr
from relax_mlir.topi.common import one_or_listed


@dataclass(frozen=True)
class Window:
    """Windows along one dimension: `size` elements, `dilation` apart, every `stride` elements, with padding."""

    size: Dim
    stride: int
    dilation: int
    before: Dim
    after: Dim

    def count(self, length: Dim, *, ceil_mode: bool = False) -> Dim:
        """The number of windows in a dimension; 0 if there is no room for one.

        `ceil_mode`: also count a partial window, if it begins in the dimension or in the padding before it.
        """
        room = length + self.before + self.after - self.dilation * (self.size - 1) - 1
        whole = symbolic.floordiv(room, self.stride) + 1
        if ceil_mode:
            begins = symbolic.ceildiv(length + self.before, self.stride)
            whole = symbolic.minimum(symbolic.ceildiv(room, self.stride) + 1, begins)
        return symbolic.maximum(whole, 0)


def windows_of(
    what: str,
    sizes: Sequence[Dim],
    strides: int | Sequence[int],
    padding: int | Sequence[int] | str,
    dilation: int | Sequence[int] = 1,
    lengths: Sequence[Dim] = (),
) -> list[Window]:
    """The windows along each dimension.

    Args:
        what: the operator, for messages.
        sizes: the number of elements of a window along each dimension.
        strides, dilation: one for all, or one for each.
        padding: one for all, one for each, or all before and then all after; "VALID": none; "SAME": such that
            there are ``ceil(length / stride)`` windows, for known sizes.
        lengths: the dimensions, for "SAME".
    """
    rank = len(sizes)
    steps = _each(f"{what}: the strides", strides, rank, 1)
    apart = _each(f"{what}: the dilation", dilation, rank, 1)
    if isinstance(padding, str) and not lengths:
        raise ArgumentError(f"{what}: 'padding' is {padding!r}, expected integers")
    if isinstance(padding, str):
        pads = [_same(what, padding, *of) for of in zip(lengths, sizes, steps, apart, strict=True)]
        return [
            Window(*of, *pad) for of, pad in zip(zip(sizes, steps, apart, strict=True), pads, strict=True)
        ]
    given = one_or_listed(f"{what}: 'padding'", padding)
    if len(given) not in (1, rank, 2 * rank) or any(
        isinstance(p, bool) or not isinstance(p, int) for p in given
    ):
        raise ArgumentError(f"{what}: 'padding' is {padding!r}, expected 1, {rank} or {2 * rank} integers")
    before = given * rank if len(given) == 1 else given[:rank]
    after = given[rank:] if len(given) == 2 * rank else before
    return [Window(*of) for of in zip(sizes, steps, apart, before, after, strict=True)]


def scaled(index: Expr, factor: int) -> Expr:
    """An index times a step."""
    return index if factor == 1 else index * factor


def _each(what: str, value: int | Sequence[int], rank: int, least: int) -> list[int]:
    given = one_or_listed(what, value)
    found = given * rank if len(given) == 1 else given
    if len(found) != rank or any(isinstance(v, bool) or not isinstance(v, int) or v < least for v in found):
        raise ArgumentError(f"{what} are {value!r}, expected {rank} integers from {least} on")
    return found


def _same(what: str, mode: str, length: Dim, size: Dim, stride: int, dilation: int) -> tuple[int, int]:
    if mode == "VALID":
        return 0, 0
    if mode != "SAME":
        raise ArgumentError(f"{what}: 'padding' is {mode!r}, expected integers, 'VALID' or 'SAME'")
    if not isinstance(size, int) or (stride != 1 and not isinstance(length, int)):
        raise ShapeError(
            f"{what}: 'padding' is 'SAME', but a size is known only when it is called: {length}, {size}"
        )
    span = dilation * (size - 1)
    amount = span
    if isinstance(length, int):
        amount = max((-(-length // stride) - 1) * stride + span + 1 - length, 0)
    return amount // 2, amount - amount // 2
