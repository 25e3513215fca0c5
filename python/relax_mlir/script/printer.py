"""Print a Relax module (levels R0 and R1) as script, the readable alternative to MLIR's generic form."""

from __future__ import annotations

import json
import keyword
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np

from relax_mlir import op as builders
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.attributes import (
    BY_SIZE,
    FUNCTION_ATTRS,
    MODULE_ATTRS,
    PARAM_NAME,
    PARAMS,
    PRIM_FUNC,
    SYMBOL_BOUNDS,
)
from relax_mlir.dialects.base import RelaxOp, ir_fields, op_class
from relax_mlir.dialects.constants import broadcast_splat, resource_name, to_numpy
from relax_mlir.dialects.control import known_integer, loop_symbol
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.structure import TUPLE, integer_of
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.dialects.traits import (
    IsConditional,
    IsLoop,
    IsStatement,
    ListsArguments,
    WrittenInside,
    has_trait,
    ops_with,
)
from relax_mlir.dialects.types import Callable as CallableInfo
from relax_mlir.dialects.types import (
    Object,
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dims_from_attr,
    struct_info,
)
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError, VerifyError
from relax_mlir.ir_queries import callee_of, defining_op, entry_block, free_number, has_one_use, ops_of
from relax_mlir.lazy import Hook
from relax_mlir.mlir import func, ir
from relax_mlir.op.op_registry import written_name
from relax_mlir.symbolic import Dim

print_prim: Hook[[func.FuncOp], list[str] | None] = Hook("script.print_prim")
"""The lines of a prim func in T form; None if it has no form that parses to the same function."""

INLINE_ELEMENTS = 16
"""Constants of at most this many elements are literals; larger ones are referenced by name."""
CONSTANT = "relax.constant"


def script_constants(module: ir.Module) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays that the script form of `module` names: what `parse` takes as `constants`.

    A ``dense`` splat is a read-only broadcast scalar, which takes the memory of one element.
    """
    with module.context:
        return {name: _elements(op.attributes["value"]) for op, name in _named(module)}


def _elements(attribute: ir.Attribute) -> np.ndarray[Any, Any]:
    splat = broadcast_splat(attribute)
    return to_numpy(attribute) if splat is None else splat


def constant_names(module: ir.Module) -> dict[ir.Operation, str]:
    """The names of the constants that are too large for a literal."""
    return dict(_named(module))


def _named(module: ir.Module) -> Iterator[tuple[ir.Operation, str]]:
    taken = {resource_name(op.attributes["value"]) for op in ops_of(module.operation, CONSTANT) if _is_resource(op)}
    count = 0
    for op in ops_of(module.operation, CONSTANT):
        if literal(op.attributes["value"]) is not None:
            continue
        if _is_resource(op):
            yield op, resource_name(op.attributes["value"])
            continue
        while f"constant_{count}" in taken:
            count += 1
        taken.add(f"constant_{count}")
        yield op, f"constant_{count}"


def _is_resource(op: ir.Operation) -> bool:
    return not isinstance(op.attributes["value"], ir.DenseElementsAttr)


def literal(value: ir.Attribute) -> str | None:
    """Write a constant as ``R.const(...)``; None if it is too large or a literal would lose information."""
    info = struct_info(value.type)
    assert isinstance(info, Tensor) and info.shape is not None and info.dtype is not None
    if math.prod(d for d in info.shape if isinstance(d, int)) > INLINE_ELEMENTS:
        return None
    array = to_numpy(value)
    listed = array.tolist()
    again = np.array(listed, dtype=info.dtype.numpy)
    if again.shape != array.shape or again.tobytes() != array.tobytes():
        return None
    return f'R.const({number_text(listed)}, "{info.dtype}")'


def number_text(item: Any) -> str:  # noqa: ANN401 - numbers in lists
    """Write numbers, in nested lists, as Python text. Infinities and NaN have no literal."""
    if isinstance(item, list):
        return f"[{', '.join(map(number_text, item))}]"
    if isinstance(item, float) and not math.isfinite(item):
        return f'float("{item}")'
    return repr(item)


INLINE = ops_with(WrittenInside)
NEVER = ops_with(IsConditional, IsLoop, IsStatement)


def inlined_ops(ops: Sequence[ir.Operation], *, as_expression: bool = False) -> set[ir.Operation]:
    """Return the ops of a block that are printed inside their user.

    Expressions are parsed innermost first, left to right. An op may be nested in its user if that is its only use and
    if parsing emits it at its position in the block. With `as_expression`, the block must become one expression, so any
    op may be nested.
    """
    found: set[ir.Operation] = set()
    position = len(ops) - 1
    while position >= 0:
        position = _claim(ops, position, found, as_expression) - 1
    return found


def _claim(ops: Sequence[ir.Operation], position: int, found: set[ir.Operation], anything: bool) -> int:
    """Nest ops in the op at `position`; return the position of the first op of its expression."""
    first = position
    for operand in reversed(_expression_operands(ops[position])):
        defining = defining_op(operand)
        if (
            first == 0
            or defining is None
            or defining != ops[first - 1]
            or not _may_stand_inside(defining, operand, ops[position], anything)
        ):
            continue
        found.add(defining)
        first = _claim(ops, first - 1, found, anything)
    return first


def _expression_operands(op: ir.Operation) -> list[ir.Value]:
    """Operands that are printed with the op; values that a loop carries are bound to names before it."""
    operands = list(op.operands)
    if op.name == "scf.while":
        return []
    return operands[:3] if op.name == "scf.for" else operands


def _may_stand_inside(op: ir.Operation, value: ir.Value, user: ir.Operation, anything: bool) -> bool:
    if not has_one_use(value) or op.name in NEVER or (not anything and op.name not in INLINE):
        return False
    if op.name == TUPLE and user.name == "relax.tuple_get_item":
        return False  # Python would take the field from the tuple literal
    if op.name == "relax.tuple_get_item" and _says_less(op):
        return False  # its type is annotated at its name
    return op.name != "relax.constant" or literal(op.attributes["value"]) is not None


def _says_less(get: ir.Operation) -> bool:
    """True if a field's type differs from that in the tuple type, being less precise."""
    fields = ir.TupleType(get.operands[0].type)
    number = ir.IntegerAttr(get.attributes["index"]).value
    return bool(fields.get_type(number) != get.results[0].type)


SIGNATURE = frozenset({"sym_name", "function_type", "sym_visibility", "arg_attrs"})
"""Attributes that the head of a function shows."""
OPERATORS = {"arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.floordivsi": "//"}
"""Python's operators on integers."""
PREDICATES = ("==", "!=", "<", "<=", ">", ">=")
"""Comparisons of integers, in the order of `arith`'s predicates."""
RESERVED = frozenset({"R", "T", "I", "cls", "constants", "float", "range"})
"""Names that are reserved in a script."""


def is_scriptable(op: ir.OpView) -> TypeGuard[func.FuncOp]:
    """True for Relax functions whose every op, type and attribute has a script form."""
    if not isinstance(op, func.FuncOp) or op.is_external or PRIM_FUNC in op.attributes:
        return False
    name = op.name.value
    if not name.isidentifier() or keyword.iskeyword(name) or "res_attrs" in op.attributes:
        return False
    if "sym_visibility" in op.attributes and ir.StringAttr(op.attributes["sym_visibility"]).value != "private":
        return False
    parameters = op.attributes["arg_attrs"] if "arg_attrs" in op.attributes else ()  # noqa: SIM401 - no dict
    if any({entry.name for entry in ir.DictAttr(item)} - {PARAM_NAME} for item in parameters):
        return False
    if len(op.type.results) != 1 or len(op.regions[0].blocks) != 1:
        return False
    return all(map(_is_value_type, op.type.inputs)) and _block(entry_block(op))


def _is_value_type(type_: ir.Type) -> bool:
    """True if an annotation can name the type; ``index``, a type of MLIR, has none."""
    if isinstance(type_, ir.IndexType):
        return False
    try:
        info = struct_info(type_)
    except RelaxError:
        return False
    with type_.context:
        return bool(info.to_type() == type_)


def _block(block: ir.Block, skip: int = 0) -> bool:
    """True if all ops after the first `skip` have a script form."""
    ops = [view.operation for view in block.operations][skip:]
    if len(ops) == 0:
        return False
    inside = inlined_ops(ops)
    return all(_op(op, inside) for op in ops)


def _op(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    if op.name in ("func.return", "relax.output", "relax.lambda_return"):
        return len(op.operands) == 1
    if op.name == "scf.yield":
        return True
    if op.name == "tensor.extract":
        return op in inside and _user(op) in ("scf.if", "scf.condition")
    if op.name == "arith.cmpi":
        is_signed = ir.IntegerAttr(op.attributes["predicate"]).value < len(PREDICATES)
        is_condition = op in inside and _user(op) in ("scf.if", "scf.condition", "tensor.from_elements")
        return is_signed and is_condition and _are_values(op.operands)
    if not _are_values(op.results):
        return False
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(op, inside)
    if op_class(op) is None or len(op.results) > 1:
        return False
    return not has_trait(op, ListsArguments) or defining_op(op.operands[0]) in inside


def _are_values(values: Iterable[ir.Value]) -> bool:
    return all(_is_value_type(value.type) for value in values)


def _user(op: ir.Operation) -> str:
    uses = list(op.results[0].uses)
    return str(uses[0].owner.operation.name) if len(uses) == 1 else ""


def _is_flag(value: ir.Value, inside: set[ir.Operation]) -> bool:
    """True if a condition is printed where it is used."""
    defining = defining_op(value)
    return defining in inside and defining is not None and defining.name in ("tensor.extract", "arith.cmpi")


def _conditional(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    """True if a conditional has a script form. One that selects between implementations (`BY_SIZE`) has none."""
    if BY_SIZE in op.attributes or not _is_flag(op.operands[0], inside):
        return False
    return all(_block(block) for region in op.regions for block in region.blocks)


def _for(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    if not _are_values(op.operands):
        return False
    symbol, step = loop_symbol(op), known_integer(Value(op.operands[2]))
    if symbol is None or not symbol.isidentifier() or keyword.iskeyword(symbol) or symbol in RESERVED:
        return False
    lower = known_integer(Value(op.operands[0]))
    counts_up = isinstance(step, int) and step > 0 and not (isinstance(lower, int) and lower < 0)
    return counts_up and _block(entry_block(op), skip=1)


def _while(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    before, after = (region.blocks[0] for region in op.regions)
    ops = [view.operation for view in before.operations]
    if list(ops[-1].operands)[1:] != list(before.arguments):
        return False
    within = inlined_ops(ops, as_expression=True)
    is_expression = set(ops[:-1]) == within and all(_op(item, within) for item in ops[:-1])
    return is_expression and _is_flag(ops[-1].operands[0], within) and _block(after)


def _tuple(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    return str(op.results[0].type) == str(ir.TupleType.get_tuple([v.type for v in op.operands]))


def _dataflow(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    return _block(entry_block(op))


def _arithmetic(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    return _are_values(op.operands)


def _from_elements(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    if len(op.operands) != 1 or ir.RankedTensorType(op.results[0].type).rank != 0:
        return False
    defining = defining_op(op.operands[0])
    is_comparison = defining in inside and defining is not None and defining.name == "arith.cmpi"
    return is_comparison or _are_values(op.operands)


def _is_lambda(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    """True if parsing a nested function would infer its type again, apart from its purity, which is printed."""
    body = entry_block(op)
    ends = body.operations[-1].operation
    declared = struct_info(op.results[0].type)
    params = [struct_info(argument.type) for argument in body.arguments]
    pure = isinstance(declared, CallableInfo) and declared.pure
    if declared != CallableInfo(params, struct_info(ends.operands[0].type), pure):
        return False
    return all(map(_is_value_type, (argument.type for argument in body.arguments))) and _block(body)


_SPECIAL: dict[str, Callable[[ir.Operation, set[ir.Operation]], bool]] = {
    "scf.if": _conditional,
    "scf.for": _for,
    "scf.while": _while,
    "relax.dataflow": _dataflow,
    "tensor.from_elements": _from_elements,
    "relax.lambda": _is_lambda,
    TUPLE: _tuple,
    **dict.fromkeys(OPERATORS, _arithmetic),
}


RENAMED = {
    "expand_dims": {"axes": "axis"},
    "squeeze": {"axes": "axis"},
    "split": {"sections": "indices_or_sections"},
}
"""Attributes whose builder argument has another name."""

PREFIX = "relax."


def keyword_arguments(op: ir.Operation, cls: type[RelaxOp]) -> dict[str, Any] | None:
    """Return the keyword arguments with which the builder rebuilds `op`, or None if the result differs."""
    name = op.name.removeprefix(PREFIX)
    renamed = RENAMED.get(name, {})
    arguments: dict[str, Any] = {}
    for attribute in ir_fields(cls)[1]:
        value = op.attributes[attribute]
        if isinstance(value, ir.UnitAttr):
            continue
        try:
            arguments[renamed.get(attribute, attribute)] = python_value(value)
        except ValueError:
            return None
    builder: Any = builders
    for part in written_name(op.name).split("."):
        builder = getattr(builder, part, None)
    return arguments if callable(builder) and _makes_it(op, builder, arguments) else None


def _makes_it(op: ir.Operation, builder: Any, arguments: dict[str, Any]) -> bool:  # noqa: ANN401 - a builder
    with ir.Location.unknown():
        scratch = ir.Module.create()
        with ir.InsertionPoint(scratch.body):
            holder = func.FuncOp("f", ir.FunctionType.get([v.type for v in op.operands], []), visibility="private")
        block = holder.add_entry_block()
    try:
        with ir.InsertionPoint(block), ir.Location.unknown(), located_at("", 0, 0):
            builder(*map(Value, block.arguments), **arguments)
    except (RelaxError, TypeError, ValueError, AttributeError):
        return False
    made = [view.operation for view in block.operations]
    return len(made) == 1 and made[0].name == op.name and _attributes(made[0]) == _attributes(op)


def _attributes(op: ir.Operation) -> dict[str, str]:
    named = [op.attributes[i] for i in range(len(op.attributes))]
    return {item.name: str(item.attr) for item in named}


def python_value(value: ir.Attribute) -> Any:  # noqa: ANN401 - a number, text, or a list of such
    """Return an attribute as a Python value. Raises `ValueError` for an attribute without a Python form."""
    if isinstance(value, ir.BoolAttr):
        return bool(value.value)
    if isinstance(value, ir.IntegerAttr | ir.FloatAttr | ir.StringAttr):
        return value.value
    if isinstance(value, ir.ArrayAttr):
        return [python_value(item) for item in value]
    if isinstance(value, ir.TypeAttr):
        try:
            info = struct_info(ir.RankedTensorType.get([], value.value, loc=ir.Location.unknown()))
        except (RelaxError, ir.MLIRError) as error:
            raise ValueError(str(error)) from None
        assert isinstance(info, Tensor) and info.dtype is not None
        return info.dtype.name
    if isinstance(value, ir.UnitAttr):
        return None
    raise ValueError(f"{value} has no Python form")


def python_text(value: Any) -> str:  # noqa: ANN401 - what `python_value` gives
    """Write a Python value as source text, with strings in double quotes."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(python_text, value))}]"
    return number_text(value)


def quoted(text: str) -> str:
    """A Python string literal in double quotes."""
    return json.dumps(text)


def dictionary_text(value: ir.Attribute) -> str:
    """Write a dictionary of attributes as Python. A unit attribute becomes None."""
    items = (f"{quoted(item.name)}: {_entry(item.attr)}" for item in ir.DictAttr(value))
    return f"{{{', '.join(items)}}}"


def _entry(value: ir.Attribute) -> str:
    return "None" if isinstance(value, ir.UnitAttr) else attribute_text(value)


def attribute_text(value: ir.Attribute) -> str:
    """Write an attribute as a Python literal if the literal implies its type, else as ``I.attribute("…")``."""
    if isinstance(value, ir.DictAttr):
        return dictionary_text(value)
    if isinstance(value, ir.ArrayAttr):
        return f"[{', '.join(map(attribute_text, value))}]"
    plain = isinstance(value, ir.StringAttr | ir.BoolAttr | ir.TypeAttr)
    plain = plain or (isinstance(value, ir.IntegerAttr) and str(value.type) == "i64")
    plain = plain or (isinstance(value, ir.FloatAttr) and str(value.type) == "f64")
    try:
        return python_text(python_value(value)) if plain else f"I.attribute({quoted(str(value))})"
    except ValueError:
        return f"I.attribute({quoted(str(value))})"


INDENT = "    "


def script(module: ir.Module) -> str:
    """Print a module as script. Prim funcs without a script form and functions below level R1 appear as MLIR text."""
    with module.context:
        names = constant_names(module)
        parts = [
            _Printer(op, names).lines() if is_scriptable(op) else _prim(op) or _foreign(op)
            for op in module.body.operations
        ]
        if MODULE_ATTRS in module.operation.attributes:
            parts.insert(0, [_module_attributes(module.operation.attributes[MODULE_ATTRS])])
    body = "\n\n".join("\n".join(INDENT + line if line else "" for line in part) for part in parts)
    return "@I.ir_module\nclass Module:\n" + (body or INDENT + "pass") + "\n"


def _module_attributes(given: ir.Attribute) -> str:
    if not isinstance(given, ir.DictAttr):
        raise VerifyError(f"{MODULE_ATTRS} is {given}, expected a dictionary of attributes")
    return f"I.module_attrs({dictionary_text(given)})"


def annotation(info: StructInfo) -> str:
    """Print a struct info as an annotation."""
    if isinstance(info, Tensor):
        dtype = "None" if info.dtype is None else f'"{info.dtype}"'
        return f"R.Tensor({'None' if info.shape is None else dims(info.shape)}, {dtype})"
    if isinstance(info, Shape):
        return f"R.Shape({'None' if info.values is None else f'[{_items(info.values)}]'})"
    if isinstance(info, Prim):
        return f'R.Prim("{info.dtype}")'
    if isinstance(info, Tuple):
        return f"R.Tuple({', '.join(map(annotation, info.fields))})"
    if isinstance(info, CallableInfo):
        pure = ["pure=True"] if info.pure else []
        if info.params is None or info.result is None:
            return f"R.Callable({', '.join(pure)})"
        inner = ", ".join(map(annotation, info.params)) + ("," if len(info.params) == 1 else "")
        return f"R.Callable({', '.join([f'({inner})', annotation(info.result), *pure])})"
    assert isinstance(info, Object)
    return "R.Object()"


def dims(shape: Sequence[Dim | None]) -> str:
    """Print a shape as a tuple of ints, names, quoted expressions, and None for unknown dimensions."""
    inner = _items(shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def _items(shape: Sequence[Dim | None]) -> str:
    return ", ".join("None" if d is None else str(d) if isinstance(d, int) else f'"{d}"' for d in shape)


def _prim(op: ir.OpView) -> list[str] | None:
    """Print a prim func as ``@T.prim_func``; return None if it has no such form."""
    if not isinstance(op, func.FuncOp) or PARAMS not in op.attributes:
        return None
    return print_prim(op)


def _foreign(op: ir.OpView) -> list[str]:
    text = str(op.operation.get_asm(use_local_scope=True)).rstrip("\n")
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return ['I.mlir("""', *escaped.splitlines(), '""")']


@dataclass
class _Names:
    """Python names of the values of a function."""

    taken: set[str] = field(default_factory=set)
    names: dict[ir.Value, str] = field(default_factory=dict)

    def bind(self, value: ir.Value, wanted: str) -> str:
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in wanted)
        if not base or base[0].isdigit() or keyword.iskeyword(base):
            base = f"v_{base}"
        name = base if base not in self.taken else f"{base}{free_number(base, self.taken)}"
        self.taken.add(name)
        self.names[value] = name
        return name


@dataclass
class _Printer:
    function: func.FuncOp
    constants: Mapping[ir.Operation, str]
    names: _Names = field(default_factory=lambda: _Names(set(RESERVED)))
    inline: dict[ir.Value, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        block = entry_block(self.function)
        self.names.taken |= _loop_variables(self.function)
        params = []
        for name, argument in zip(parameter_names(self.function), block.arguments, strict=True):
            params.append(f"{self.names.bind(argument, name)}: {self.annotate(argument)}")
        private = "sym_visibility" in self.function.attributes
        result = _annotation_of(self.function.type.results[0])
        head = f"def {self.function.name.value}({', '.join(params)}) -> {result}:"
        return [
            "@R.function(private=True)" if private else "@R.function",
            head,
            *(INDENT + line for line in (*self.attributes(), *self.block(block, "return {}"))),
        ]

    def attributes(self) -> Iterator[str]:
        """Yield the function's attributes that its signature does not show."""
        given = self.function.attributes
        named = {a.name: a.attr for a in map(given.__getitem__, range(len(given)))}
        items = [
            f"{quoted(name)}: {attribute_text(value)}"
            for name, value in named.items()
            if name not in (*SIGNATURE, SYMBOL_BOUNDS)
        ]
        if SYMBOL_BOUNDS in named:
            bounds = (f"{quoted(n)}: {pair}" for n, pair in read_bounds(self.function).items())
            items.append(f'"symbol_bounds": {{{", ".join(bounds)}}}')
        if items:
            yield f"R.func_attr({{{', '.join(items)}}})"

    def annotate(self, value: ir.Value) -> str:
        return _annotation_of(value.type)

    def text(self, value: ir.Value) -> str:
        return self.inline.get(value) or self.names.names[value]

    def block(self, block: ir.Block, ending: str, skip: int = 0) -> list[str]:
        """Print the ops of a block after the first `skip` as statements.

        `ending` is the format of the last statement; it takes the terminator's operands.
        """
        ops = [view.operation for view in block.operations][skip:]
        within = inlined_ops(ops)
        lines: list[str] = []
        for op in ops[:-1]:
            if op in within:
                self.inline[op.results[0]] = self.expression(op)
            else:
                lines += self.statement(op)
        values = ", ".join(self.text(v) for v in ops[-1].operands)
        return [*lines, ending.format(values)] if values or not lines else lines

    def statement(self, op: ir.Operation) -> Iterator[str]:
        if op.name == "relax.dataflow":
            yield from self.dataflow(op)
        elif op.name == "scf.if":
            yield from self.conditional(op)
        elif op.name == "scf.for":
            yield from self.for_loop(op)
        elif op.name == "scf.while":
            yield from self.while_loop(op)
        elif op.name == "relax.lambda":
            yield from self.function_inside(op)
        else:
            right = self.expression(op)
            if len(op.results) == 0 or _is_for_effect(op):
                yield right
            else:
                right = right[1:-1] if op.name in OPERATORS else right
                yield f"{self.bind(op)}: {self.annotate(op.results[0])} = {right}"

    def bind(self, op: ir.Operation, default: str = "lv") -> str:
        location = op.location
        return self.names.bind(op.results[0], location.name_str if isinstance(location, ir.NameLoc) else default)

    def dataflow(self, op: ir.Operation) -> Iterator[str]:
        inner = self.block(entry_block(op), "{}")
        name = self.bind(op, "gv")
        last = inner.pop()
        yield "with R.dataflow():"
        yield from (INDENT + line for line in inner)
        yield f"{INDENT}{name}: {self.annotate(op.results[0])} = {last}"
        yield f"{INDENT}R.output({name})"

    def function_inside(self, op: ir.Operation) -> Iterator[str]:
        info = struct_info(op.results[0].type)
        assert isinstance(info, CallableInfo) and info.result is not None
        name = self.bind(op, "f")
        body = entry_block(op)
        params, around = [], self.names.taken
        self.names.taken = set(RESERVED) | {self.names.names[v] for v in _captured(op) if v in self.names.names}
        for given, argument in zip(ir.ArrayAttr(op.attributes["names"]), body.arguments, strict=True):
            params.append(f"{self.names.bind(argument, ir.StringAttr(given).value)}: {self.annotate(argument)}")
        if not info.pure:
            yield "@R.function(pure=False)"
        yield f"def {name}({', '.join(params)}) -> {annotation(info.result)}:"
        if FUNCTION_ATTRS in op.attributes:
            yield f"{INDENT}R.func_attr({dictionary_text(op.attributes[FUNCTION_ATTRS])})"
        yield from (INDENT + line for line in self.block(body, "return {}"))
        self.names.taken = around

    def on_make_closure(self, op: ir.Operation) -> str:
        return f"R.make_closure({_callee(op)}, {self.text(op.operands[0])}, {self.annotate(op.results[0])})"

    def on_invoke_closure(self, op: ir.Operation) -> str:
        operands = ", ".join(map(self.text, op.operands))
        return f"R.{op.name.removeprefix('relax.')}({operands}, {self.annotate(op.results[0])})"

    on_invoke_pure_closure = on_invoke_closure

    def conditional(self, op: ir.Operation) -> Iterator[str]:
        names = [self.names.bind(result, "gv") for result in op.results]
        targets = ", ".join(names)
        ending = f"{targets} = {{}}" if names else "pass"
        for head, region in zip((f"if {self.text(op.operands[0])}:", "else:"), op.regions, strict=True):
            if len(region.blocks):
                yield head
                yield from (INDENT + line for line in self.block(region.blocks[0], ending))

    def carried(self, op: ir.Operation, first: int) -> tuple[list[str], str]:
        """Return assignments of the initial values of loop-carried names, and the last statement of the loop body."""
        names = [self.names.bind(result, "lv") for result in op.results]
        lines = [f"{n} = {self.text(v)}" for n, v in zip(names, list(op.operands)[first:], strict=True)]
        for region in op.regions:
            arguments = list(region.blocks[0].arguments)[-len(names) :] if names else []
            self.names.names.update(zip(arguments, names, strict=True))
        return lines, f"{', '.join(names)} = {{}}" if names else "pass"

    def for_loop(self, op: ir.Operation) -> Iterator[str]:
        lines, ending = self.carried(op, 3)
        yield from lines
        yield f"for {loop_symbol(op)} in R.range({self.bounds(op)}):"
        yield from (INDENT + line for line in self.block(entry_block(op), ending, skip=1))

    def bounds(self, op: ir.Operation) -> str:
        """Print the bounds of a loop. Ops that `R.range` would emit itself are not printed."""
        bounds = list(op.operands)[:3]
        if not all(value in self.inline for value in bounds):
            return ", ".join(map(self.text, bounds))
        lower, upper, step = (known_integer(Value(value)) for value in bounds)
        given = [lower, upper] if step == 1 else [lower, upper, step]
        return _items(given[1:] if step == 1 and lower == 0 else given)

    def while_loop(self, op: ir.Operation) -> Iterator[str]:
        lines, ending = self.carried(op, 0)
        yield from lines
        before = [view.operation for view in entry_block(op).operations]
        for inner in before[:-1]:
            self.inline[inner.results[0]] = self.expression(inner)
        yield f"while {self.text(before[-1].operands[0])}:"
        yield from (INDENT + line for line in self.block(op.regions[1].blocks[0], ending))

    def expression(self, op: ir.Operation) -> str:
        if op.name in OPERATORS:
            return f"({self.integers(op, OPERATORS[op.name])})"
        special = getattr(self, "on_" + op.name.removeprefix("relax.").replace(".", "_"), None)
        if special is not None:
            return str(special(op))
        cls = op_class(op)
        assert cls is not None
        operands = [self.text(v) for v in op.operands]
        arguments = keyword_arguments(op, cls)
        if arguments is None:
            return self.generic(op, operands)
        keywords = [f"{name}={python_text(value)}" for name, value in arguments.items()]
        return f"R.{written_name(op.name)}({', '.join(operands + keywords)})"

    @staticmethod
    def generic(op: ir.Operation, operands: Sequence[str]) -> str:
        """Print an op as ``R.op(...)``, because its builder would set other attributes."""
        attributes = {op.attributes[i].name: op.attributes[i].attr for i in range(len(op.attributes))}
        listed = ", ".join(f'"{name}": I.attribute({quoted(str(a))})' for name, a in attributes.items())
        keywords = [f"attributes={{{listed}}}"] if listed else []
        return f"R.op({', '.join([quoted(op.name), *operands, *keywords])})"

    def on_builtin_unrealized_conversion_cast(self, op: ir.Operation) -> str:
        inner = ", ".join(self.text(v) for v in op.operands)
        return f"({inner},)" if len(op.operands) == 1 else f"({inner})"

    def on_arith_cmpi(self, op: ir.Operation) -> str:
        return self.integers(op, PREDICATES[ir.IntegerAttr(op.attributes["predicate"]).value])

    def integers(self, op: ir.Operation, operator: str) -> str:
        """Print an operator on two integers; a constant on the right is printed as a literal."""
        left, right = op.operands
        number = known_integer(Value(right)) if right in self.inline else None
        text = str(number) if isinstance(number, int) else self.text(right)
        return f"{self.text(left)} {operator} {text}"

    def on_tensor_from_elements(self, op: ir.Operation) -> str:
        defining = defining_op(op.operands[0])
        text = self.text(op.operands[0])
        return text if defining is not None and defining.name == "arith.cmpi" else f"R.prim_to_tensor({text})"

    def on_extern_func(self, op: ir.Operation) -> str:
        info = struct_info(op.results[0].type)
        known = "" if info == CallableInfo() else f", {annotation(info)}"
        return f"R.ExternFunc({attribute_text(op.attributes['func'])}{known})"

    def on_tensor_extract(self, op: ir.Operation) -> str:
        return self.text(op.operands[0])

    def on_tuple_get_item(self, op: ir.Operation) -> str:
        return f"{self.text(op.operands[0])}[{ir.IntegerAttr(op.attributes['index']).value}]"

    def on_shape_expr(self, op: ir.Operation) -> str:
        return f"R.shape([{_items(dims_from_attr(op.attributes['values']))}])"

    def on_prim_value(self, op: ir.Operation) -> str:
        return f"R.prim_value({_items([integer_of(op.attributes['value'])])})"

    def on_constant(self, op: ir.Operation) -> str:
        return literal(op.attributes["value"]) or f"constants[{quoted(self.constants[op])}]"

    def fields(self, value: ir.Value) -> list[str]:
        """Print the arguments of a call: the operands of a tuple built inline, or ``*t``."""
        defining = defining_op(value)
        if defining is not None and defining.name == TUPLE and value in self.inline:
            return [self.text(v) for v in defining.operands]
        return [f"*{self.text(value)}"]

    def on_match_shape(self, op: ir.Operation) -> str:
        pattern = dims(dims_from_attr(op.attributes["pattern"]))
        dtype = op.attributes["result_dtype"]
        extra = "" if isinstance(dtype, ir.UnitAttr) else f", {attribute_text(dtype)}"
        return f"R.match_shape({self.text(op.operands[0])}, {pattern}{extra})"

    def on_call(self, op: ir.Operation) -> str:
        return f"{_callee(op)}({', '.join(self.fields(op.operands[0]))})"

    def on_call_tir(self, op: ir.Operation) -> str:
        extra = dims_from_attr(op.attributes["tir_vars"])
        tir_vars = f", tir_vars=[{_items(extra)}]" if extra else ""
        return f"R.call_tir({_callee(op)}, {self.text(op.operands[0])}, {self.outs(op)}{tir_vars})"

    def on_call_prim(self, op: ir.Operation) -> str:
        return f"R.call_prim({_callee(op)}, {self.text(op.operands[0])}{_outputs(op)})"

    def on_vm_call_tir_dyn(self, op: ir.Operation) -> str:
        args, tir_vars = map(self.text, op.operands)
        return f"R.vm.call_tir_dyn({_callee(op)}, {args}, {tir_vars}{_outputs(op)})"

    def on_call_tir_inplace(self, op: ir.Operation) -> str:
        indices = python_text(python_value(op.attributes["inplace_indices"]))
        extra = dims_from_attr(op.attributes["tir_vars"])
        tir_vars = f", tir_vars=[{_items(extra)}]" if extra else ""
        given = self.fields(op.operands[0])
        arguments = f"({', '.join(given)}{',' * (len(given) == 1)})"
        return f"R.call_tir_inplace({_callee(op)}, {arguments}, {indices}, {self.outs(op)}{tir_vars})"

    def on_assert_op(self, op: ir.Operation) -> str:
        arguments = self.fields(op.operands[0])
        if isinstance(op.attributes["relation"], ir.StringAttr):
            left, right = dims_from_attr(op.attributes["values"])
            arguments.insert(0, quoted(f"{left} {ir.StringAttr(op.attributes['relation']).value} {right}"))
        return f"R.assert_op({', '.join(arguments + _format(op, 'message'))})"

    def on_print(self, op: ir.Operation) -> str:
        return f"R.print({', '.join(self.packed_arguments(op) + _format(op, 'format'))})"

    def outs(self, op: ir.Operation) -> str:
        info = struct_info(op.results[0].type)
        if not isinstance(info, Tuple) or len(info.fields) == 1:  # a list of one is read as its element
            return annotation(info)
        return f"[{', '.join(map(annotation, info.fields))}]"

    def on_call_dps_packed(self, op: ir.Operation) -> str:
        arguments = ", ".join(self.packed_arguments(op))
        return f"R.call_dps_packed({attribute_text(op.attributes['func'])}, [{arguments}], {self.outs(op)})"

    def on_call_packed(self, op: ir.Operation) -> str:
        arguments = [attribute_text(op.attributes["func"]), *self.packed_arguments(op)]
        info = struct_info(op.results[0].type)
        if info != Tuple():
            arguments.append(f"out={annotation(info)}")
        return f"R.{op.name.removeprefix('relax.')}({', '.join(arguments)})"

    on_call_pure_packed = on_call_packed

    def packed_arguments(self, op: ir.Operation) -> list[str]:
        """Print operands and literals in order. A tuple that is not built inline is printed as ``*t``."""
        operands = self.fields(op.operands[0])
        spec = ir.ArrayAttr(op.attributes["arg_spec"])
        return [operands.pop(0) if isinstance(item, ir.UnitAttr) else attribute_text(item) for item in spec]


def _loop_variables(function: func.FuncOp) -> set[str]:
    """The names of loop variables, which no other value may use."""
    found: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "scf.for":
            found.add(loop_symbol(op) or "")
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _outputs(op: ir.Operation) -> str:
    outputs = ir.IntegerAttr(op.attributes["outputs"]).value
    return "" if outputs == 1 else f", outputs={outputs}"


def _captured(op: ir.Operation) -> list[ir.Value]:
    """All operands of the ops inside `op`."""
    found: list[ir.Value] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        found.extend(inner.operands)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _is_for_effect(op: ir.Operation) -> bool:
    return bool(op.name == "relax.call_packed" and op.results[0].type == ir.TupleType.get_tuple([]))


def _callee(op: ir.Operation) -> str:
    name = callee_of(op)
    return f"cls.{name}" if name.isidentifier() and not keyword.iskeyword(name) else f"cls[{quoted(name)}]"


def _format(op: ir.Operation, attribute: str) -> list[str]:
    text = ir.StringAttr(op.attributes[attribute]).value
    return [f"format={quoted(text)}"] if text else []


def _annotation_of(type_: ir.Type) -> str:
    return annotation(struct_info(type_))
