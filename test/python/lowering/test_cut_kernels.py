"""Outlining kernels before the rest is lowered: which kernels are outlined, and what remains in the module."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dialects.attributes import SEPARATE, SHARED_GROUP
from relax_mlir.lowering.kernels.cut_kernels import cut_kernels
from relax_mlir.lowering.loops.parallelize_loops import RUN
from relax_mlir.lowering.pipeline import phases
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.target import Target


def in_group(group: str) -> str:
    """The attributes of a kernel."""
    return f'attributes {{llvm.linkage = #llvm.linkage<internal>, {SHARED_GROUP} = "{group}"}}'


KERNELS = f"""
func.func private @relax.gemm.f32.tile_2(%m: memref<?xf32>) {in_group("relax.gemm.f32 tile")} {{ return }}
func.func private @relax.gemm.f32.tile_4(%m: memref<?xf32>) {in_group("relax.gemm.f32 tile")} {{ return }}
func.func private @relax.gemm.f32.block(%m: memref<?xf32>) {in_group("relax.gemm.f32 tile")} {{
  func.call @relax.gemm.f32.tile_2(%m) : (memref<?xf32>) -> ()
  return
}}
func.func private @relax.gemm.f32.pack_a(%m: memref<?xf32>) {in_group("relax.gemm.f32 pack")} {{
  PACKING
  return
}}
func.func private @relax.gemm.f32(%m: memref<?xf32>) {in_group("relax.gemm.f32 product")} {{
  func.call @relax.gemm.f32.pack_a(%m) : (memref<?xf32>) -> ()
  func.call @relax.gemm.f32.block(%m) : (memref<?xf32>) -> ()
  PRODUCT
  return
}}
func.func private @relax.gemm.f64.block(%m: memref<?xf32>) {in_group("relax.gemm.f64 tile")} {{
  func.call @relax.gemm.f32(%m) : (memref<?xf32>) -> ()
  return
}}
func.func private @outside()
func.func @main(%m: memref<?xf32>) {{
  func.call @relax.gemm.f32(%m) : (memref<?xf32>) -> ()
  func.call @relax.gemm.f64.block(%m) : (memref<?xf32>) -> ()
  return
}}
"""


@pytest.fixture
def context() -> Iterator[ir.Context]:
    with ir.Context() as context, ir.Location.unknown():
        yield context


@pytest.mark.parametrize(
    ("packing", "product", "groups"),
    [
        ("", "", {"f32 tile", "f32 pack", "f32 product", "f64 tile"}),
        ("", "%b = memref.alloc() : memref<4xf32>", {"f32 tile", "f32 pack"}),
        ("", "func.call @outside() : () -> ()", {"f32 tile", "f32 pack"}),
        ("func.call @outside() : () -> ()", "", {"f32 tile"}),
        ('%c = arith.constant true\n cf.assert %c, "no"', "", {"f32 tile"}),
    ],
)
def test_what_needs_others_stays(context: ir.Context, packing: str, product: str, groups: set[str]) -> None:
    """A group that allocates memory, may fail, or calls functions that are not outlined, is not outlined either."""
    module = ir.Module.parse(KERNELS.replace("PACKING", packing).replace("PRODUCT", product))
    parts = cut_kernels(module)
    assert {part.group for part in parts} == {f"relax.gemm.{group}" for group in groups}
    assert module.operation.verify()
    assert not any(part.is_flat for part in parts)
    left = functions(module)
    exported = {name for part in parts for name in part.exported}
    assert {name for name, op in left.items() if SEPARATE in op.attributes} == exported
    assert all(is_declaration(left[name]) for name in exported)
    assert "relax.gemm.f32.tile_2" not in left
    assert "relax.gemm.f32.block" in exported


def test_a_part_declares_what_another_one_defines(context: ir.Context) -> None:
    parts = {
        part.group: part
        for part in cut_kernels(ir.Module.parse(KERNELS.replace("PACKING", "").replace("PRODUCT", "")))
    }
    product = parts["relax.gemm.f32 product"]
    assert product.exported == ("relax.gemm.f32",)
    assert set(product.external) == {"relax.gemm.f32.pack_a", "relax.gemm.f32.block"}
    tiles = str(ir.Module.parse(parts["relax.gemm.f32 tile"].source))
    assert "tile_2" in tiles
    assert "tile_4" not in tiles  # it is unused
    assert tiles.count("noinline") == 2


def lowered(scale: float, target: Target) -> ir.Module:
    builder = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n", "k"), "float32")), rx.Var("y", rx.Tensor(("k", "m"), "float32"))
    with builder.function("main", [x, y]):
        builder.emit_func_output(R.nn.relu(R.matmul(x, y) * builder.const(np.float32(scale))))
    work = builder.get()
    for phase in phases(str(target))[:-2]:
        work.apply_(phase.as_pass())
    return work.mlir


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_kernels_of_modules_are_the_same_and_loops_that_call_them_still_have_threads(threads: int) -> None:
    target = Target("cpu", num_threads=threads)
    first, second = lowered(2.0, target), lowered(3.0, target)
    parts = cut_kernels(first)
    assert {part.group for part in parts} >= {"relax.gemm.f32 tile", "relax.gemm.f32 pack"}
    assert parts == cut_kernels(second)
    whole = lowered(2.0, target)
    flat = phases(str(target))[-2].as_pass()
    flat.apply_(first)
    flat.apply_(whole)
    assert str(first).count(f"@{RUN}(") == str(whole).count(f"@{RUN}(")
    assert (f"@{RUN}(" in str(first)) == (threads > 1)
    kept = functions(whole)
    assert {name for name in functions(first) if name in kept} == set(functions(first))
