"""Print a prim func as ``@T.prim_func``: linalg functions as blocks, memref functions as loops."""

from __future__ import annotations

import keyword
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relax_mlir.analysis.structural import structural_equal
from relax_mlir.dialects.attributes import (
    KERNEL_SEAL,
    LOOP_KIND,
    PARAMS,
    PATTERN,
    PRIM_ATTRS,
    PRIM_FUNC,
    PROVED,
    SCOPE,
)
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.location import name_of
from relax_mlir.dialects.prim_funcs import PrimParam, against_attributes, prim_params
from relax_mlir.error import RelaxError
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import entry_block, has_one_use
from relax_mlir.loops.values import INDEX
from relax_mlir.mlir import func, ir
from relax_mlir.script import parse
from relax_mlir.script.printer import dictionary_text
from relax_mlir.symbolic import Dim, linear_definition
from relax_mlir.tir.templates import (
    ATOM,
    COMPARISON,
    OPERATORS,
    PRECEDENCE,
    PREFIXES,
    Cutter,
    NoForm,
    Unit,
    allocated_dtype,
    cutter_of,
)

NAMES_IN_USE = frozenset({"T", "R", "I", "cls", "range", "min", "max", "abs"})
"""Names that the script has a use for."""
MAX_DEPTH = 40
"""The maximum nesting depth of expressions; deeper ones are bound to names."""


@dataclass
class ExpressionPrinter:
    """Prints expressions; raises `NoForm`. Expressions are nested in their user if that preserves the op order."""

    function: func.FuncOp
    params: Sequence[PrimParam]
    cutter: Cutter
    names: dict[ir.Value, str] = field(default_factory=dict)
    inline: dict[ir.Value, Callable[[], str]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: set(NAMES_IN_USE))

    def fresh(self, base: str) -> str:
        name, count = base, 0
        while name in self.taken:
            count += 1
            name = f"{base}{count}"
        self.taken.add(name)
        return name

    def text(self, value: ir.Value) -> str:
        if value in self.inline:
            return self.inline[value]()
        if value not in self.names:
            raise NoForm
        return self.names[value]

    def claim(self, units: Sequence[Unit], position: int, within: set[int], depth: int = 0) -> int:
        """Nest expressions in the unit at `position` if parsing creates their ops at the same place.

        Returns the position of the first unit that the text creates. Expressions deeper than `MAX_DEPTH` are not
            nested.
        """
        unit = units[position]
        first = self.claim_literals(units, position, within)
        for number, operand in reversed(list(enumerate(unit.operands))):
            if operand in self.inline:
                continue
            defining = units[first - 1] if first else None
            if (
                defining is None
                or not defining.is_expression
                or defining.result != operand
                or depth >= MAX_DEPTH
                or not self.used_once(operand, unit)
            ):
                continue
            within.add(first - 1)
            first = self.claim(units, first - 1, within, depth + 1)
            self.put(operand, defining, index=number in unit.index_operands)
        return first

    def put(self, value: ir.Value, defining: Unit, *, index: bool) -> None:
        """Use the expression of `defining` as the text of `value`."""
        self.inline[value] = lambda: self.expression(defining, index=index)

    @staticmethod
    def used_once(value: ir.Value, unit: Unit) -> bool:
        """True if a value is a single operand of `unit` and has no other use."""
        inside = list(unit.ops)
        return unit.operands.count(value) == 1 and all(use.owner.operation in inside for use in value.uses)

    def claim_literals(self, units: Sequence[Unit], position: int, within: set[int]) -> int:
        """Nest literals that take their dtype from the other operands; their constants come right before the unit."""
        unit = units[position]
        first = position
        if unit.kind == "store":
            candidates = [unit.operands[-1]]
            wanted: list[DType | None] = [self.cutter.buffers[unit.last.operands[1]]]
        elif unit.kind == "function" and unit.template is not None and len(unit.operands) > 1:
            if unit.template.name == "Select":
                candidates, wanted = unit.operands[1:], list(unit.template.arguments[1:])
            else:
                candidates, wanted = unit.operands, list(unit.template.arguments)
        else:
            return first
        defining_ops = [self.cutter.units.get(v) for v in candidates]
        if unit.kind != "store" and all(m is not None and m.kind == "constant" for m in defining_ops):
            return first
        for value, defining, dtype in reversed(list(zip(candidates, defining_ops, wanted, strict=True))):
            if defining is None or defining.kind != "constant" or not first or units[first - 1] is not defining:
                continue
            if not self.used_once(value, unit) or dtype is None:
                continue
            literal = self.literal(defining, dtype)
            if literal is None:
                continue
            self.inline[value] = _constantly(literal)
            first -= 1
            within.add(first)
        return first

    def literal(self, unit: Unit, dtype: DType) -> str | None:
        """A constant as a bare literal; None for infinities and NaN, which have no literal."""
        value = unit.last.attributes["value"]
        if dtype.is_float:
            number = float(ir.FloatAttr(value).value)
            return repr(number) if math.isfinite(number) else None
        return self.integer(unit, dtype)

    @staticmethod
    def integer(unit: Unit, dtype: DType) -> str:
        number = int(ir.IntegerAttr(unit.last.attributes["value"]).value)
        if dtype.kind == "bool":
            return str(bool(number))
        if dtype.kind == "uint" and number < 0:
            number += 1 << dtype.bits
        return str(number)

    def expression(self, unit: Unit, *, index: bool = False) -> str:
        """The text of a unit; operators are in parentheses where their precedence requires it."""
        if unit.kind == "constant":
            return self.constant(unit, index=index)
        if unit.kind == "load":
            return self.element(unit.last.operands[0], unit.operands)
        if unit.kind == "choice":
            return self.choice(unit)
        if unit.template is None:
            raise NoForm
        name = unit.template.name
        own = PRECEDENCE.get(name, 0)
        if unit.template.literal:
            value = ir.IntegerAttr(unit.ops[0].attributes["value"]).value
            dtype = unit.template.arguments[0]
            number = int(value) + ((1 << dtype.bits) if dtype.kind == "uint" and int(value) < 0 else 0)
            return f"{self.operand(unit.operands[0], own)} {OPERATORS[name]} {number}"
        if name in OPERATORS:
            left, right = unit.operands
            first = self.operand(left, own + (own == COMPARISON))
            return f"{first} {OPERATORS[name]} {self.operand(right, own + 1)}"
        parts = [self.operand(value, own) for value in unit.operands]
        if name == "cast":
            if unit.template.result is INDEX:
                return parts[0] if index else f"T.index({parts[0]})"
            return f"T.{unit.template.result}({parts[0]})"
        if name == "reinterpret":
            return f'T.{name}("{unit.template.result}", {parts[0]})'
        if name in PREFIXES:
            return f"{PREFIXES[name]}{parts[0]}"
        return f"T.{name}({', '.join(parts)})"

    def operand(self, value: ir.Value, least: int) -> str:
        """The text of an operand, in parentheses if its precedence is lower than `least`."""
        text, unit = self.text(value), self.cutter.units.get(value)
        own = ATOM
        if value in self.inline and unit is not None and unit.template is not None:
            own = PRECEDENCE.get(unit.template.name, ATOM)
        return text if own >= least else f"({text})"

    def constant(self, unit: Unit, *, index: bool) -> str:
        """A constant with its dtype; a bare integer if an index is expected."""
        dtype = unit.dtype
        assert dtype is not None
        if dtype is INDEX:
            return self.integer(unit, dtype) if index else f"T.index({self.integer(unit, dtype)})"
        bare = self.literal(unit, dtype)
        if bare is None:
            number = float(ir.FloatAttr(unit.last.attributes["value"]).value)
            bare = f'"{number}"'
        return f"T.{dtype}({bare})"

    def element(self, buffer: ir.Value, places: Sequence[ir.Value]) -> str:
        return f"{self.text(buffer)}[{', '.join(map(self.text, places)) or '()'}]"

    def choice(self, unit: Unit) -> str:
        """``T.if_then_else(c, a, b)``: each branch is one expression."""
        parts = [self.text(unit.operands[0])]
        for region in unit.last.regions:
            parts.append(self.branch([view.operation for view in region.blocks[0].operations]))
        return f"T.if_then_else({', '.join(parts)})"

    def branch(self, ops: Sequence[ir.Operation]) -> str:
        """The single value of a block, an expression that covers all of its ops."""
        value = ops[-1].operands[0]
        units = self.cutter.cut(ops[:-1])
        if not units or units[-1].result != value:
            if units:
                raise NoForm
            return self.text(value)
        if self.claim(units, len(units) - 1, set()) != 0:
            raise NoForm
        return self.expression(units[-1])

    def let(self, unit: Unit) -> list[str]:
        """Bind an expression to a new name."""
        text = self.expression(unit)
        self.names[unit.result] = self.fresh("v")
        return [f"{self.names[unit.result]} = {text}"]


def _name(op: ir.Operation, default: str) -> str:
    """The name in the location of an op, if it is an identifier."""
    name = name_of(op.location) or ""
    return name if name.isidentifier() and not keyword.iskeyword(name) else default


def _constantly(text: str) -> Callable[[], str]:
    return lambda: text


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
        dtype = allocated_dtype(op)
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
        lines.append(f'{2 * INDENT}{", ".join(axes)} = T.axis.remap("{"".join(kinds)}", [{", ".join(loops)}])')
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
        name = _name(op, "block")
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
        self.cutter.buffers[op.results[0]] = allocated_dtype(op)
        self.names[op.results[0]] = self.fresh(_name(op, "buffer"))

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
        if value.template.name not in UPDATES or value.template.literal or not self.used_once(value.result, store):
            return None
        old = self.cutter.units.get(value.operands[0])
        if old is None or old.kind != "load" or old.last.operands[0] != store.last.operands[1]:
            return None
        same = old.operands == store.operands[:-1]
        return value if same and self.used_once(old.result, value) and value.operands[1] != old.result else None

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
        attributes = unit.last.attributes
        scope = f', scope="{ir.StringAttr(attributes[SCOPE]).value}"' if SCOPE in attributes else ""
        dtype = self.cutter.buffers[unit.result]
        return [f'{self.text(unit.result)} = T.alloc_buffer(({listed}), "{dtype}"{scope})']

    def size(self, value: ir.Value) -> str:
        """A size, without its clamp to 0."""
        defining = self.cutter.units.get(value)
        if defining is None or defining.template is None or defining.template.name != "max" or value not in self.inline:
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
        self.names[value] = self.fresh(_name(op, "i"))
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


INDENT = "    "
KNOWN = frozenset({PRIM_FUNC, PARAMS, PATTERN, PRIM_ATTRS, "sym_name", "function_type", "sym_visibility", "arg_attrs"})

CLAIMED = frozenset({PROVED, KERNEL_SEAL})
"""Attributes of a schedule that are not printed: the parsed function is proved or checked like any prim func."""


def print_prim(function: func.FuncOp) -> list[str] | None:
    """The lines of a prim func in T form; None if it has no form that parses to the same function."""
    params = prim_params(function)
    if params is None or not has_script_attributes(function):
        return None
    try:
        lines = _lines(function, params)
    except NoForm:
        return None
    return lines if _reads_back(function, lines) else None


def has_script_attributes(function: func.FuncOp) -> bool:
    """True if the T language can express the name and the attributes of a prim func, which has a body."""
    names = {named.name for named in map(function.attributes.__getitem__, range(len(function.attributes)))}
    name = function.name.value
    known = KNOWN | CLAIMED if PROVED in names else KNOWN
    return not function.is_external and names <= known and name.isidentifier() and not keyword.iskeyword(name)


def _reads_back(function: func.FuncOp, lines: Sequence[str]) -> bool:
    """True if the lines parse to the same function; otherwise the function is printed as MLIR."""
    try:
        again = parse("\n".join(lines))
    except RelaxError:
        return False
    original = ir.Module.create(ir.Location.unknown(function.context))
    copy = function.operation.clone(ip=ir.InsertionPoint(original.body))
    if PROVED in copy.attributes:
        for name in CLAIMED:
            del copy.attributes[name]
    return structural_equal(IRModule(original), again)


def _buffer_type(shape: Sequence[Dim], dtype: DType | None) -> str:
    items = ", ".join(str(d) if isinstance(d, int) else f'"{d}"' for d in shape)
    return f'(({items}{"," if len(shape) == 1 else ""}), "{dtype}")'


def _lines(function: func.FuncOp, params: Sequence[PrimParam]) -> list[str]:
    """The lines; raises `NoForm`."""
    names: dict[ir.Value, str] = dict(zip(function.arguments, (param.name for param in params), strict=True))
    cutter = cutter_of(function, params)
    kind = BlockPrinter if len(function.type.results) else LoopPrinter
    printer = kind(function, params, cutter, names)
    printer.taken |= {p.name for p in params}
    ops = [view.operation for view in entry_block(function).operations]
    ops = ops[_symbols(printer, ops) : -1]
    body = printer.blocks(ops) if isinstance(printer, BlockPrinter) else printer.statements(ops)
    head = ", ".join(f"{p.name}: {_annotation(p)}" for p in params)
    first = ["@T.prim_func", f"def {function.name.value}({head}):"]
    body = body or ["pass"]
    if PRIM_ATTRS in function.attributes:
        if not isinstance(function.attributes[PRIM_ATTRS], ir.DictAttr):
            raise NoForm
        body.insert(0, f"T.func_attr({dictionary_text(function.attributes[PRIM_ATTRS])})")
    return [*first, *(INDENT + line for line in body)]


def _annotation(param: PrimParam) -> str:
    return "T.int64" if param.shape is None else f"T.Buffer{_buffer_type(param.shape, param.dtype)}"


def _symbols(printer: ExpressionPrinter, ops: Sequence[ir.Operation]) -> int:
    """Name the sizes at the beginning of the function; return the number of their ops."""
    defined = {p.name for p in printer.params if p.shape is None}
    position = 0
    for number, param in enumerate(printer.params):
        for axis, dim in enumerate(param.shape or ()):
            name = linear_definition(dim)
            if name is None or name in defined:
                continue
            defined.add(name)
            if position + 2 > len(ops):
                raise NoForm
            constant, size = ops[position : position + 2]
            is_dim = size.name in ("memref.dim", "tensor.dim") and constant.name == "arith.constant"
            if not is_dim or size.operands[0] != printer.function.arguments[number]:
                raise NoForm
            if ir.IntegerAttr(constant.attributes["value"]).value != axis:
                raise NoForm
            printer.names[size.results[0]] = name
            printer.taken.add(name)
            printer.cutter.types[size.results[0]] = INDEX
            position += 2
    return position
