"""Donation: results that are computed in the memory of a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import DONATED
from relax_mlir.dialects.types import StructInfo, Tensor
from relax_mlir.error import UnsupportedError, VerifyError
from relax_mlir.lowering.shapes.leaves import Leaf
from relax_mlir.mlir import func, ir

if TYPE_CHECKING:
    from relax_mlir.lowering.shapes.headers import Result


def donated_results(
    op: func.FuncOp, name: str, params: Sequence[Leaf], results: Sequence[Result]
) -> list[Result]:
    """Return `results`, with the parameter whose memory each donated one takes.

    Raises:
        UnsupportedError: the function is private, so that the module may call it, or it returns such a result itself.
        VerifyError: the attribute is not a list of different parameters that have the types of their results.
    """
    given = op.attributes[DONATED]
    names = [item.value for item in given] if _is_texts(given) else []
    places = {leaf.name: number for number, leaf in enumerate(params)}
    if len(names) != len(results):
        raise VerifyError(
            f'{name}: {DONATED} is {given}, expected a parameter or "" for {len(results)} results'
        )
    if "sym_visibility" in op.attributes:
        raise UnsupportedError(f"{name}: {DONATED} is for public functions, which no other calls")
    taken = [text for text in names if text]
    if len(set(taken)) != len(taken) or not set(taken) <= set(places):
        raise VerifyError(f"{name}: {DONATED} is {given}, expected different ones of {', '.join(places)}")
    found = []
    for result, text in zip(results, names, strict=True):
        if not text:
            found.append(result)
            continue
        param = params[places[text]]
        if not _fits(result.leaf.info, param.info):
            raise VerifyError(
                f"{name}: {result.leaf.name} is {result.leaf.info}, which does not fit into the memory of "
                f"parameter '{param.name}', {param.info}"
            )
        if result.returned:
            raise UnsupportedError(
                f"{name}: {result.leaf.name} has no size before the call, and takes no memory"
            )
        found.append(replace(result, donated=places[text]))
    return found


def _is_texts(given: ir.Attribute) -> bool:
    return isinstance(given, ir.ArrayAttr) and all(isinstance(item, ir.StringAttr) for item in given)


def _fits(result: StructInfo, param: StructInfo) -> bool:
    if not isinstance(result, Tensor) or not isinstance(param, Tensor) or result.dtype != param.dtype:
        return False
    shape, other = result.known_shape, param.known_shape
    if shape is None or other is None or len(shape) != len(other):
        return False
    return all(symbolic.prove_equal(a, b) for a, b in zip(shape, other, strict=True))
