"""Runtime declarations, which levels T to V call and the lowering to LLVM defines, and the frames of their calls."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import CHECK, CONSTANT, CONSTANT_VALUE, PACKED
from relax_mlir.ir_queries import callee_of
from relax_mlir.mlir import func, ir, llvm
from relax_mlir.mlir_text import Fragment

# Runtime declarations: private functions that levels T to V declare and the lowering to LLVM defines.
#
# Each is an external ``func.func`` with an attribute: `CHECK` (run-time check with a message), `CONSTANT` (pointer of
# the constant table), `PACKED` (call of a registered packed function). Functions on handles have names that begin with
# ``relax.object.``. Upstream passes see ordinary calls.


SHAPES_SUFFIX = ".shapes"
"""``f.shapes`` checks the dimensions of the arguments of ``f`` and computes the sizes of its results."""

OWN_PREFIX = "relax."
"""Functions of the project have names with this prefix; `mangle-names` prefixes those of users."""

LEAVE = "relax.leave_if"
"""The declaration whose call leaves its function without an error if its argument is true (`lower-checks`)."""

STATUS_OF = "relax.status_of"
"""On a declaration: its calls call this function and return its status (`lower-checks`)."""


@dataclass
class RuntimeDeclarations:
    """Adds declarations to a module and emits calls of them at the current insertion point."""

    module: ir.Module
    _checks: int = 0
    _packed: int = 0
    _constants: dict[str, tuple[str, ir.MemRefType]] | None = None
    _objects: set[str] = field(default_factory=set)

    def check(self, condition: ir.Value, kind: str, message: str, values: Sequence[ir.Value]) -> None:
        """Raise `kind` with `message` at run time unless `condition` holds; ``{i}`` in it shows ``values[i]``."""
        symbol = f"relax.check.{self._checks}"
        self._checks += 1
        attribute = ir.DictAttr.get({"kind": ir.StringAttr.get(kind), "message": ir.StringAttr.get(message)})
        types = [ir.IntegerType.get_signless(1), *(ir.IndexType.get() for _ in values)]
        self._declare(symbol, types, [], {CHECK: attribute})
        func.CallOp([], symbol, [condition, *values])

    def constant(self, value: ir.Attribute) -> ir.Value:
        """A read-only memref of a constant in the table; equal resources share an entry."""
        if self._constants is None:
            self._constants = {}
        key = str(value)
        if key not in self._constants:
            index = len(self._constants)
            tensor_type = ir.RankedTensorType(value.type)
            element = dtypes.from_element_type(tensor_type.element_type).storage_type()
            memref_type = ir.MemRefType.get(tensor_type.shape, element)
            symbol = f"relax.constant.{index}"
            number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)
            self._declare(symbol, [], [memref_type], {CONSTANT: number, CONSTANT_VALUE: value})
            self._constants[key] = (symbol, memref_type)
        symbol, memref_type = self._constants[key]
        return func.CallOp([memref_type], symbol, []).results[0]

    def packed(
        self,
        name: str,
        style: str,
        arguments: Sequence[str],
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type],
        kinds: Sequence[str],
        dtype_names: Sequence[str],
    ) -> list[ir.Value]:
        """Call the packed function `name`.

        `arguments`: one entry per argument of the packed function: ``tensor``, ``shape:RANK``, ``int``, ``any`` take
        operands; ``str:…``, ``int:…``, ``float:…``, ``bool:…`` are literals. `kinds`: the same per result.
        `dtype_names`: dtypes of the tensor operands and then of the tensor results, in order (MLIR's types do not keep
        signedness).
        """
        symbol = f"relax.packed.{self._packed}"
        self._packed += 1
        attribute = ir.DictAttr.get(
            {
                "name": ir.StringAttr.get(name),
                "style": ir.StringAttr.get(style),
                "args": ir.ArrayAttr.get([ir.StringAttr.get(a) for a in arguments]),
                "results": ir.ArrayAttr.get([ir.StringAttr.get(k) for k in kinds]),
                "dtypes": ir.ArrayAttr.get([ir.StringAttr.get(d) for d in dtype_names]),
            }
        )
        self._declare(symbol, [operand.type for operand in operands], list(results), {PACKED: attribute})
        return list(func.CallOp(list(results), symbol, list(operands)).results)

    def object(self, name: str, operands: Sequence[ir.Value], results: Sequence[ir.Type]) -> list[ir.Value]:
        """Call the function ``relax.object.<name>`` (see `relax_mlir.lowering.entry.lower_objects`)."""
        symbol = f"relax.object.{name}"
        if symbol not in self._objects:
            self._objects.add(symbol)
            self._declare(symbol, [operand.type for operand in operands], list(results), {})
        return list(func.CallOp(list(results), symbol, list(operands)).results)

    def _declare(
        self, symbol: str, inputs: list[ir.Type], results: list[ir.Type], attributes: dict[str, ir.Attribute]
    ) -> None:
        with ir.InsertionPoint.at_block_begin(self.module.body):
            declaration = func.FuncOp(symbol, ir.FunctionType.get(inputs, results), visibility="private")
            for key, value in attributes.items():
                declaration.attributes[key] = value


# The frame of a function emitted with builders (see `support`): the resources that its calls must release.


FRAME = "relax.frame"
DEFER = "relax.defer"


def declare_release(module: ir.Module) -> None:
    """Declare `relax.rt.release` and `relax.rt.release_to` in the module; `emit-ffi-wrappers` defines them."""
    fragment = Fragment()
    fragment.declare("relax.rt.release", "(!llvm.ptr) -> ()")
    fragment.declare("relax.rt.release_to", "(!llvm.ptr, !llvm.ptr) -> ()")
    fragment.splice(module)


def frame_of(function: func.FuncOp) -> ir.Value:
    """The frame of `function` (created at its entry if it has none), released on every exit."""
    entry = function.body.blocks[0]
    for op in entry.operations:
        if FRAME in op.attributes:
            return op.results[0]
    pointer, size = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    with ir.InsertionPoint.at_block_begin(entry), function.location:
        eight = llvm.ConstantOp(size, ir.IntegerAttr.get(size, 8)).result
        byte = ir.TypeAttr.get(ir.IntegerType.get_signless(8))
        frame = llvm.AllocaOp(pointer, eight, byte, alignment=8)
        frame.operation.attributes[FRAME] = ir.UnitAttr.get()
        llvm.StoreOp(llvm.ZeroOp(pointer).result, frame.result)
        release = func.CallOp([], "relax.rt.release", [frame.result])
        release.operation.attributes[DEFER] = ir.StringAttr.get("always")
    return frame.result


def calls_of(function: func.FuncOp, callees: Container[str]) -> list[func.CallOp]:
    """The calls in `function` of functions named in `callees`."""
    found: list[func.CallOp] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call" and callee_of(op) in callees:
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return found
