"""Print the body of a prim func on memrefs: loops, conditions and stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import DTYPE, LOOP_KIND
from relax_mlir.dialects.op_attributes import against_attributes
from relax_mlir.ir_queries import entry_block, has_one_use
from relax_mlir.mlir import ir
from relax_mlir.tir.print_expressions import ExpressionPrinter
from relax_mlir.tir.templates import OPERATORS
from relax_mlir.tir.units import NoForm, Unit
from relax_mlir.tir.values import INDEX

INDENT = "    "
UPDATES = (
    "add",
    "subtract",
    "multiply",
    "truediv",
    "floordiv",
    "floormod",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
)


class LoopPrinter(ExpressionPrinter):
    """Prints statements."""

    def statements(self, ops: Sequence[ir.Operation]) -> list[str]:
        for op in ops:
            if op.name == "memref.alloc":
                self.allocation(op)
        units = self.cutter.cut(ops)
        within: set[int] = set()
        starts: list[int] = []
        position = len(units) - 1
        while position >= 0:
            starts.append(position)
            position = self.claim_statement(units, position, within) - 1
        return [line for position in reversed(starts) for line in self.statement(units[position])]

    def allocation(self, op: ir.Operation) -> None:
        element = ir.MemRefType(op.results[0].type).element_type
        if against_attributes(op):
            raise NoForm
        named = ir.StringAttr(op.attributes[DTYPE]).value if DTYPE in op.attributes else None
        dtype = dtypes.from_element_type(element) if named is None else dtypes.dtype(named)
        self.cutter.buffers[op.results[0]] = dtype
        self.names[op.results[0]] = self.fresh("buffer")

    def claim_statement(self, units: Sequence[Unit], position: int, within: set[int]) -> int:
        """Nest expressions in the statement at `position`; return the position of its text's first unit."""
        unit = units[position]
        if unit.kind == "for":
            return self.claim_loop(units, position, within)
        if unit.kind == "store" and self.updated(units, position) is not None:
            return self.claim_update(units, position, within)
        return self.claim(units, position, within)

    def statement(self, unit: Unit) -> list[str]:
        method: Callable[[Unit], list[str]] | None = getattr(self, f"on_{unit.kind}", None)
        return self.let(unit) if method is None else method(unit)

    # -- stores

    def updated(self, units: Sequence[Unit], position: int) -> Unit | None:
        """The operation of ``B[i] += x``, which loads and stores at the same indices."""
        store = units[position]
        value = self.cutter.units.get(store.operands[-1])
        if value is None or not position or units[position - 1] is not value or value.template is None:
            return None
        if (
            value.template.name not in UPDATES
            or value.template.literal
            or not self.used_once(value.result, store)
        ):
            return None
        old = self.cutter.units.get(value.operands[0])
        if old is None or old.kind != "load" or old.last.operands[0] != store.last.operands[1]:
            return None
        same = old.operands == store.operands[:-1]
        return (
            value if same and self.used_once(old.result, value) and value.operands[1] != old.result else None
        )

    def claim_update(self, units: Sequence[Unit], position: int, within: set[int]) -> int:
        value = units[position - 1]
        first = self.claim_literals(units, position - 1, within)
        added = value.operands[1]
        defining = units[first - 1]
        if (
            added not in self.inline
            and defining.is_expression
            and defining.result == added
            and self.used_once(added, value)
        ):
            within.add(first - 1)
            first = self.claim(units, first - 1, within)
            self.put(added, defining, index=False)
        if not first or not units[first - 1].is_expression or units[first - 1].result != value.operands[0]:
            return self.claim(units, position, within)
        first -= 1
        for place in reversed(units[position].operands[:-1]):
            defining = units[first - 1] if first else units[position]
            if defining.is_expression and defining.result == place and len(list(place.uses)) == 2:
                first = self.claim(units, first - 1, within)
                self.put(place, defining, index=True)
        units[position].kind = "update"
        return first

    def on_update(self, unit: Unit) -> list[str]:
        value = self.cutter.units[unit.operands[-1]]
        assert value.template is not None
        operator = OPERATORS[value.template.name]
        target = self.element(unit.last.operands[1], unit.operands[:-1])
        return [f"{target} {operator}= {self.text(value.operands[1])}"]

    def on_store(self, unit: Unit) -> list[str]:
        target = self.element(unit.last.operands[1], unit.operands[:-1])
        return [f"{target} = {self.text(unit.operands[-1])}"]

    def on_alloc(self, unit: Unit) -> list[str]:
        type_ = ir.MemRefType(unit.result.type)
        sizes = list(unit.operands)
        shape = []
        for axis in range(type_.rank):
            if type_.is_dynamic_dim(axis):
                shape.append(self.size(sizes.pop(0)))
            else:
                shape.append(str(type_.get_dim_size(axis)))
        listed = ", ".join(shape) + ("," if len(shape) == 1 else "")
        return [
            f'{self.text(unit.result)} = T.alloc_buffer(({listed}), "{self.cutter.buffers[unit.result]}")'
        ]

    def size(self, value: ir.Value) -> str:
        """A size, without its clamp to 0."""
        defining = self.cutter.units.get(value)
        if (
            defining is None
            or defining.template is None
            or defining.template.name != "max"
            or value not in self.inline
        ):
            raise NoForm
        if self.text(defining.operands[1]) != "0":
            raise NoForm
        return self.text(defining.operands[0])

    def on_assert(self, unit: Unit) -> list[str]:
        message = ir.StringAttr(unit.last.attributes["msg"]).value
        return [f"assert {self.text(unit.operands[0])}, {message!r}"]

    # -- control

    def claim_loop(self, units: Sequence[Unit], position: int, within: set[int]) -> int:
        """The bounds of a loop, and of the nested loops that a ``T.grid`` includes."""
        unit = units[position]
        chain = self.chain(unit.last)
        start, _, step = unit.operands
        first = position
        bounds = list(unit.operands)
        zero, one = (units[position - 2], units[position - 1]) if position >= 2 else (unit, unit)
        is_plain = _is(zero, start, 0) and _is(one, step, 1)
        if is_plain and all(len(list(v.uses)) == len(chain) for v in (start, step)):
            first, bounds = position - 2, [op.operands[1] for op in chain]
            unit.kind = "grid"
        elif len(chain) > 1:
            raise NoForm
        for value in reversed(bounds):
            defining = units[first - 1] if first else unit
            if defining.is_expression and defining.result == value and has_one_use(value):
                first = self.claim(units, first - 1, within)
                self.put(value, defining, index=True)
        return first

    @staticmethod
    def chain(op: ir.Operation) -> list[ir.Operation]:
        """Directly nested loops with the same begin and step."""
        found = [op]
        while LOOP_KIND not in op.attributes:
            inner = [view.operation for view in entry_block(op).operations]
            shared = len(inner) == 2 and inner[0].name == "scf.for" and LOOP_KIND not in inner[0].attributes
            if (
                not shared
                or len(inner[0].results)
                or inner[0].operands[0] != op.operands[0]
                or inner[0].operands[2] != op.operands[2]
            ):
                break
            op = inner[0]
            found.append(op)
        return found

    def on_grid(self, unit: Unit) -> list[str]:
        chain = self.chain(unit.last)
        ends = ", ".join(self.text(op.operands[1]) for op in chain)
        names = ", ".join(self.variable(op) for op in chain)
        kind = self.loop_kind(unit.last)
        head = f"for {names} in {'T.grid' if len(chain) > 1 else kind}({ends}):"
        return [head, *self.body(entry_block(chain[-1]))]

    def on_for(self, unit: Unit) -> list[str]:
        start, stop, step = unit.operands
        parts = [self.text(start), self.text(stop), self.text(step)]
        listed = ", ".join(parts[:2] if parts[2] == "1" else parts)
        head = f"for {self.variable(unit.last)} in {self.loop_kind(unit.last)}({listed}):"
        return [head, *self.body(entry_block(unit.last))]

    @staticmethod
    def loop_kind(op: ir.Operation) -> str:
        if against_attributes(op):
            raise NoForm
        return f"T.{ir.StringAttr(op.attributes[LOOP_KIND]).value}" if LOOP_KIND in op.attributes else "range"

    def variable(self, op: ir.Operation) -> str:
        value = entry_block(op).arguments[0]
        self.names[value] = self.fresh("i")
        self.cutter.types[value] = INDEX
        return self.names[value]

    def body(self, block: ir.Block) -> list[str]:
        """The statements of a block without its terminator."""
        ops = [view.operation for view in block.operations]
        lines = self.statements(ops[:-1]) or ["pass"]
        return [INDENT + line for line in lines]

    def on_while(self, unit: Unit) -> list[str]:
        before, after = (region.blocks[0] for region in unit.last.regions)
        if unit.operands or len(before.arguments):
            raise NoForm
        condition = self.branch([view.operation for view in before.operations])
        return [f"while {condition}:", *self.body(after)]

    def on_if(self, unit: Unit) -> list[str]:
        if len(unit.last.results):
            raise NoForm
        lines = [f"if {self.text(unit.operands[0])}:", *self.body(entry_block(unit.last))]
        other = unit.last.regions[1].blocks
        return [*lines, "else:", *self.body(other[0])] if len(other) else lines


def _is(unit: Unit, value: ir.Value, number: int) -> bool:
    """True if `unit` defines `value` as the constant `number`."""
    if unit.kind != "constant" or unit.result != value:
        return False
    return int(ir.IntegerAttr(unit.last.attributes["value"]).value) == number
