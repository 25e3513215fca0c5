"""Sums of products by the names of axes."""

from __future__ import annotations

import functools
import operator

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import reductions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, require
from relax_mlir.topi.tag import COMM_REDUCE


def einsum(subscripts: str, *operand: Tensor) -> Tensor:
    """The sum of products of elements, as NumPy's `einsum`: ``einsum("ij,jk->ik", a, b)``.

    Axes of one name are as long as each other; one that the result does not have is summed over. Without ``->`` the
    result has the axes that appear once, in alphabetical order. An ellipsis is not understood.
    """
    what = "topi.einsum"
    if not isinstance(subscripts, str):
        raise ArgumentError(f"{what}: 'subscripts' is {subscripts!r}, expected text")
    text = subscripts.replace(" ", "")
    given, arrow, result = text.partition("->")
    names = given.split(",")
    tensors = [require(f"{what}: an operand", tensor) for tensor in operand]
    letters = "".join(names)
    if not all(name.isalpha() or not name for name in (*names, result)):
        raise ArgumentError(f"{what}: the axes of '{subscripts}' are not all letters")
    if len(names) != len(tensors) or any(len(n) != t.ndim for n, t in zip(names, tensors, strict=False)):
        raise ShapeError(
            f"{what}: '{subscripts}' does not fit the {len(tensors)} operands {', '.join(map(repr, tensors))}"
        )
    if not arrow:
        result = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    if len(set(result)) != len(result) or not set(result) <= set(letters):
        raise ArgumentError(f"{what}: the result '{result}' names an axis twice, or one that no operand has")
    sizes: dict[str, Dim] = {}
    for name, tensor in zip(names, tensors, strict=True):
        for letter, dim in zip(name, tensor.shape, strict=True):
            if not symbolic.prove_equal(sizes.setdefault(letter, dim), dim):
                raise ShapeError(
                    f"{what}: the axis '{letter}' is {sizes[letter]} and {dim}, not known to be equal"
                )
    summed = {
        letter: reductions.reduce_axis((0, sizes[letter]), letter)
        for letter in dict.fromkeys(letters)
        if letter not in result
    }

    def value(*i: Expr) -> object:
        at = {**dict(zip(result, i, strict=True)), **summed}
        items = [
            tensor(*(at[letter] for letter in name)) for name, tensor in zip(names, tensors, strict=True)
        ]
        product = functools.reduce(operator.mul, items)
        return reductions.sum(product, list(summed.values())) if summed else product

    return computed([sizes[letter] for letter in result], value, "T_einsum", COMM_REDUCE)
