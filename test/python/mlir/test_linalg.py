"""The named ops of `relax_mlir.mlir.linalg` are those that the builders of the bindings make."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import pytest
from relax_mlir import mlir
from relax_mlir.mlir import ir, linalg

TYPES = {
    "tensor": ("f32", "tensor<2x2xf32>", "tensor<2x2xf32>", "tensor<2x2xf32>"),
    "buffer": ("f32", "memref<2x2xf32>", "memref<2x2xf32>", "memref<2x2xf32>"),
}


def built(builder: Any, types: tuple[str, ...]) -> str:
    """The function whose body the module `builder` builds."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(
            f"func.func private @f({', '.join(f'%{i}: {t}' for i, t in enumerate(types))}) {{ return }}"
        )
        block = module.body.operations[0].regions[0].blocks[0]
        scalar, a, b, out = block.arguments
        with ir.InsertionPoint.at_block_begin(block):
            results = [
                builder.fill(scalar, outs=[out]),
                builder.copy(a, outs=[out]),
                builder.matmul(a, b, outs=[out]),
            ]
        assert all(isinstance(result, ir.Value) == types[-1].startswith("tensor") for result in results)
        return str(module.operation.get_asm(print_generic_op_form=True))


@pytest.mark.parametrize("types", TYPES.values(), ids=TYPES)
def test_named_ops_equal_those_of_the_bindings(types: tuple[str, ...]) -> None:
    theirs = importlib.import_module(f"{mlir.provider}.dialects.linalg")
    assert built(linalg, types) == built(theirs, types)


def test_an_op_is_looked_up_without_the_language_of_the_bindings() -> None:
    script = """
import sys
from relax_mlir.mlir import ir
with ir.Context(), ir.Location.unknown():
    module = ir.Module.parse('''func.func @f(%x: f32, %y: tensor<2xf32>) -> tensor<2xf32> {
      %0 = linalg.fill ins(%x : f32) outs(%y : tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }''')
    op = module.body.operations[0].regions[0].blocks[0].operations[0]
print(type(op).__name__, any("opdsl" in name for name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["FillOp", "False"]
