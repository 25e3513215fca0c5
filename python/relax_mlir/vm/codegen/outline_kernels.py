"""Outline calls of prim funcs as kernels, separate functions that are called as packed functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.analysis.invariants import declared_params
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.bytecode.exec_builder import ExecBuilder
from relax_mlir.diagnostics import location_text, where
from relax_mlir.dialects.attributes import (
    EXPOSED_SUFFIX,
    EXPOSES,
    PARAMS,
    PRIM_ATTRS,
    PRIM_FUNC,
    SYMBOL_BOUNDS,
)
from relax_mlir.dialects.calls import CallDpsPackedOp, CallPackedOp, CallTirInplaceOp
from relax_mlir.dialects.dtypes import from_element_type
from relax_mlir.dialects.prim_funcs import (
    PrimParam,
    entry_of,
    exposes,
    params_attr,
    prim_callees,
    prim_params,
)
from relax_mlir.dialects.structure import pack, prim_value, shape_expr, shape_of, unpack
from relax_mlir.dialects.symbols import all_dims
from relax_mlir.dialects.traits import (
    CallsPacked,
    HasDestination,
    KeptInExplicitMemory,
    OnMemory,
    has_trait,
    ops_with,
)
from relax_mlir.dialects.types import (
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dims_attr,
    dims_from_attr,
    struct_info,
    substitute,
)
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import (
    callee_of,
    defining_op,
    enclosing_function,
    entry_block,
    fresh_name,
    ops_of,
    symbol_names,
)
from relax_mlir.lowering.legalize.expose_prim_funcs import GLOBAL_SYMBOL, ExposePrimFuncs
from relax_mlir.lowering.legalize.prim_call_sites import stores
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.function_editing import arguments_of, erase_if_unused, functions_by_name, update_type
from relax_mlir.symbolic import Dim
from relax_mlir.transform import PassContext, relax_functions

# Calls of prim funcs that write their arguments in place: their kernel is the prim func's entry point.
#
# `call-tir-rewrite` has decided which arguments may be written, and copied the others. Only prim funcs on memrefs write
# in place. The kernel of a prim func on tensors is a function that copies, as for any other call.


INPLACE_CALLS = ("relax.call_prim", "relax.vm_call_tir_dyn")
ALLOCATED = ("relax.memory_alloc_tensor", "relax.vm_alloc_tensor", "relax.vm_alloc_shape_heap")


def is_inplace(op: ir.Operation, callee: func.FuncOp) -> bool:
    """True if the kernel of a call at level R1 can write its arguments in place: all of them are tensors."""
    given = struct_info(op.operands[0].type)
    return (
        op.name == CallTirInplaceOp.OPERATION_NAME
        and isinstance(given, Tuple)
        and all(isinstance(info, Tensor) and info.dtype is not None for info in given.fields)
        and _is_on_memrefs(callee)
    )


def writes_inputs(op: ir.Operation, functions: Mapping[str, func.FuncOp]) -> bool:
    """True if the prim func of a call on explicit memory stores into inputs of the call."""
    return any(number < _inputs(op) for number in _stores(callee_of(op), functions))


def outline_inplace_calls(module: ir.Module, kernels: ir.Module, entries: Sequence[Entry]) -> None:
    """Replace the in-place calls, as `call-tir-rewrite` has lowered them, by calls of kernels added to `kernels`."""
    with module.context, ir.Location.unknown():
        outline = InplaceKernels(module, kernels, entries)
        for function in relax_functions(module):
            for op in ops_of(function.operation, *INPLACE_CALLS):
                outline.replace(op)
        outline.add()


@dataclass
class InplaceKernels:
    """The kernels of in-place calls, one per prim func."""

    module: ir.Module
    kernels: ir.Module
    entries: Sequence[Entry]
    names: dict[str, str] = field(default_factory=dict)
    """The kernel name of each prim func."""

    def __post_init__(self) -> None:
        self.functions = functions_by_name(self.module)
        self.taken = packed_names(self.module, self.entries) | symbol_names(self.kernels.body)

    def replace(self, op: ir.Operation, by_users: bool = False) -> None:
        """Replace a call by a call of its kernel.

        `by_users`: the written arguments have not been checked. Raises `UnsupportedError` if one of them is not a
        tensor allocated in the function, or if integers that the prim func takes are not known as symbolic expressions.
        """
        prim = callee_of(op)
        if prim not in self.names:
            self.names[prim] = fresh_name(prim, self.taken)
            self.taken.add(self.names[prim])
        with ir.InsertionPoint(op), op.location:
            values = list(self._arguments(op, by_users))
            ir.Operation.create(
                CallPackedOp.OPERATION_NAME,
                results=[ir.TupleType.get_tuple([])],
                operands=[pack(values, op.location)],
                attributes=packed_attributes(self.names[prim], len(values)),
                loc=op.location,
            )
        given = op.operands[0]
        op.erase()
        erase_if_unused(given)

    def add(self) -> None:
        """Add the prim funcs to the kernels, each marked to get an entry point."""
        names = symbol_names(self.kernels.body) | self.taken
        for prim, name in self.names.items():
            copies = add_prim_copies(self.functions, [prim], self.kernels, names)
            name_entry(copies[prim], Entry(name, prim, tuple(_params(self.functions[prim]))))

    def _arguments(self, op: ir.Operation, by_users: bool) -> Iterator[ir.Value]:
        fields = ir.TupleType(op.operands[0].type)
        values = unpack(op.operands[0], [fields.get_type(i) for i in range(fields.num_types)])
        if by_users:
            for number in sorted(_stores(callee_of(op), self.functions)):
                producer = defining_op(values[number]) if number < len(values) else None
                if producer is None or producer.name not in ALLOCATED:
                    raise UnsupportedError(
                        f"{where(op)}: '{callee_of(op)}' writes '{self._param(op, number)}', which is no tensor of "
                        "alloc_tensor; copy it into one with memory.copy and give that"
                    )
        yield from values
        if len(op.operands) > 1:
            for dim in _entries(op):
                yield prim_value(dim).ssa

    def _param(self, op: ir.Operation, number: int) -> str:
        return list(_params(self.functions[callee_of(op)]))[number].name


def _stores(name: str, functions: Mapping[str, func.FuncOp]) -> list[int]:
    if PRIM_FUNC not in functions[name].attributes or not _is_on_memrefs(functions[name]):
        return []
    return sorted(stores(name, dict(functions), {}))


def _is_on_memrefs(prim: func.FuncOp) -> bool:
    return not prim.type.results and not any(isinstance(t, ir.RankedTensorType) for t in prim.type.inputs)


def _inputs(op: ir.Operation) -> int:
    """Return the number of input arguments of a call on explicit memory."""
    return ir.TupleType(op.operands[0].type).num_types - ir.IntegerAttr(op.attributes["outputs"]).value


def _entries(op: ir.Operation) -> list[Dim]:
    info = struct_info(op.operands[1].type)
    known = [] if not isinstance(info, Shape) else [v for v in info.values or () if v is not None]
    if not isinstance(info, Shape) or info.values is None or len(known) != len(info.values):
        raise UnsupportedError(
            f"{where(op)}: '{callee_of(op)}' writes its arguments, and takes integers that are no formulas any more; "
            "build the module from the form before vm-shape-lower"
        )
    return known


def _params(prim: func.FuncOp) -> Iterator[PrimParam]:
    """Yield a prim func's declared parameters; without a declaration, dynamic dimensions get new symbols."""
    declared = prim_params(prim)
    if declared is not None:
        yield from declared
        return
    for number, type_ in enumerate(prim.type.inputs):
        name = f"argument_{number}"
        if not isinstance(type_, ir.MemRefType):
            yield PrimParam(name, None, None)
            continue
        dims = [
            symbolic.symbol(f"{name}_{axis}") if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
            for axis in range(type_.rank)
        ]
        yield PrimParam(name, tuple(dims), from_element_type(type_.element_type))


# Outline each call of a prim func as a kernel, a separate function that is called as a packed function.
#
# A kernel is a Relax function that contains only the call and its constant arguments. The native compiler therefore
# sees the call as in native mode: constants are packed once, and sizes are symbolic expressions of each other. Calls
# that differ only in the names of symbols share a kernel.


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
        copies = add_prim_copies(self.functions, self.prims, self.kernels, set(functions_by_name(self.kernels)))
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
        values = [value for value, constant in zip(self.values, self.constants, strict=True) if constant is None]
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
                next(parameters) if constant is None else constant.clone().results[0] for constant in self.constants
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


# Outline calls of prim funcs on explicit memory as kernels, which write the given output tensors.
#
# A kernel is derived from the tensor types as long as these have symbols. After symbols have moved to the shape heap,
# it is derived from the prim func's declaration. Shape functions are left to `move_shape_functions`.


DYNAMIC = "relax.vm_call_tir_dyn"


def form_of(module: ir.Module) -> str | None:
    """Return the level of a module in explicit memory: "explicit-memory", or "vm" with a shape heap; else None."""
    names = {op.name for function in relax_functions(module) for op in ops_of(function.operation)}
    if not names & ops_with(OnMemory):
        return None
    return "vm" if names & (ops_with(OnMemory) - ops_with(KeptInExplicitMemory)) else "explicit-memory"


def outline_memory_calls(module: ir.Module, entries: Sequence[Entry] = ()) -> ir.Module:
    """Outline the calls of prim funcs of a module in explicit memory; return the module of their kernels.

    `entries`: the prim funcs that users may call, which become kernels as well.

    Raises `UnsupportedError` for a call that writes a tensor which it also reads, and for one of unknown sizes.
    """
    functions = functions_by_name(module)
    with module.context, ir.Location.unknown():
        outline = Outline(module, ir.Module.create(), entries)
        inplace = []
        for function in relax_functions(module):
            for op in ops_of(function.operation, "relax.call_prim", DYNAMIC):
                if _is_shape_function(op, functions[callee_of(op)]):
                    continue
                if writes_inputs(op, functions):
                    inplace.append(op)
                else:
                    _replace(outline, op, functions[callee_of(op)])
        kernels = InplaceKernels(module, outline.kernels, entries)
        for op in inplace:
            kernels.replace(op, by_users=True)
        kernels.add()
        outline.add_prim_funcs()
        return outline.kernels


def _is_shape_function(op: ir.Operation, callee: func.FuncOp) -> bool:
    """True if a call is that of a shape function: its only argument is a heap, which it reads and writes in order."""
    inputs = callee.type.inputs
    if op.name == DYNAMIC or PRIM_FUNC not in callee.attributes or len(inputs) != 1:
        return False
    heap = inputs[0]
    if not isinstance(heap, ir.MemRefType) or heap.rank != 1 or str(heap.element_type) != "i64":
        return False
    return not any(len(view.operation.regions) for view in entry_block(callee).operations)


def _replace(outline: Outline, op: ir.Operation, callee: func.FuncOp) -> None:
    tuple_ = op.operands[0]
    fields = ir.TupleType(tuple_.type)
    with ir.InsertionPoint(op), op.location:
        values = unpack(tuple_, [fields.get_type(i) for i in range(fields.num_types)])
        split = len(values) - ir.IntegerAttr(op.attributes["outputs"]).value
        inputs, outs = values[:split], values[split:]
        if any(out in inputs for out in outs):
            raise UnsupportedError(
                f"{where(op)}: the call of '{callee_of(op)}' fills a tensor that it reads; give it a copy to read"
            )
        site = _site(op, callee, inputs, outs)
        name = outline.kernel(site)
        given = [*site.arguments(), *outs]
        ir.Operation.create(
            CallPackedOp.OPERATION_NAME,
            results=[ir.TupleType.get_tuple([])],
            operands=[pack(given, op.location)],
            attributes=packed_attributes(name, len(given)),
            loc=op.location,
        )
    op.erase()
    erase_if_unused(tuple_)


def _site(op: ir.Operation, callee: func.FuncOp, inputs: list[ir.Value], outs: list[ir.Value]) -> Site:
    """Return the call as a destination-passing call."""
    infos, results = ([struct_info(value.type) for value in values] for values in (inputs, outs))
    sizes = op.operands[1] if op.name == DYNAMIC else None
    tir_vars = () if sizes is None else _dim_entries(sizes)
    if tir_vars is not None and all(map(_is_known, [*infos, *results])):
        return Site.made(op, "relax.call_tir", _attributes(op, tir_vars), inputs, infos, _one(results))
    params = declared_params(callee)
    known = [*infos, *results]
    declared = [_declared(param, info) for param, info in zip(params, known, strict=False)]
    given, filled = declared[: len(inputs)], declared[len(inputs) :]
    names = [param.name.replace(" ", "_") for param in params[len(known) :]]  # not a symbol: "argument 2"
    integers = [symbolic.symbol(name) for name in names]
    attributes = _attributes(op, integers)
    shapes = [] if sizes is None else [(sizes, Shape(integers))]
    site = Site.made(op, "relax.call_tir", attributes, inputs, given, _one(filled), shapes)
    if site.extra:  # sizes that occur only in output tensors
        shapes += [
            (shape_of(Value(out)).ssa, Shape(info.shape))
            for out, info in zip(outs, filled, strict=True)
            if isinstance(info, Tensor)
        ]
        site = Site.made(op, "relax.call_tir", attributes, inputs, given, _one(filled), shapes)
    if site.extra:
        raise UnsupportedError(
            f"{where(op)}: no tensor of the call of '{callee_of(op)}' tells its size {site.extra[0]}; let the "
            "prim func take it, and give it by vm.call_tir_dyn"
        )
    return site


def _declared(param: PrimParam, info: StructInfo) -> StructInfo:
    """Return the struct info of an argument whose sizes are in the shape heap."""
    if param.shape is None or not isinstance(info, Tensor):
        return info
    return Tensor(param.shape, param.dtype or info.dtype)


def _dim_entries(sizes: ir.Value) -> tuple[Dim, ...] | None:
    """Return the entries of a shape value, or None if they are not all known."""
    info = struct_info(sizes.type)
    assert isinstance(info, Shape)
    known = tuple(value for value in info.values or () if value is not None)
    return known if info.values is not None and len(known) == len(info.values) else None


def _is_known(info: StructInfo) -> bool:
    return not isinstance(info, Tensor) or (info.known_shape is not None and info.dtype is not None)


def _one(infos: list[StructInfo]) -> StructInfo:
    return infos[0] if len(infos) == 1 else Tuple(infos)


def _attributes(op: ir.Operation, tir_vars: Sequence[Dim]) -> dict[str, ir.Attribute]:
    return {"callee": op.attributes["callee"], "tir_vars": dims_attr(tir_vars)}


# Prim funcs exposed to users, names in the function table, copies of prim funcs, and shape functions as kernels.


# Prim funcs exposed to users: a VM function for each, which calls the native entry point.


@dataclass(frozen=True)
class Entry:
    """A prim func that users may call.

    Attributes:
        name: the name under which it is called.
        prim: the prim func in the module.
        params: its declared parameters.
    """

    name: str
    prim: str
    params: tuple[PrimParam, ...]

    @property
    def packed(self) -> str:
        """The packed function that the VM function calls: the native entry point, which checks the arguments."""
        return self.name + EXPOSED_SUFFIX

    def write(self, builder: ExecBuilder) -> None:
        """Emit the VM function."""
        names = [param.name for param in self.params]
        with builder.function(self.name, len(names), names, allow_unused=True):
            registers = [builder.r(number) for number in range(len(names))]
            result = builder.r(len(names))
            builder.emit_call(self.packed, args=registers, dst=result)
            builder.emit_ret(result)


def expose(module: ir.Module) -> list[Entry]:
    """Expose the prim funcs that users may call; see `take_entries`."""
    with module.context:
        ExposePrimFuncs().run(module, PassContext.current())
    return take_entries(module)


def take_entries(module: ir.Module) -> list[Entry]:
    """Remove the entries that `expose-prim-funcs` has added to a module, and return them.

    Raises `UnsupportedError` if the packed function of an entry has the name of another function.
    """
    names = {function.name.value for function in relax_functions(module)}
    entries = []
    for function in relax_functions(module):
        if EXPOSES not in function.attributes:
            continue
        prim = ir.FlatSymbolRefAttr(ir.DictAttr(function.attributes[EXPOSES])["callee"]).value
        entry = Entry(function.name.value, prim, tuple(_signature_params(function)))
        if entry.packed in names:
            raise UnsupportedError(
                f"{location_text(function.location)}: prim func '{entry.name}' needs the name '{entry.packed}' in "
                "bytecode, which a function of the module has: rename that function"
            )
        entries.append(entry)
        function.operation.erase()
    return entries


def _signature_params(entry: func.FuncOp) -> Iterator[PrimParam]:
    """Yield the parameters of an entry from its signature; a prim func that others call has lost its own list."""
    for name, argument in zip(parameter_names(entry), entry.arguments, strict=True):
        info = struct_info(argument.type)
        if isinstance(info, Tensor):
            assert info.known_shape is not None and info.dtype is not None
            yield PrimParam(name, info.known_shape, info.dtype)
        else:
            yield PrimParam(name, None, None)


def name_entry(prim: ir.Operation, entry: Entry) -> None:
    """Mark a prim func among the kernels, so that `expose-prim-funcs` gives it an entry when they are compiled."""
    prim.attributes[PARAMS] = params_attr(entry.params)
    given = prim.attributes[PRIM_ATTRS] if PRIM_ATTRS in prim.attributes else ir.DictAttr.get({})
    kept = {named.name: named.attr for named in ir.DictAttr(given)}
    prim.attributes[PRIM_ATTRS] = ir.DictAttr.get({**kept, GLOBAL_SYMBOL: ir.StringAttr.get(entry.name)})


# Calls of packed functions in a module, and the names used in its function table.


def packed_names(module: ir.Module, entries: Iterable[Entry]) -> set[str]:
    """Return the names of Relax functions, of their packed callees, and of prim funcs that users may call."""
    functions = relax_functions(module)
    calls = [
        op
        for function in functions
        for op in ops_of(function.operation)
        if has_trait(op, CallsPacked, HasDestination) and "func" in op.attributes
    ]
    found = {ir.StringAttr(op.attributes["func"]).value for op in calls}
    found |= {function.name.value for function in functions}
    return found | {name for entry in entries for name in (entry.name, entry.packed)}


def packed_attributes(name: str, operands: int) -> dict[str, ir.Attribute]:
    """Return the attributes of a call of the packed function `name` whose arguments are all values."""
    return {"func": ir.StringAttr.get(name), "arg_spec": ir.ArrayAttr.get([ir.UnitAttr.get()] * operands)}


# Copy prim funcs of a module to its kernels.


def with_callees(functions: Mapping[str, func.FuncOp], prims: Iterable[str]) -> list[str]:
    """Return the names of prim funcs and of their transitive callees."""
    found = dict.fromkeys(prims)
    todo = list(found)
    while todo:
        inner = prim_callees(functions[todo.pop()])
        todo += [name for name in inner if name not in found]
        found |= dict.fromkeys(inner)
    return list(found)


def add_prim_copies(
    functions: Mapping[str, func.FuncOp], prims: Iterable[str], kernels: ir.Module, taken: set[str]
) -> dict[str, ir.Operation]:
    """Copy prim funcs and their callees to the kernels, under names that are not in `taken`.

    Return the copies by prim func name, and add their new names to `taken`.
    """
    names: dict[str, str] = {}
    for name in with_callees(functions, prims):
        new = name
        while new in taken:
            new += EXPOSED_SUFFIX  # errors omit the suffix
        taken.add(new)
        names[name] = new
    copies = {}
    for name, new in names.items():
        with ir.InsertionPoint(kernels.body):
            copy = functions[name].operation.clone()
        copy.attributes["sym_name"] = ir.StringAttr.get(new)
        for call in ops_of(copy, "func.call"):
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(names[callee_of(call)])
        entry = entry_of(functions[name])
        if entry is not None:
            copy.attributes[EXPOSES] = exposes(names[entry.callee], entry.written)
        copies[name] = copy
    return copies


# Shape functions as kernels: they update the slots of a heap, an int64 tensor, in place.


_BODY = ".body"


def move_shape_functions(module: ir.Module, kernels: ir.Module) -> None:
    """Turn the shape functions of a module in the form of ``vm-shape-lower`` into kernels, in the same context."""
    called = {
        callee_of(op) for function in relax_functions(module) for op in ops_of(function.operation, "relax.call_prim")
    }
    taken = symbol_names(kernels.body)
    with module.context, ir.Location.unknown():
        for op in list(module.body.operations):
            if isinstance(op, func.FuncOp) and PRIM_FUNC in op.attributes and op.name.value in called:
                _rename(op, module, taken)
                _emit(op, kernels)
                taken |= {op.name.value, op.name.value + _BODY}


def _rename(op: func.FuncOp, module: ir.Module, taken: set[str]) -> None:
    """Rename a shape function if a kernel has its name, for example a copy of it made for an entry."""
    name = op.name.value
    fresh = fresh_name(name, taken)
    if fresh != name:
        op.attributes["sym_name"] = ir.StringAttr.get(fresh)
        ir.SymbolTable.replace_all_symbol_uses(name, fresh, module.operation)


def _emit(shape_function: func.FuncOp, kernels: ir.Module) -> None:
    name = shape_function.name.value
    heap = ir.MemRefType(shape_function.type.inputs[0])
    tensor = ir.RankedTensorType.get(heap.shape, heap.element_type)
    with ir.InsertionPoint(kernels.body), shape_function.location:
        body = func.FuncOp(name + _BODY, ir.FunctionType.get([tensor], [tensor]), visibility="private")
        body.attributes[PRIM_FUNC] = ir.UnitAttr.get()
        kernel = func.FuncOp(name, ir.FunctionType.get([tensor], [tensor]))
        _write_body(shape_function, body)
        block = kernel.add_entry_block()
    with ir.InsertionPoint(block), shape_function.location:
        index = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
        call = ir.Operation.create(
            CallTirInplaceOp.OPERATION_NAME,
            results=[tensor],
            operands=[pack([block.arguments[0]], shape_function.location)],
            attributes={
                "callee": ir.FlatSymbolRefAttr.get(name + _BODY),
                "inplace_indices": ir.ArrayAttr.get([index]),
                "tir_vars": ir.ArrayAttr.get([]),
            },
        )
        func.ReturnOp([call.results[0]])
    update_type(kernel, ["heap"])


def _write_body(shape_function: func.FuncOp, body: func.FuncOp) -> None:
    """Emit the same computation on tensors: a load becomes an extract, a store an insert into the heap value."""
    old = entry_block(shape_function)
    block = body.add_entry_block()
    values: dict[ir.Value, ir.Value] = {}
    current = block.arguments[0]
    with ir.InsertionPoint(block):
        for view in old.operations:
            op = view.operation
            operands = [current if v == old.arguments[0] else values[v] for v in op.operands]
            if op.name == "memref.load":
                made = ir.Operation.create(
                    "tensor.extract", results=[op.results[0].type], operands=operands, loc=op.location
                )
            elif op.name == "memref.store":
                made = ir.Operation.create("tensor.insert", results=[current.type], operands=operands, loc=op.location)
                current = made.results[0]
                continue
            elif op.name == "func.return":
                func.ReturnOp([current])
                return
            else:
                made = op.clone()
                for index, operand in enumerate(operands):
                    made.operands[index] = operand
            values.update(zip(op.results, made.results, strict=True))
