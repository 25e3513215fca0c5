"""Outline each call of a prim func as a kernel, a separate function that is called as a packed function.

A kernel is a Relax function that contains only the call and its constant arguments. The native compiler therefore sees
the call as in native mode: constants are packed once, and sizes are symbolic expressions of each other. Calls that
differ only in the names of symbols share a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import PRIM_FUNC, SYMBOL_BOUNDS
from relax_mlir.dialects.calls import CallDpsPackedOp
from relax_mlir.dialects.structure import pack, shape_expr
from relax_mlir.dialects.type_queries import all_dims
from relax_mlir.dialects.types import Shape, StructInfo, dims_attr, dims_from_attr, struct_info, substitute
from relax_mlir.ir_queries import callee_of, defining_op, enclosing_function, fresh_name, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.function_editing import arguments_of, erase_if_unused, functions_by_name, update_type
from relax_mlir.symbolic import Dim
from relax_mlir.transform import relax_functions
from relax_mlir.vm.codegen.exposed_prim_funcs import Entry, name_entry
from relax_mlir.vm.codegen.inplace_calls import is_inplace
from relax_mlir.vm.codegen.packed_names import packed_attributes, packed_names
from relax_mlir.vm.codegen.prim_copies import add_prim_copies, with_callees

CALLS = ("relax.call_tir", "relax.call_tir_inplace")
SIZES = "sizes"
"""The kernel parameter for symbols that cannot be inferred from the other parameters."""


def outline_kernels(module: ir.Module, entries: Sequence[Entry] = ()) -> ir.Module:
    """Outline the calls of prim funcs of `module`, at level R1; return the kernels as a module of the same context.

    In-place calls stay: `outline_inplace_calls` replaces them once memory is explicit.

    `entries`: the prim funcs that users may call, which become kernels as well.
    """
    with module.context, ir.Location.unknown():
        outline = Outline(module, ir.Module.create(), entries)
        for function in relax_functions(module):
            for op in [op for op in ops_of(function.operation) if op.name in CALLS]:
                if not is_inplace(op, outline.functions[callee_of(op)]):
                    outline.replace(op)
        outline.add_prim_funcs()
        return outline.kernels


@dataclass
class Outline:
    """Moves calls from `module` to kernels in `kernels`."""

    module: ir.Module
    kernels: ir.Module
    entries: Sequence[Entry] = ()
    names: dict[str, str] = field(default_factory=dict)
    """The kernel name for each `Site.key`."""
    prims: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.functions = functions_by_name(self.module)
        self.taken = packed_names(self.module, self.entries)
        self.prims |= {entry.prim: None for entry in self.entries}

    def replace(self, op: ir.Operation) -> None:
        """Replace a call by a call of its kernel."""
        site = Site.of(op)
        name = self.kernel(site)
        old = op.operands[0]
        with ir.InsertionPoint(op), op.location:
            values = site.arguments()
            call = ir.Operation.create(
                CallDpsPackedOp.OPERATION_NAME,
                results=[op.results[0].type],
                operands=[pack(values, op.location)],
                attributes=packed_attributes(name, len(values)),
                loc=op.location,
            )
        op.results[0].replace_all_uses_with(call.results[0])
        op.erase()
        erase_if_unused(old)

    def kernel(self, site: Site) -> str:
        """Return the name of the kernel of a call; emit the kernel if there is none yet."""
        key = site.key
        if key not in self.names:
            self.names[key] = fresh_name(site.callee, self.taken)
            self.taken.add(self.names[key])
            self.prims[site.callee] = None
            site.emit(self.names[key], self.kernels)
        return self.names[key]

    def add_prim_funcs(self) -> None:
        """Copy the called prim funcs to the kernels; erase those that nothing else in the module calls."""
        copies = add_prim_copies(
            self.functions, self.prims, self.kernels, set(functions_by_name(self.kernels))
        )
        for op in self.kernels.body.operations:
            for call in [o for o in ops_of(op.operation) if o.name in CALLS]:
                name = copies[callee_of(call)].attributes["sym_name"]
                call.attributes["callee"] = ir.FlatSymbolRefAttr.get(ir.StringAttr(name).value)
        for entry in self.entries:
            name_entry(copies[entry.prim], entry)
        called = with_callees(
            self.functions,
            [
                callee_of(op)
                for function in relax_functions(self.module)
                for op in ops_of(function.operation, "relax.call_prim", "relax.call_tir_inplace")
            ],
        )
        for op in list(self.module.body.operations):
            if PRIM_FUNC in op.attributes and ir.StringAttr(op.attributes["sym_name"]).value not in called:
                op.operation.erase()


@dataclass(frozen=True)
class Site:
    """One call of a prim func, with symbol names that are independent of the enclosing function."""

    op: ir.Operation
    name: str
    """The op in the kernel."""
    attributes: Mapping[str, ir.Attribute]
    """The attributes of that op."""
    values: list[ir.Value]
    constants: list[ir.Operation | None]
    """For each argument, the op that defines it if it is a constant."""
    infos: list[StructInfo]
    result: StructInfo
    mapping: Mapping[str, Dim]
    extra: list[str]
    """Symbols of the enclosing function that cannot be inferred from the arguments."""
    shapes: Sequence[tuple[ir.Value, Shape]] = ()
    """Shape values that only the kernel takes, and the symbolic shape of each."""

    @staticmethod
    def of(op: ir.Operation) -> Site:
        attributes = op.attributes
        found = {attributes[i].name: attributes[i].attr for i in range(len(attributes))}
        values = arguments_of(op)
        infos = [struct_info(value.type) for value in values]
        return Site.made(op, op.name, found, values, infos, struct_info(op.results[0].type))

    @staticmethod
    def made(
        op: ir.Operation,
        name: str,
        attributes: Mapping[str, ir.Attribute],
        values: list[ir.Value],
        infos: list[StructInfo],
        result: StructInfo,
        shapes: Sequence[tuple[ir.Value, Shape]] = (),
    ) -> Site:
        """Build a site; `infos` are those of `values`, or what the prim func declares."""
        constants = [_constant(value) for value in values]
        given = [info for info, constant in zip(infos, constants, strict=True) if constant is None]
        given += [info for _, info in shapes]
        known = {symbol for info in given for symbol in _told(info)}
        tir_vars = dims_from_attr(attributes["tir_vars"])
        names = dict.fromkeys(
            symbol
            for dims in (*map(all_dims, given), all_dims(result), tir_vars)
            for dim in dims
            if dim is not None
            for symbol in symbolic.symbols(dim)
        )
        mapping = {symbol: symbolic.symbol(f"s{index}") for index, symbol in enumerate(names)}
        extra = [symbol for symbol in names if symbol not in known]
        return Site(op, name, attributes, values, constants, infos, result, mapping, extra, shapes)

    @property
    def callee(self) -> str:
        """The name of the prim func."""
        return callee_of(self.op)

    def arguments(self) -> list[ir.Value]:
        """Return the arguments of the kernel, built at the insertion point: all but the constants, then the sizes."""
        values = [
            value for value, constant in zip(self.values, self.constants, strict=True) if constant is None
        ]
        values += [value for value, _ in self.shapes]
        if self.extra:
            values.append(shape_expr([symbolic.symbol(name) for name in self.extra]).ssa)
        return values

    @property
    def key(self) -> str:
        """Equal for calls that can share a kernel."""
        parts = [self.name, self.callee]
        for info, constant in zip(self.infos, self.constants, strict=True):
            parts.append(str(info if constant is not None else substitute(info, dict(self.mapping))))
            if constant is not None:
                parts.append(str(constant.attributes["value"]))
        parts.append(str(substitute(self.result, dict(self.mapping))))
        parts += [str(substitute(shape, dict(self.mapping))) for _, shape in self.shapes]
        parts += [str(self.mapping[name]) for name in self.extra]
        parts += [f"{name}={attribute}" for name, attribute in self._attributes().items()]
        parts.append(str(self._bounds()))
        return "\n".join(parts)

    def emit(self, name: str, module: ir.Module) -> None:
        """Emit the kernel into a module."""
        infos = [
            substitute(info, dict(self.mapping))
            for info, constant in zip(self.infos, self.constants, strict=True)
            if constant is None
        ]
        names = [f"x{index}" for index in range(len(infos))]
        for index, (_, shape) in enumerate(self.shapes):
            infos.append(substitute(shape, dict(self.mapping)))
            names.append(f"{SIZES}{index}")
        if self.extra:
            infos.append(Shape([self.mapping[name] for name in self.extra]))
            names.append(SIZES)
        result = substitute(self.result, dict(self.mapping)).to_type()
        types = [info.to_type() for info in infos]
        with ir.InsertionPoint(module.body), self.op.location:
            function = func.FuncOp(name, ir.FunctionType.get(types, [result]))
            parameters = iter(function.add_entry_block().arguments)
        with ir.InsertionPoint(function.regions[0].blocks[0]), self.op.location:
            arguments = [
                next(parameters) if constant is None else constant.clone().results[0]
                for constant in self.constants
            ]
            call = ir.Operation.create(
                self.name,
                results=[result],
                operands=[pack(arguments, self.op.location)],
                attributes=self._attributes(),
            )
            func.ReturnOp([call.results[0]])
        update_type(function, names)
        if bounds := self._bounds():
            function.attributes[SYMBOL_BOUNDS] = bounds

    def _attributes(self) -> dict[str, ir.Attribute]:
        tir_vars = [
            None if dim is None else symbolic.substitute(dim, self.mapping)
            for dim in dims_from_attr(self.attributes["tir_vars"])
        ]
        return {**self.attributes, "tir_vars": dims_attr(tir_vars)}

    def _bounds(self) -> ir.DictAttr | None:
        """The bounds of the symbols."""
        function = enclosing_function(self.op)
        assert function is not None
        if SYMBOL_BOUNDS not in function.attributes:
            return None
        given = ir.DictAttr(function.attributes[SYMBOL_BOUNDS])
        found = {str(new): given[name] for name, new in self.mapping.items() if name in given}
        return ir.DictAttr.get(found) if found else None


def _constant(value: ir.Value) -> ir.Operation | None:
    op = defining_op(value)
    return op if op is not None and op.name == "relax.constant" else None


def _told(info: StructInfo) -> Iterator[str]:
    """Yield the symbols that can be inferred from a value."""
    for dim in all_dims(info):
        name = None if dim is None else symbolic.linear_definition(dim)
        if name is not None:
            yield name
