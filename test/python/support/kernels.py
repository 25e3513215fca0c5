"""The prim funcs of a module as Python functions: those on tensors compiled, shape functions evaluated op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.types import Shape, Tensor, Tuple
from relax_mlir.error import ShapeError
from relax_mlir.mlir import func, ir
from relax_mlir.runtime import to_numpy
from relax_mlir.runtime.build import build_legalized
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

Array = np.ndarray[Any, Any]
Kernel = Callable[[Sequence[Array], Sequence[Array], Sequence[int]], None]
"""``kernel(inputs, outputs, integers)`` writes the outputs."""


@dataclass(frozen=True)
class Use:
    """A call of a prim func in the module: the number of new results, and results in these arguments (-1: new)."""

    name: str
    outputs: int
    inplace: tuple[int, ...] = ()


def compile_prims(mod: rx.IRModule) -> dict[str, Kernel]:
    """The prim funcs that `mod`, at level R1, calls, each with a public wrapper function."""
    work = mod.clone()
    uses: dict[str, Use] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in ("relax.call_tir", "relax.call_tir_inplace"):
            use = _use(op)
            uses[use.name] = use
        return ir.WalkResult.ADVANCE

    work.mlir.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    with work.context, ir.Location.unknown():
        prims = {op.name.value: op for op in work.mlir.body.operations if PRIM_FUNC in op.attributes}
        for op in list(work.mlir.body.operations):
            if PRIM_FUNC not in op.attributes:
                op.operation.erase()
        dynamic = {}
        for number, use in enumerate(uses.values()):
            outs, text = _wrapper(f"wrapper{number}", prims[use.name], use)
            dynamic[use.name] = [_dynamic_axes(info) for info in outs]
            work.mlir.body.append(ir.Operation.parse(text))
    # The wrappers do not relate the sizes of results to those of arguments, as the module does.
    with PassContext(config={"tir.bounds_check": "none"}):
        executable = build_legalized(work, Target.parse("cpu").runnable_here(), cache=False)
    return {
        use.name: _kernel(executable[f"wrapper{number}"], use, dynamic[use.name])
        for number, use in enumerate(uses.values())
    }


def _use(op: ir.Operation) -> Use:
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    results = op.results[0].type
    count = results.num_types if isinstance(results, ir.TupleType) else 1
    if op.name == "relax.call_tir":
        return Use(name, count)
    indices = tuple(ir.IntegerAttr(i).value for i in ir.ArrayAttr(op.attributes["inplace_indices"]))
    return Use(name, indices.count(-1), indices)


def _info(type_: ir.Type, prefix: str) -> Tensor:
    dims = [f"{prefix}{i}" if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)]
    return Tensor(dims, dtypes.from_element_type(type_.element_type))


def _wrapper(name: str, prim: func.FuncOp, use: Use) -> tuple[list[Tensor], str]:
    """The results that the wrapper allocates, and its text."""
    inputs = list(prim.type.inputs)
    tensors = [t for t in inputs if isinstance(t, ir.ShapedType)]
    integers = inputs[len(tensors) :]
    assert all(isinstance(t, ir.IndexType) for t in integers), "integers stand behind the tensors"
    count = len(tensors) - use.outputs
    ins = [_info(t, f"a{i}_") for i, t in enumerate(tensors[:count])]
    outs = [_info(t, f"b{i}_") for i, t in enumerate(tensors[count:])]
    new = iter(outs)
    results = [ins[i] if i >= 0 else next(new) for i in use.inplace] if use.inplace else outs
    extra = [f"v{i}" for i in range(len(integers))]
    sizes = Shape([d for out in outs for d in out.shape if not isinstance(d, int)] + extra)
    types = [str(info.to_type()) for info in ins]
    names = [f"%a{i}" for i in range(len(ins))]
    parameters = ", ".join([*map("{}: {}".format, names, types), f"%sizes: {sizes.to_type()}"])
    result = Tuple(results).to_type() if len(results) > 1 else results[0].to_type()
    given = f"tuple<{', '.join(types)}>"
    pack = f"builtin.unrealized_conversion_cast {', '.join(names)} : {', '.join(types)} to {given}"
    if not ins:
        pack = "builtin.unrealized_conversion_cast to tuple<>"
    tir_vars = "[" + ", ".join(f'"{v}"' for v in extra) + "]"
    callee = ir.FlatSymbolRefAttr.get(prim.name.value)
    op = "call_tir_inplace" if use.inplace else "call_tir"
    indices = f", inplace_indices = [{', '.join(map(str, use.inplace))}]" if use.inplace else ""
    return (
        outs,
        f"""func.func @{name}({parameters}) -> {result} {{
      %args = {pack}
      %r = "relax.{op}"(%args) {{callee = {callee}, tir_vars = {tir_vars}{indices}}} : ({given}) -> {result}
      return %r : {result}
    }}""",
    )


def _dynamic_axes(info: Tensor) -> list[int]:
    return [axis for axis, dim in enumerate(info.shape) if not isinstance(dim, int)]


def _kernel(compiled: Any, use: Use, dynamic: Sequence[Sequence[int]]) -> Kernel:
    def kernel(inputs: Sequence[Array], outputs: Sequence[Array], integers: Sequence[int]) -> None:
        sizes = [out.shape[axis] for out, axes in zip(outputs, dynamic, strict=True) for axis in axes]
        found = compiled(*map(_signless, inputs), tvm_ffi.Shape([*sizes, *integers]))
        new = iter(outputs)
        places = [inputs[i] if i >= 0 else next(new) for i in use.inplace] if use.inplace else outputs
        for out, array in zip(places, found if len(places) > 1 else [found], strict=True):
            _signless(out)[...] = to_numpy(array)

    return kernel


def _signless(array: Array) -> Array:
    """Unsigned integers in the form that prim funcs use."""
    return array.view(f"i{array.itemsize}") if array.dtype.kind == "u" else array


def shape_function(prim: func.FuncOp, heap: Array) -> None:
    """Evaluate a prim func that reads and writes a shape heap."""
    values: dict[ir.Value, int] = {}
    for view in prim.regions[0].blocks[0].operations:
        op = view.operation
        operands = [values.get(v, 0) for v in op.operands]
        if op.name == "arith.constant":
            values[op.results[0]] = int(ir.IntegerAttr(op.attributes["value"]).value)
        elif op.name == "memref.load":
            values[op.results[0]] = int(heap[operands[1]])
        elif op.name == "memref.store":
            heap[operands[2]] = operands[0]
        elif op.name == "cf.assert":
            if not operands[0]:
                raise ShapeError(ir.StringAttr(op.attributes["msg"]).value)
        elif op.name == "arith.cmpi":
            predicate = int(ir.IntegerAttr(op.attributes["predicate"]).value)
            compare = {0: int.__eq__, 1: int.__ne__, 3: int.__le__, 5: int.__ge__}[predicate]
            values[op.results[0]] = int(compare(*operands))
        elif op.name == "arith.select":
            values[op.results[0]] = operands[1] if operands[0] else operands[2]
        elif op.name != "func.return":
            values[op.results[0]] = ARITHMETIC[op.name](*operands)


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.andi": lambda a, b: a & b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.muli": lambda a, b: a * b,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.minsi": min,
    "arith.maxsi": max,
}
