"""Hand-written modules of level M that several tests call."""

from __future__ import annotations

MISMATCH = (
    "main: parameter 'y' dimension 0 is {0}, but n = {1}, taken from parameter 'x' dimension 0 "
    '(expected y: Tensor((n, 4), "float32"), got ({2}, {3}))'
)
ADD = """
func.func private @relax.constant.0() -> memref<4xf32> attributes {relax.constant = 0 : i64}
func.func private @relax.check.0(i1, index, index, index, index) attributes {relax.check = {kind = "ShapeError",
  message = "@MESSAGE@"}}
func.func private @relax.check.1(i1, index) attributes {relax.check = {kind = "ShapeError",
  message = "main: parameter 'x' dimension 1 is {0}, expected 4"}}
func.func private @add(%x: memref<?x4xf32>, %y: memref<?x4xf32>, %b: memref<4xf32>, %o: memref<?x4xf32>)
    attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %0 = memref.load %x[%i, %j] : memref<?x4xf32>
      %1 = memref.load %y[%i, %j] : memref<?x4xf32>
      %2 = memref.load %b[%j] : memref<4xf32>
      %3 = arith.addf %0, %1 : f32
      %4 = arith.addf %3, %2 : f32
      memref.store %4, %o[%i, %j] : memref<?x4xf32>
    }
  }
  return
}
func.func private @main.shapes(%x0: index, %x1: index, %y0: index, %y1: index) -> (index, index) {
  %c4 = arith.constant 4 : index
  %is4 = arith.cmpi eq, %x1, %c4 : index
  call @relax.check.1(%is4, %x1) : (i1, index) -> ()
  %ok = arith.cmpi eq, %x0, %y0 : index
  call @relax.check.0(%ok, %y0, %x0, %y0, %y1) : (i1, index, index, index, index) -> ()
  return %x0, %x1 : index, index
}
func.func @main(%x: memref<?x4xf32>, %y: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.signature = {
    name = "main",
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 2, type = "Tensor((n, 4), \\"float32\\")"},
              {name = "y", kind = "tensor", dtype = "float32", ndim = 2, type = "Tensor((n, 4), \\"float32\\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 2}], tuple = false}} {
  %b = call @relax.constant.0() : () -> memref<4xf32>
  call @add(%x, %y, %b, %o) : (memref<?x4xf32>, memref<?x4xf32>, memref<4xf32>, memref<?x4xf32>) -> ()
  return
}
""".replace("@MESSAGE@", MISMATCH.replace('"', '\\"'))


def copying(mlir: str, dtype: str, rank: int) -> str:
    """`main(x)` gives a copy of a tensor of any rank and dtype."""
    dims = "x".join(["?"] * rank)
    type = f"memref<{dims}{'x' if rank else ''}{mlir}>"
    names = [f"%d{i}" for i in range(rank)]
    params = ", ".join(f"{n}: index" for n in names)
    types = ", ".join(["index"] * rank)
    loops = "".join(
        f"  %n{i} = memref.dim %x, %k{i} : {type}\n  scf.for %i{i} = %c0 to %n{i} step %c1 {{\n" for i in range(rank)
    )
    at = ", ".join(f"%i{i}" for i in range(rank))
    constants = "".join(f"  %k{i} = arith.constant {i} : index\n" for i in range(rank))
    give = f"return {', '.join(names)} : {types}" if rank else "return"
    return f"""
func.func private @main.shapes({params}) -> ({types}) {{ {give} }}
func.func @main(%x: {type}, %o: {type}) attributes {{relax.signature = {{name = "main",
    params = [{{name = "x", kind = "tensor", dtype = "{dtype}", ndim = {rank}, type = "Tensor"}}],
    results = [{{kind = "tensor", dtype = "{dtype}", ndim = {rank}}}], tuple = false}}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
{constants}{loops}
  %v = memref.load %x[{at}] : {type}
  memref.store %v, %o[{at}] : {type}
{"}" * rank}
  return
}}
"""


MIXED = """
func.func private @main.shapes(%s0: index, %s1: index, %k: index, %x0: index, %y0: index)
    -> (index, index, index) {
  %sum = arith.addi %s0, %k : index
  return %sum, %x0, %y0 : index, index, index
}
func.func @main(%s0: index, %s1: index, %k: index, %x: memref<?xi32>, %y: memref<?xi64>, %o: memref<?x?xi32>,
                %p: memref<?xi64>) -> (index, index, index) attributes {relax.signature = {
    name = "main",
    params = [{name = "s", kind = "shape", ndim = 2, type = "Shape((a, b))"}, {name = "k", kind = "int", type = "int"},
              {name = "t", kind = "tuple", type = "Tuple(Tensor, Tensor)", fields = [
                {name = "t[0]", kind = "tensor", dtype = "int32", ndim = 1, type = "Tensor((n,), \\"int32\\")"},
                {name = "t[1]", kind = "tensor", dtype = "int64", ndim = 1, type = "Tensor((m,), \\"int64\\")"}]}],
    results = [{kind = "tensor", dtype = "int32", ndim = 2}, {kind = "shape", ndim = 2}, {kind = "int"},
               {kind = "tensor", dtype = "int64", ndim = 1}], tuple = true}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %o, %c0 : memref<?x?xi32>
  %m = memref.dim %o, %c1 : memref<?x?xi32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %v = memref.load %x[%j] : memref<?xi32>
      memref.store %v, %o[%i, %j] : memref<?x?xi32>
    }
  }
  %l = memref.dim %y, %c0 : memref<?xi64>
  scf.for %i = %c0 to %l step %c1 {
    %v = memref.load %y[%i] : memref<?xi64>
    %w = arith.addi %v, %v : i64
    memref.store %w, %p[%i] : memref<?xi64>
  }
  return %s0, %s1, %k : index, index, index
}
"""
