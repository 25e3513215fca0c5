"""Calls of prim funcs with declared parameters that do not exist: errors, never internal ones."""

from __future__ import annotations

import pytest
import relax_mlir as rx
from relax_mlir.dialects.prim_funcs import PrimParam, prim_params
from relax_mlir.error import RelaxError
from relax_mlir.mlir import func

EXPECTED = r"@scan: relax.params is .*; expected a list of parameters like \{name = \"A\", shape"


def declared(params: str) -> list[PrimParam] | None:
    """The declared parameters of a prim func with this attribute."""
    text = f"""
func.func private @scan(%a: memref<?xf32>) attributes {{relax.prim_func, relax.params = {params}}} {{
  return
}}"""
    module = rx.IRModule.parse(text)
    (function,) = module.mlir.body.operations
    assert isinstance(function, func.FuncOp)
    return prim_params(function)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("3", EXPECTED),
        ("[3]", EXPECTED),
        ('[{nam = "A"}]', EXPECTED),
        ('[{name = -1, shape = ["n"], dtype = "float32"}]', EXPECTED),
        ('[{name = "A", shape = ["n"]}]', EXPECTED),
        ('[{name = "A", shape = ["n"], dtype = f32}]', EXPECTED),
        ('[{name = "A", shape = 4, dtype = "float32"}]', "4 : i64 is not a list of dimensions"),
        ('[{name = "A", shape = [1.5], dtype = "float32"}]', "is neither an integer nor a string"),
        (
            '[{name = "A", shape = ["n"], dtype = "floot32"}]',
            "unknown dtype 'floot32'; did you mean 'float32'",
        ),
    ],
)
def test_malformed(params: str, message: str) -> None:
    with pytest.raises(RelaxError, match=message):
        declared(params)


def test_declared_and_not() -> None:
    (param,) = declared('[{name = "A", shape = ["n"], dtype = "float32"}]') or []
    assert (param.name, str(param.dtype)) == ("A", "float32")
    assert declared("[]") is None
