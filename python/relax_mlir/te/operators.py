"""Python's operators on tensors, and on slices, which reject them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relax_mlir.te.tensors import Tensor


class Operators:
    """Operators that `broadcast_operator` implements."""

    __array_ufunc__ = None  # NumPy scalars leave mixed operators to this class
    __hash__ = object.__hash__

    def broadcast_operator(self, operator: str, left: object, right: object) -> Tensor:
        """Return ``left operator right``."""
        raise NotImplementedError  # abstract

    def __add__(self, other: object) -> Tensor:
        return self.broadcast_operator("+", self, other)

    def __radd__(self, other: object) -> Tensor:
        return self.broadcast_operator("+", other, self)

    def __sub__(self, other: object) -> Tensor:
        return self.broadcast_operator("-", self, other)

    def __rsub__(self, other: object) -> Tensor:
        return self.broadcast_operator("-", other, self)

    def __mul__(self, other: object) -> Tensor:
        return self.broadcast_operator("*", self, other)

    def __rmul__(self, other: object) -> Tensor:
        return self.broadcast_operator("*", other, self)

    def __truediv__(self, other: object) -> Tensor:
        return self.broadcast_operator("/", self, other)

    def __rtruediv__(self, other: object) -> Tensor:
        return self.broadcast_operator("/", other, self)

    def __floordiv__(self, other: object) -> Tensor:
        return self.broadcast_operator("//", self, other)

    def __rfloordiv__(self, other: object) -> Tensor:
        return self.broadcast_operator("//", other, self)

    def __mod__(self, other: object) -> Tensor:
        return self.broadcast_operator("%", self, other)

    def __rmod__(self, other: object) -> Tensor:
        return self.broadcast_operator("%", other, self)

    def __and__(self, other: object) -> Tensor:
        return self.broadcast_operator("&", self, other)

    def __rand__(self, other: object) -> Tensor:
        return self.broadcast_operator("&", other, self)

    def __or__(self, other: object) -> Tensor:
        return self.broadcast_operator("|", self, other)

    def __ror__(self, other: object) -> Tensor:
        return self.broadcast_operator("|", other, self)

    def __xor__(self, other: object) -> Tensor:
        return self.broadcast_operator("^", self, other)

    def __rxor__(self, other: object) -> Tensor:
        return self.broadcast_operator("^", other, self)

    def __lshift__(self, other: object) -> Tensor:
        return self.broadcast_operator("<<", self, other)

    def __rlshift__(self, other: object) -> Tensor:
        return self.broadcast_operator("<<", other, self)

    def __rshift__(self, other: object) -> Tensor:
        return self.broadcast_operator(">>", self, other)

    def __rrshift__(self, other: object) -> Tensor:
        return self.broadcast_operator(">>", other, self)
