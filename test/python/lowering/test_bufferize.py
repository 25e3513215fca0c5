"""Bufferisation of Relax functions: destinations, unchanged inputs, copies."""

from __future__ import annotations

from relax_mlir.lowering.bufferize import bufferize
from relax_mlir.mlir import ir
from relax_mlir.transform import Sequential

T = "tensor<?x4xf32>"


def lowered(body: str) -> str:
    text = f"""
func.func private @k(%x: {T}, %o: {T}) -> {T} attributes {{relax.prim_func}} {{
  %0 = linalg.exp ins(%x : {T}) outs(%o : {T}) -> {T}
  return %0 : {T}
}}
func.func @main(%x: {T}, %o: {T}) -> {T} attributes {{relax.signature = {{
    name = "main", params = [{{name = "x", kind = "tensor", dtype = "float32", ndim = 2, type = "Tensor"}}],
    results = [{{kind = "tensor", dtype = "float32", ndim = 2}}], tuple = false}}}} {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : {T}
  %e = tensor.empty(%n) : {T}
{body}
  %r = bufferization.materialize_in_destination %last in %o : ({T}, {T}) -> {T}
  return %r : {T}
}}
"""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        Sequential(bufferize()).apply_(module)
        assert module.operation.verify()
        return str(module).split("@main", 1)[1].split("\n  }", 1)[0]


def test_the_last_call_writes_the_result() -> None:
    main = lowered(f"  %last = call @k(%x, %e) : ({T}, {T}) -> {T}")
    assert "call @k(%arg0, %arg1)" in main
    assert "memref.copy" not in main
    assert "workspace" not in main


def test_an_input_as_result_is_copied() -> None:
    main = lowered(f"  %last = tensor.cast %x : {T} to {T}")
    assert "memref.copy %arg0, %arg1" in main


def test_inputs_are_never_written() -> None:
    main = lowered(f"  %last = call @k(%x, %x) : ({T}, {T}) -> {T}")
    assert "call @k(%arg0, %arg0)" not in main


def test_temporaries_are_planned() -> None:
    main = lowered(
        f"  %0 = call @k(%x, %e) : ({T}, {T}) -> {T}\n"
        f"  %e1 = tensor.empty(%n) : {T}\n"
        f"  %last = call @k(%0, %e1) : ({T}, {T}) -> {T}"
    )
    assert "memref.alloc" not in main
    assert main.count("memref.view") == 1
