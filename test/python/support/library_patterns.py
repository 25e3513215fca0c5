"""A library for tests: patterns of many ops, and a code generator that emits the ops of composite functions."""

from __future__ import annotations

from typing import Any

import relax_mlir as rx
from relax_mlir import transform as T
from relax_mlir.dpl import DFPattern, is_op, wildcard
from relax_mlir.transform.codegens import codegen_names, register_codegen

NAME = "support"


def call(name: str, count: int = 1) -> DFPattern:
    """A call of an op on anything."""
    return is_op(f"relax.{name}")(*(wildcard() for _ in range(count)))


def patterns() -> list[T.FusionPattern]:
    """Pairs of ops first, then single ones."""
    pairs = [
        is_op("relax.multiply")(call("add", 2), wildcard()),
        is_op("relax.add")(wildcard(), call("multiply", 2)),
    ]
    binary = [call(name, 2) for name in ("add", "subtract", "multiply", "maximum", "minimum")]
    unary = [call(name) for name in ("negative", "abs", "exp", "tanh", "nn.relu", "sum")]
    other = [is_op("relax.concat"), is_op("relax.reshape"), is_op("relax.call")]
    every = enumerate([*pairs, *binary, *unary, *other])
    return [T.FusionPattern(f"{NAME}.p{number}", pattern) for number, pattern in every]


def ops_again(made: T.CompositeCall) -> Any:
    """The result of a composite function, computed by its ops."""
    values: dict[Any, Any] = {}
    for binding in made.bindings:
        op, operands = binding.operation, []
        for operand in binding.operands:
            value = values[operand.ssa] if operand.ssa in values else made.argument_of(operand)
            assert value is not None
            operands.append(value.ssa)
        copy = op.clone().operation
        for index, ssa in enumerate(operands):
            copy.operands[index] = ssa
        values[op.results[0]] = rx.Value(copy.results[0])
    return values[made.bindings[-1].operation.results[0]]


def generate(region: T.CodegenRegion) -> Any:
    """The code generator."""
    return region.each(ops_again)


def register(name: str = NAME) -> None:
    """Register the code generator, if it is not registered."""
    if name not in codegen_names():
        register_codegen(name, generate)
