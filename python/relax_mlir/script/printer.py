"""Print a Relax module (levels R0 and R1) as script: the readable form of what the IR prints in generic form."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.base import ir_fields, op_class
from relax_mlir.dialects.constants import to_numpy
from relax_mlir.dialects.structure import TUPLE, maker_of
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
from relax_mlir.error import RelaxError
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim

INDENT = "    "
INLINE_ELEMENTS = 16
"""Constants of at most this many elements are written out; larger ones by name, dtype and shape."""
PRIM_FUNC = "relax.prim_func"


def script(module: ir.Module) -> str:
    """The module as script. Prim funcs, and what is below level R1, appear as the MLIR text that they are."""
    with module.context:
        parts = [_Printer(op).lines() if _is_relax(op) else _foreign(op) for op in module.body.operations]
    body = "\n\n".join("\n".join(INDENT + line if line else "" for line in part) for part in parts)
    return "@I.ir_module\nclass Module:\n" + (body or INDENT + "pass") + "\n"


def annotation(info: StructInfo) -> str:
    """A struct info as the annotation of a value."""
    if isinstance(info, Tensor):
        dtype = "" if info.dtype is None else str(info.dtype)
        if info.shape is None:
            return f'R.Tensor("{dtype}")' if dtype else "R.Tensor()"
        return f'R.Tensor({dims(info.shape)}, "{dtype}")' if dtype else f"R.Tensor({dims(info.shape)})"
    if isinstance(info, Shape):
        return "R.Shape()" if info.values is None else f"R.Shape([{_items(info.values)}])"
    if isinstance(info, Prim):
        return f'R.Prim("{info.dtype}")'
    if isinstance(info, Tuple):
        return f"R.Tuple({', '.join(map(annotation, info.fields))})"
    assert isinstance(info, Object)
    return "R.Object()"


def dims(shape: Sequence[Dim | None]) -> str:
    """A shape as a tuple of ints, names and expressions in quotes, and None for what is unknown."""
    inner = _items(shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def _items(shape: Sequence[Dim | None]) -> str:
    return ", ".join("None" if d is None else str(d) if isinstance(d, int) else f'"{d}"' for d in shape)


def _is_relax(op: ir.OpView) -> bool:
    if not isinstance(op, func.FuncOp) or op.is_external or PRIM_FUNC in op.attributes:
        return False
    return len(op.type.results) == 1 and len(op.regions[0].blocks) == 1


def _foreign(op: ir.OpView) -> list[str]:
    text = str(op.operation.get_asm(use_local_scope=True)).rstrip("\n").splitlines()
    return ['I.mlir("""', *text, '""")']


@dataclass
class _Names:
    """Python names of the values of a function."""

    taken: set[str] = field(default_factory=set)
    names: dict[ir.Value, str] = field(default_factory=dict)

    def bind(self, value: ir.Value, wanted: str) -> str:
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in wanted)
        if not base or base[0].isdigit() or keyword.iskeyword(base):
            base = f"v_{base}"
        name, count = base, 0
        while name in self.taken:
            count += 1
            name = f"{base}{count}"
        self.taken.add(name)
        self.names[value] = name
        return name


@dataclass
class _Printer:
    function: func.FuncOp
    names: _Names = field(default_factory=lambda: _Names({"R", "T", "I", "cls"}))
    inline: dict[ir.Value, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        block = self.function.regions[0].blocks[0]
        params = []
        for name, argument in zip(parameter_names(self.function), block.arguments, strict=True):
            params.append(f"{self.names.bind(argument, name)}: {self.annotate(argument)}")
        private = "sym_visibility" in self.function.attributes
        result = _annotation_of(self.function.type.results[0])
        head = f"def {self.function.name.value}({', '.join(params)}) -> {result}:"
        return [
            "@R.function(private=True)" if private else "@R.function",
            head,
            *(INDENT + line for line in self.block(block, "return {}")),
        ]

    def annotate(self, value: ir.Value) -> str:
        return _annotation_of(value.type)

    def text(self, value: ir.Value) -> str:
        return self.inline.get(value) or self.names.names[value]

    def block(self, block: ir.Block, ending: str) -> list[str]:
        """The ops of a block as statements; `ending` is the last one, given the terminator's operands."""
        *body, terminator = [view.operation for view in block.operations]
        lines = [line for op in body for line in self.statement(op)]
        values = ", ".join(self.text(v) for v in terminator.operands)
        return [*lines, ending.format(values)] if values or not lines else lines

    def statement(self, op: ir.Operation) -> Iterator[str]:
        if op.name == "relax.dataflow":
            yield from self.dataflow(op)
        elif op.name == "scf.if":
            yield from self.conditional(op)
        elif (expression := self.inlined(op)) is not None:
            self.inline[op.results[0]] = expression
        else:
            right = self.expression(op)
            if len(op.results) != 1 or op.results[0].type == ir.TupleType.get_tuple([]):
                yield right
            else:
                yield f"{self.bind(op)}: {self.annotate(op.results[0])} = {right}"

    def bind(self, op: ir.Operation, default: str = "lv") -> str:
        location = op.location
        return self.names.bind(
            op.results[0], location.name_str if isinstance(location, ir.NameLoc) else default
        )

    def inlined(self, op: ir.Operation) -> str | None:
        """Ops that read better inside the expressions that use them: tuples, fields, shapes, small constants."""
        if op.name == TUPLE:
            inner = ", ".join(self.text(v) for v in op.operands)
            return f"({inner},)" if len(op.operands) == 1 else f"({inner})"
        if op.name == "relax.tuple_get_item":
            return f"{self.text(op.operands[0])}[{ir.IntegerAttr(op.attributes['index']).value}]"
        if op.name == "relax.shape_expr":
            return f"R.shape([{_items(dims_from_attr(op.attributes['values']))}])"
        if op.name == "relax.constant":
            return _constant(op.attributes["value"])
        if op.name == "tensor.extract" and len(op.operands) == 1:
            return self.text(op.operands[0])
        return None

    def dataflow(self, op: ir.Operation) -> Iterator[str]:
        inner = self.block(op.regions[0].blocks[0], "R.output({})")
        name = self.bind(op, "gv")
        last = inner.pop().removeprefix("R.output(").removesuffix(")")
        yield "with R.dataflow():"
        yield from (INDENT + line for line in inner)
        yield f"{INDENT}{name}: {self.annotate(op.results[0])} = {last}"
        yield f"{INDENT}R.output({name})"

    def conditional(self, op: ir.Operation) -> Iterator[str]:
        names = [self.names.bind(result, "gv") for result in op.results]
        targets = ", ".join(names)
        ending = f"{targets} = {{}}" if names else "pass"
        for head, region in zip((f"if {self.text(op.operands[0])}:", "else:"), op.regions, strict=True):
            if len(region.blocks):
                yield head
                yield from (INDENT + line for line in self.block(region.blocks[0], ending))

    def expression(self, op: ir.Operation) -> str:
        special: dict[str, Callable[[ir.Operation], str]] = {
            "relax.match_shape": self.match_shape,
            "relax.call": self.call,
            "relax.call_tir": self.call_tir,
            "relax.call_dps_packed": self.call_dps_packed,
            "relax.call_packed": self.call_packed,
            "relax.prim_value": lambda o: (
                f"R.prim_value({_items(dims_from_attr(ir.ArrayAttr.get([o.attributes['value']])))})"
            ),
        }
        if op.name in special:
            return special[op.name](op)
        cls = op_class(op)
        if cls is None:
            return f"I.mlir({str(op)!r})"
        _, attributes, _, _ = ir_fields(cls)
        arguments = [self.text(v) for v in op.operands]
        for name in attributes:
            value = op.attributes[name]
            if not isinstance(value, ir.UnitAttr):
                arguments.append(f"{name}={_attribute(value)}")
        return f"R.{op.name.removeprefix('relax.').replace('nn_', 'nn.', 1)}({', '.join(arguments)})"

    def fields(self, value: ir.Value) -> list[str]:
        maker = maker_of(value)
        if maker is not None and maker.name == TUPLE:
            return [self.text(v) for v in maker.operands]
        return [f"*{self.text(value)}"]

    def match_shape(self, op: ir.Operation) -> str:
        pattern = dims(dims_from_attr(op.attributes["pattern"]))
        dtype = op.attributes["result_dtype"]
        extra = "" if isinstance(dtype, ir.UnitAttr) else f", {_attribute(dtype)}"
        return f"R.match_shape({self.text(op.operands[0])}, {pattern}{extra})"

    def call(self, op: ir.Operation) -> str:
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        return f"cls.{callee}({', '.join(self.fields(op.operands[0]))})"

    def call_tir(self, op: ir.Operation) -> str:
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        extra = dims_from_attr(op.attributes["tir_vars"])
        tir_vars = f", tir_vars=[{_items(extra)}]" if extra else ""
        return f"R.call_tir(cls.{callee}, {self.text(op.operands[0])}, {self.outs(op)}{tir_vars})"

    def outs(self, op: ir.Operation) -> str:
        info = struct_info(op.results[0].type)
        return f"[{', '.join(map(annotation, info.fields))}]" if isinstance(info, Tuple) else annotation(info)

    def call_dps_packed(self, op: ir.Operation) -> str:
        arguments = ", ".join(self.packed_arguments(op))
        return f'R.call_dps_packed("{ir.StringAttr(op.attributes["func"]).value}", [{arguments}], {self.outs(op)})'

    def call_packed(self, op: ir.Operation) -> str:
        arguments = [f'"{ir.StringAttr(op.attributes["func"]).value}"', *self.packed_arguments(op)]
        info = struct_info(op.results[0].type)
        if info != Tuple():
            arguments.append(f"out={annotation(info)}")
        return f"R.call_packed({', '.join(arguments)})"

    def packed_arguments(self, op: ir.Operation) -> list[str]:
        operands = self.fields(op.operands[0])
        spec = ir.ArrayAttr(op.attributes["arg_spec"])
        return [operands.pop(0) if isinstance(item, ir.UnitAttr) else _attribute(item) for item in spec]


def _annotation_of(type_: ir.Type) -> str:
    try:
        return annotation(struct_info(type_))
    except RelaxError:
        return f"I.type({str(type_)!r})"


def _attribute(value: ir.Attribute) -> str:
    """An attribute as a Python literal."""
    if isinstance(value, ir.BoolAttr):
        return str(bool(value.value))
    if isinstance(value, ir.IntegerAttr | ir.FloatAttr):
        return repr(value.value)
    if isinstance(value, ir.StringAttr):
        return f'"{value.value}"'
    if isinstance(value, ir.ArrayAttr):
        return f"[{', '.join(map(_attribute, value))}]"
    if isinstance(value, ir.TypeAttr):
        info = struct_info(ir.RankedTensorType.get([], value.value, loc=ir.Location.unknown()))
        assert isinstance(info, Tensor)
        return f'"{info.dtype}"'
    if isinstance(value, ir.UnitAttr):
        return "None"
    return f"I.attribute({str(value)!r})"


def _constant(value: ir.Attribute) -> str:
    info = struct_info(value.type)
    assert isinstance(info, Tensor) and info.shape is not None
    elements = 1
    for dim in info.shape:
        elements *= int(dim) if isinstance(dim, int) else 1
    if elements > INLINE_ELEMENTS or not isinstance(value, ir.DenseElementsAttr):
        name = str(value).split("<", 1)[1].split(">", 1)[0] if "dense_resource" in str(value) else "dense"
        return f"R.const(<{name}: {info.dtype} {'x'.join(map(str, info.shape))}>)"
    listed: Any = to_numpy(value).tolist()
    return f'R.const({listed!r}, "{info.dtype}")'
