"""Print the body of a prim func in linalg: each ``linalg.generic`` becomes a loop nest around one block."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import DTYPE
from relax_mlir.dialects.location import name_of
from relax_mlir.dialects.op_attributes import against_attributes
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import ir
from relax_mlir.tir.print_expressions import ExpressionPrinter
from relax_mlir.tir.units import NoForm, Unit
from relax_mlir.tir.values import INDEX

INDENT = "    "


class BlockPrinter(ExpressionPrinter):
    """Prints blocks."""

    def blocks(self, ops: Sequence[ir.Operation]) -> list[str]:
        names = (param.name for param in self.params)
        self.buffers: dict[ir.Value, str] = dict(zip(self.function.arguments, names, strict=True))
        self.shapes = {p.name: [str(d) for d in p.shape or ()] for p in self.params}
        self.initial: dict[ir.Value, str] = {}
        self.dtypes = {p.name: p.dtype for p in self.params}
        self.titles: dict[str, int] = {}
        waiting: list[ir.Operation] = []
        lines: list[str] = []
        for op in ops:
            if op.name == "tensor.empty" and not waiting:
                lines.append(self.allocation(op))
            elif op.name == "linalg.fill":
                self.fill(op, waiting)
                waiting = []
            elif op.name == "linalg.generic" and not waiting:
                lines += self.generic(op)
            else:
                waiting.append(op)
        if waiting:
            raise NoForm
        return lines

    def allocation(self, op: ir.Operation) -> str:
        type_ = ir.RankedTensorType(op.results[0].type)
        sizes = list(op.operands)
        shape = [
            self.text(sizes.pop(0)) if type_.is_dynamic_dim(axis) else str(type_.get_dim_size(axis))
            for axis in range(type_.rank)
        ]
        if against_attributes(op):
            raise NoForm
        named = ir.StringAttr(op.attributes[DTYPE]).value if DTYPE in op.attributes else None
        dtype = dtypes.from_element_type(type_.element_type) if named is None else dtypes.dtype(named)
        name = self.fresh("buffer")
        self.buffers[op.results[0]], self.shapes[name], self.dtypes[name] = name, shape, dtype
        listed = ", ".join(shape) + ("," if len(shape) == 1 else "")
        return f'{name} = T.alloc_buffer(({listed}), "{dtype}")'

    def fill(self, op: ir.Operation, waiting: Sequence[ir.Operation]) -> None:
        """The value of a ``T.init``: one constant expression."""
        units = self.cutter.cut(waiting)
        name = self.buffers[op.operands[1]]
        dtype = self.dtypes[name]
        if not units or dtype is None or not all(unit.is_expression for unit in units):
            raise NoForm
        if len(units) == 1 and units[0].kind == "constant" and units[0].result == op.operands[0]:
            bare = self.literal(units[0], dtype)
            value = bare if bare is not None else self.constant(units[0], index=False)
        else:
            everything = [*units, Unit("yield", [op], [op.operands[0]])]
            if self.claim(everything, len(units), set()):
                raise NoForm
            value = self.text(op.operands[0])
        self.initial[op.results[0]] = value
        self.buffers[op.results[0]] = name

    def generic(self, op: ir.Operation) -> list[str]:
        maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(op.attributes["indexing_maps"])]
        kinds = ["R" if "reduction" in str(k) else "S" for k in ir.ArrayAttr(op.attributes["iterator_types"])]
        places = [_axes(m) for m in maps]
        operands = [self.buffers.get(v, "") for v in op.operands]
        if len(op.results) != 1 or "" in operands or len(kinds) == 0:
            raise NoForm
        loops = [self.fresh("i") for _ in kinds]
        axes = [self.fresh("v") for _ in kinds]
        extents: dict[int, str] = {}
        for name, numbers in zip(operands, places, strict=True):
            for axis, number in enumerate(numbers):
                if number is not None:
                    extents.setdefault(number, self.shapes[name][axis])
        if len(extents) != len(kinds):
            raise NoForm
        elements = [
            f"{name}[{', '.join('0' if n is None else axes[n] for n in p) or '()'}]"
            for name, p in zip(operands, places, strict=True)
        ]
        block = entry_block(op)
        for argument, name, text in zip(block.arguments, operands, elements, strict=True):
            self.names[argument] = text
            known = self.dtypes[name]
            assert known is not None
            self.cutter.types[argument] = known
        ends = ", ".join(extents[n] for n in range(len(kinds)))
        lines = [f"for {', '.join(loops)} in {'T.grid' if len(kinds) > 1 else 'range'}({ends}):"]
        lines.append(f'{INDENT}with T.block("{self.title(op)}"):')
        lines.append(
            f'{2 * INDENT}{", ".join(axes)} = T.axis.remap("{"".join(kinds)}", [{", ".join(loops)}])'
        )
        if "R" in kinds:
            initial = self.initial.get(op.operands[len(operands) - 1])
            if initial is None:
                raise NoForm
            lines += [f"{2 * INDENT}with T.init():", f"{3 * INDENT}{elements[-1]} = {initial}"]
        before, value = self.value(block, operands[-1], axes)
        lines += [f"{2 * INDENT}{line}" for line in (*before, f"{elements[-1]} = {value}")]
        self.buffers[op.results[0]] = operands[-1]
        return lines

    def title(self, op: ir.Operation) -> str:
        """The original name of a block, if it is an identifier that no other block has."""
        name = name_of(op.location) or ""
        name = name if name.isidentifier() and not keyword.iskeyword(name) else "block"
        self.titles[name] = self.titles.get(name, -1) + 1
        return f"{name}{self.titles[name] or ''}"

    def value(self, block: ir.Block, target: str, axes: Sequence[str]) -> tuple[list[str], str]:
        """The local scalars that a block binds, and the value that it stores."""
        ops = [view.operation for view in block.operations]
        for op in ops:
            if op.name == "linalg.index":
                self.names[op.results[0]] = axes[ir.IntegerAttr(op.attributes["dim"]).value]
        units = self.cutter.cut(ops[:-1])
        store = Unit("yield", [ops[-1]], list(ops[-1].operands))
        dtype = self.dtypes[target]
        if len(units) == 1 and units[0].kind == "constant" and dtype is not None:
            return [], self.literal(units[0], dtype) or self.constant(units[0], index=False)
        everything = [*(u for u in units if u.kind != "axis"), store]
        starts = [self.claim(everything, len(everything) - 1, set())]
        while starts[-1] > 0:
            if not everything[starts[-1] - 1].is_expression:
                raise NoForm
            starts.append(self.claim(everything, starts[-1] - 1, set()))
        ends = [start - 1 for start in reversed(starts[:-1])]
        scalars = [line for end in ends for line in self.let(everything[end])]
        return scalars, self.text(store.operands[0])


def _axes(affine: ir.AffineMap) -> list[int | None]:
    """The loop of each dimension; None: the index 0."""
    found: list[int | None] = []
    for expression in affine.results:
        if isinstance(expression, ir.AffineConstantExpr) and expression.value == 0:
            found.append(None)
            continue
        if not isinstance(expression, ir.AffineDimExpr):
            raise NoForm
        found.append(int(expression.position))
    return found


__all__ = ["INDEX", "BlockPrinter"]
