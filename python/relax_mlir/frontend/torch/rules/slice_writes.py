"""In-place writes of slices at index tensors, for key/value caches."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall
from relax_mlir.ir_module import IRModule
from relax_mlir.symbolic import Dim


def put_slices(
    call: OpCall, x: Value, axis: int, places: Value, count: Dim, values: Value, *, from_end: bool = True
) -> Value:
    """Return `x` with ``x[:, places] = values``, written in order, so that the last of several values at an index wins.

    `places` is a vector of `count` integer indices on `axis`; negative ones count from the end if `from_end`. An index
    out of range is a `BoundsError` at run time. `x` is copied if its old elements are still needed.
    """
    whole = x.tensor_info.known_shape
    assert whole is not None
    shape, rank, dtype = [*whole[:axis], count, *whole[axis + 1 :]], len(whole), str(x.dtype)
    kind = "put_slices" if from_end else "put_slices_in_range"
    name = f"{kind}_{axis}_of_{rank}_{dtype}_{places.dtype}"
    if name not in call.builder.symbol_names():
        text = _text(name, axis, rank, dtype, str(places.dtype), from_end)
        call.builder.add_func(IRModule.parse(text, trusted=True), name)
    given = [places, R.broadcast_to(values, shape), x]
    return R.call_tir_inplace(name, given, 2, x.tensor_info)


def _text(name: str, axis: int, rank: int, dtype: str, integer: str, from_end: bool) -> str:
    """Return the prim func: a loop over the indices that copies one slice each."""
    element, place = (str(dtypes.dtype(kind).storage_type()) for kind in (dtype, integer))
    whole = f"memref<{'?x' * rank}{element}>"
    steps = ", ".join("?" if number != rank - 1 else "1" for number in range(rank))
    part = f"memref<{'?x' * rank}{element}, strided<[{steps}], offset: ?>>"
    others = [number for number in range(rank) if number != axis]
    dims = [f"d{number}" for number in range(rank)]
    sizes = ", ".join("1" if number == axis else f"%n{number}" for number in range(rank))
    ones = ", ".join("1" for _ in range(rank))

    def window(source: str, at: str) -> str:
        offsets = ", ".join(at if number == axis else "0" for number in range(rank))
        return f"memref.subview {source}[{offsets}][{sizes}][{ones}] : {whole} to {typed(part)}"

    def typed(text: str) -> str:
        return text.replace(
            "?x" * rank, "".join("1x" if number == axis else "?x" for number in range(rank)), 1
        )

    def declared(own: str, length: str, kind: str) -> str:
        names = ", ".join(f'"{length if number == axis else dims[number]}"' for number in range(rank))
        return f'{{name = "{own}", shape = [{names}], dtype = "{kind}"}}'

    signed = "arith.select %is_negative, %from_end, %signed" if from_end else "arith.addi %signed, %c0"
    counts = "\n".join(f"  %n{n} = memref.dim %x, %c{n} : {whole}" for n in others)
    constants = "\n".join(f"  %c{n} = arith.constant {n} : index" for n in range(max(rank, 2)))
    return f"""
func.func private @{name}(%places: memref<?x{place}>, %values: {whole}, %x: {whole}) attributes {{relax.prim_func,
    relax.params = [{{name = "places", shape = ["count"], dtype = "{integer}"}}, {declared("values", "count", dtype)},
    {declared("x", f"d{axis}", dtype)}]}} {{
{constants}
{counts}
  %count = memref.dim %places, %c0 : memref<?x{place}>
  %size = memref.dim %x, %c{axis} : {whole}
  scf.for %i = %c0 to %count step %c1 {{
    %p = memref.load %places[%i] : memref<?x{place}>
    %signed = arith.index_cast %p : {place} to index
    %from_end = arith.addi %signed, %size : index
    %is_negative = arith.cmpi slt, %signed, %c0 : index
    %at = {signed} : index
    %new = {window("%values", "%i")}
    %old = {window("%x", "%at")}
    memref.copy %new, %old : {typed(part)} to {typed(part)}
  }}
  return
}}
"""
