"""Functions at level T: headers, entry checks, the values of their symbols, donated parameters, results, recursion."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from relax_mlir import symbolic
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.attributes import DONATED, EXPOSES, LATENCY_CRITICAL, SIGNATURE
from relax_mlir.dialects.symbols import parameter_symbols
from relax_mlir.dialects.traits import IsView, has_trait
from relax_mlir.dialects.types import Object, Prim, Shape, StructInfo, Tensor, Tuple, dims_attr, struct_info
from relax_mlir.error import UnsupportedError, VerifyError
from relax_mlir.ir_queries import callee_of, defining_op, is_a, ops_of
from relax_mlir.lowering.base.errors import verbatim
from relax_mlir.lowering.base.runtime_declarations import SHAPES_SUFFIX, RuntimeDeclarations
from relax_mlir.lowering.shapes.body import (
    BodyLowering,
    Handle,
    Leaf,
    Lowered,
    box,
    cast,
    flatten,
    handle_types,
    is_handle,
    leaves,
    new_tensor,
    object_sizes,
    own,
    retain,
    unflatten,
    view,
    write,
)
from relax_mlir.lowering.shapes.symbols import SymbolTable, index_constant
from relax_mlir.mlir import arith, bufferization, func, ir, tensor
from relax_mlir.symbolic import Bounds, Definition, Dim

# Symbols of parameters at run time: their values, solved from dimension expressions, and their bounds.


def leaf_dims(leaf: Leaf) -> Sequence[Dim | None]:
    """The dimensions of a tensor, the values of a shape, or the value of an integer."""
    if isinstance(leaf.info, Tensor):
        return leaf.info.shape or ()
    if isinstance(leaf.info, Shape):
        return leaf.info.values or ()
    return (None,) if isinstance(leaf.info, Prim) else ()


def describe(leaf: Leaf, axis: int) -> str:
    """The name of entry `axis` of a leaf in messages."""
    what = "dimension" if isinstance(leaf.info, Tensor) else "value"
    return f"parameter '{verbatim(leaf.name)}' {what} {axis}"


def define_symbols(table: SymbolTable, params: Sequence[Leaf], dims: Sequence[Sequence[ir.Value]]) -> None:
    """Define every symbol of the parameters by the dimension that `symbolic.definitions` chooses.

    The symbol of ``2*n`` is half the dimension; a check ensures that it is an integer and non-negative.
    """
    places = [(leaf, axis, dim) for leaf in params for axis, dim in enumerate(leaf_dims(leaf))]
    values = [value for sizes in dims for value in sizes]
    for definition in symbolic.definitions([dim for _, _, dim in places]):
        leaf, axis, _ = places[definition.index]
        value = values[definition.index]
        if not definition.is_bare:
            value = _solved(table, leaf, axis, definition, value)
        table.define(definition.symbol, value, describe(leaf, axis))


def _solved(table: SymbolTable, leaf: Leaf, axis: int, definition: Definition, size: ir.Value) -> ir.Value:
    """``(size - offset) / scale``, checked to be a non-negative integer."""
    what = f"{table.function}: {describe(leaf, axis)}"
    known = [name for name in symbolic.symbols(definition.dim) if name != definition.symbol]
    given = "".join(f", {name} = {{{1 + i}}} taken from {table.origins[name]}" for i, name in enumerate(known))
    explained = [table.values[name] for name in known]
    expected = f"(expected {verbatim(leaf.name)}: {leaf.info})"
    rest = arith.subi(size, table.value(definition.offset))
    scale = table.value(definition.scale)
    zero = index_constant(0)
    if not isinstance(definition.scale, int):
        message = (
            f"{what} is {{0}}, {definition.dim}, which tells nothing of symbol '{definition.symbol}' where "
            f"{definition.scale} is 0{given} {expected}"
        )
        nonzero = arith.cmpi(arith.CmpIPredicate.ne, scale, zero)
        table.declarations.check(nonzero, "ShapeError", message, [size, *explained])
    quotient = rest if definition.scale == 1 else arith.floordivsi(rest, scale)
    exact = arith.cmpi(arith.CmpIPredicate.eq, arith.muli(quotient, scale), rest)
    counts = arith.cmpi(arith.CmpIPredicate.sge, quotient, zero)
    message = f"{what} is {{0}}, which is {definition.dim} for no {definition.symbol} = 0, 1, 2, …{given} {expected}"
    table.declarations.check(arith.andi(exact, counts), "ShapeError", message, [size, *explained])
    return quotient


def check_bounds(table: SymbolTable, bounds: Bounds) -> None:
    """Check at run time that the symbols are within the bounds that the user gave."""
    for name, (low, high) in bounds.items():
        value = table.values[name]
        source = f"{table.function}: symbol '{name}' is {{0}}, taken from {table.origins[name]},"
        limits = [("below its lower", low, arith.CmpIPredicate.sge)] if low > 0 else []
        if high is not None:
            limits.append(("above its upper", high, arith.CmpIPredicate.sle))
        for text, limit, predicate in limits:
            inside = arith.cmpi(predicate, value, index_constant(limit))
            table.declarations.check(inside, "ShapeError", f"{source} {text} bound {limit}", [value])
    table.assume(bounds)


# Entry of a public function: the function ``f.shapes`` and the signature attribute.
#
# ``f.shapes`` checks the dimensions of the arguments and computes the sizes of the results. The FFI wrapper is
# generated from the signature.


def leaf_sizes(
    declarations: RuntimeDeclarations, params: Sequence[Leaf], given: Sequence[ir.Value]
) -> list[list[ir.Value]]:
    """The ``index`` values that describe each parameter, read from the values that pass them."""
    remaining = list(given)
    dims = []
    for leaf in params:
        if is_handle(leaf.info):
            handle = Handle(remaining.pop(0), remaining.pop(0))
            dims.append(object_sizes(declarations, handle, leaf.rank))
        elif isinstance(leaf.info, Tensor):
            value = remaining.pop(0)
            dims.append([tensor.dim(value, index_constant(axis)) for axis in range(len(leaf_dims(leaf)))])
        else:
            dims.append([remaining.pop(0) for _ in range(leaf.rank)])
    return dims


def build_shapes_function(
    declarations: RuntimeDeclarations,
    function: str,
    params: Sequence[Leaf],
    results: Sequence[Leaf],
    bounds: Bounds,
    location: ir.Location,
) -> None:
    """Emit ``f.shapes``: from the dimensions of all parameters to those of results that callers allocate."""
    index = ir.IndexType.get()
    inputs = [index] * sum(leaf.rank for leaf in params)
    outputs = [index] * sum(leaf.rank for leaf in results)
    with location, ir.InsertionPoint(declarations.module.body):
        op = func.FuncOp(function + SHAPES_SUFFIX, ir.FunctionType.get(inputs, outputs), visibility="private")
        block = op.add_entry_block()
        with ir.InsertionPoint(block):
            arguments = list(block.arguments)
            dims = [[arguments.pop(0) for _ in range(leaf.rank)] for leaf in params]
            table = SymbolTable(verbatim(function), declarations)
            define_symbols(table, params, dims)
            for leaf, values in zip(params, dims, strict=True):
                _check_leaf(declarations, table, leaf, values)
            check_bounds(table, bounds)
            func.ReturnOp([table.size(dim) for leaf in results for dim in leaf_dims(leaf) if dim is not None])


def _check_leaf(declarations: RuntimeDeclarations, table: SymbolTable, leaf: Leaf, values: Sequence[ir.Value]) -> None:
    for axis, (dim, value) in enumerate(zip(leaf_dims(leaf), values, strict=True)):
        if dim is None:
            continue
        name = symbolic.linear_definition(dim)
        if name is not None and table.values.get(name) == value:
            continue
        expected, explained = _expectation(table, leaf, axis, dim)
        texts = [f"{{{1 + len(explained) + i}}}" for i in range(len(values))]
        got = f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
        message = (
            f"{table.function}: {describe(leaf, axis)} is {{0}}, {expected} "
            f"(expected {verbatim(leaf.name)}: {leaf.info}, got {got})"
        )
        equal = arith.cmpi(arith.CmpIPredicate.eq, value, table.value(dim))
        declarations.check(equal, "ShapeError", message, [value, *explained, *values])


def _expectation(table: SymbolTable, leaf: Leaf, axis: int, dim: Dim) -> tuple[str, list[ir.Value]]:
    if isinstance(dim, int):
        return f"expected {dim}", []
    text, values = table.explain(dim, 1)
    return f"but {text}", values


DROPPED = None
"""Marks a result leaf that callers do not receive, because it is in the memory of a parameter."""


def signature(
    function: str,
    params: Sequence[tuple[str, StructInfo]],
    result: StructInfo,
    returned: Sequence[bool | None],
    recursive: bool,
    exposed: ir.Attribute | None = None,
    written: Sequence[int] = (),
) -> ir.DictAttr:
    """The attribute from which the FFI wrapper of `function` is generated.

    `returned`: per result leaf, True if the function returns it. `exposed`: the attribute `EXPOSES`, if the function is
    the entry of a prim func. `written`: the indices of the arguments that results are written into.
    """
    is_tuple = isinstance(result, Tuple)
    fields = result.fields if isinstance(result, Tuple) else (result,)
    flags = iter(returned)
    text: dict[str, ir.Attribute] = {
        "name": ir.StringAttr.get(function),
        "params": ir.ArrayAttr.get([item for p in params if (item := _describe_info(*p)) is not None]),
        "results": ir.ArrayAttr.get(_described("result {}", fields, flags)),
        "tuple": ir.BoolAttr.get(is_tuple),
    }
    if recursive:
        text["recursive"] = ir.BoolAttr.get(True)
    if isinstance(exposed, ir.DictAttr) and "written" in exposed:
        text |= {"tuple": ir.BoolAttr.get(False), "written": exposed["written"]}
    if written:
        text["written"] = ir.DenseI64ArrayAttr.get(list(written))
    return ir.DictAttr.get(text)


def _described(name: str, infos: Sequence[StructInfo], returned: Iterator[bool | None] | None) -> list[ir.Attribute]:
    """The descriptions of the fields of a tuple, without those that are `DROPPED`."""
    found = [_describe_info(name.format(i), info, returned) for i, info in enumerate(infos)]
    return [item for item in found if item is not None]


def _describe_info(name: str, info: StructInfo, returned: Iterator[bool | None] | None = None) -> ir.DictAttr | None:
    """Describe a value; None for a leaf that is `DROPPED`."""
    text: dict[str, ir.Attribute] = {"name": ir.StringAttr.get(name), "type": ir.StringAttr.get(str(info))}
    if isinstance(info, Tuple):
        fields = _described(f"{name}[{{}}]", info.fields, returned)
        text |= {"kind": ir.StringAttr.get("tuple"), "fields": ir.ArrayAttr.get(fields)}
        return ir.DictAttr.get(text)
    text["kind"] = ir.StringAttr.get(_KINDS[type(info)])
    if isinstance(info, Tensor) and info.dtype is not None:
        text["dtype"] = ir.StringAttr.get(str(info.dtype))
    dims = info.shape if isinstance(info, Tensor) else info.values if isinstance(info, Shape) else None
    if dims is not None:
        text["ndim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), len(dims))
        text["shape"] = dims_attr(dims)
    flag = returned is not None and next(returned)
    if flag is DROPPED:
        return None
    if flag:
        text["returned"] = ir.BoolAttr.get(True)
    return ir.DictAttr.get(text)


_KINDS: dict[type[StructInfo], str] = {Tensor: "tensor", Shape: "shape", Prim: "int", Object: "object"}


# Donation: results that are computed in the memory of a parameter.


def donated_results(op: func.FuncOp, name: str, params: Sequence[Leaf], results: Sequence[Result]) -> list[Result]:
    """Return `results`, with the parameter whose memory each donated one takes.

    Raises:
        UnsupportedError: the function is private, so that the module may call it, or it returns such a result itself.
        VerifyError: the attribute is not a list of different parameters that have the types of their results.
    """
    given = op.attributes[DONATED]
    names = [item.value for item in given] if _is_texts(given) else []
    places = {leaf.name: number for number, leaf in enumerate(params)}
    if len(names) != len(results):
        raise VerifyError(f'{name}: {DONATED} is {given}, expected a parameter or "" for {len(results)} results')
    if "sym_visibility" in op.attributes:
        raise UnsupportedError(f"{name}: {DONATED} is for public functions, which no other calls")
    taken = [text for text in names if text]
    if len(set(taken)) != len(taken) or not set(taken) <= set(places):
        raise VerifyError(f"{name}: {DONATED} is {given}, expected different ones of {', '.join(places)}")
    found = []
    for result, text in zip(results, names, strict=True):
        if not text:
            found.append(result)
            continue
        param = params[places[text]]
        if not _fits(result.leaf.info, param.info):
            raise VerifyError(
                f"{name}: {result.leaf.name} is {result.leaf.info}, which does not fit into the memory of "
                f"parameter '{param.name}', {param.info}"
            )
        if result.returned:
            raise UnsupportedError(f"{name}: {result.leaf.name} has no size before the call, and takes no memory")
        found.append(replace(result, donated=places[text]))
    return found


def _is_texts(given: ir.Attribute) -> bool:
    return isinstance(given, ir.ArrayAttr) and all(isinstance(item, ir.StringAttr) for item in given)


def _fits(result: StructInfo, param: StructInfo) -> bool:
    if not isinstance(result, Tensor) or not isinstance(param, Tensor) or result.dtype != param.dtype:
        return False
    shape, other = result.known_shape, param.known_shape
    if shape is None or other is None or len(shape) != len(other):
        return False
    return all(symbolic.prove_equal(a, b) for a, b in zip(shape, other, strict=True))


# Headers of Relax functions at level T: their types, results, and recursion.


@dataclass(frozen=True)
class Result:
    """A leaf of a result. `returned`: the function returns it; otherwise it writes it into a tensor of its caller.

    `donated`: that tensor is the parameter leaf with this index, not a destination argument.
    """

    leaf: Leaf
    returned: bool
    donated: int | None = None

    @property
    def types(self) -> list[ir.Type]:
        """The types of the values that represent it in the results; a returned tensor is a handle."""
        return handle_types() if self.returned and isinstance(self.leaf.info, Tensor) else self.leaf.types


@dataclass(frozen=True)
class Header:
    """A function before (`old`) and after (`new`) shape lowering."""

    name: str
    old: func.FuncOp
    new: func.FuncOp
    param_infos: list[tuple[str, StructInfo]]
    params: list[Leaf]
    result_info: StructInfo
    results: list[Result]
    recursive: bool

    @property
    def destinations(self) -> list[Leaf]:
        """The results that are written into tensors of the caller other than parameters."""
        return [r.leaf for r in self.results if not r.returned and r.donated is None]

    def places(self, given: Sequence[ir.Value], outs: Sequence[ir.Value]) -> list[ir.Value]:
        """The tensor that each result not returned is written into: a parameter, or one of `outs`."""
        starts = [0, *itertools.accumulate(len(leaf.types) for leaf in self.params)]
        own = iter(outs)
        written = [result for result in self.results if not result.returned]
        return [next(own) if r.donated is None else given[starts[r.donated]] for r in written]


def make_header(op: func.FuncOp, name: str, recursive: bool, short: bool) -> Header:
    """Add the function `name` of level T, without a body.

    Its arguments are the parameters, the destinations of results, and, if it is `recursive`, the address that stack
    depth is measured from. A recursive function returns its results, because their sizes are not known before the call.
    `short`: see `is_latency_critical`.
    """
    infos = [struct_info(t) for t in op.type.inputs]
    named = list(zip(parameter_names(op), infos, strict=True))
    params = [leaf for param, info in named for leaf in leaves(param, info)]
    if len(op.type.results) != 1:
        raise UnsupportedError(f"{name}: a Relax function returns one value (a tuple for several)")
    result_info = struct_info(op.type.results[0])
    known = set(parameter_symbols(infos))
    results = [Result(leaf, recursive or not _has_size(leaf, known)) for leaf in leaves("result", result_info)]
    if DONATED in op.attributes:
        results = donated_results(op, name, params, results)
    inputs = [t for leaf in params for t in leaf.types]
    inputs += [t for r in results if not r.returned and r.donated is None for t in r.types]
    if recursive:
        inputs.append(ir.IntegerType.get_signless(64))
    outs = [t for result in results for t in result.types]
    is_private = "sym_visibility" in op.attributes
    with op.location, ir.InsertionPoint(op):
        new = func.FuncOp(name, ir.FunctionType.get(inputs, outs), visibility="private" if is_private else None)
        if not is_private:
            flags = [DROPPED if r.donated is not None else r.returned for r in results]
            exposed = op.attributes.get(EXPOSES)
            starts = [0, *itertools.accumulate(len(leaf.types) for leaf in params)]
            written = sorted(starts[r.donated] for r in results if r.donated is not None)
            new.attributes[SIGNATURE] = signature(name, named, result_info, flags, recursive, exposed, written)
            if exposed is not None:
                new.attributes[EXPOSES] = exposed
            if short:
                new.attributes[LATENCY_CRITICAL] = ir.UnitAttr.get()
    return Header(name, op, new, named, params, result_info, results, recursive)


def _has_size(leaf: Leaf, known: set[str]) -> bool:
    """True if the size of a result is a formula of the parameters' symbols."""
    if not isinstance(leaf.info, Tensor) or is_handle(leaf.info) or leaf.info.known_shape is None:
        return False
    return known.issuperset(leaf.info.symbols())


def recursive_functions(functions: Sequence[func.FuncOp]) -> set[str]:
    """The names of functions that call themselves, directly or indirectly."""
    called = {op.name.value: {callee_of(call) for call in ops_of(op.operation, "relax.call")} for op in functions}

    def reaches(start: str) -> bool:
        waiting, seen = list(called[start]), set(called[start])
        while waiting:
            name = waiting.pop()
            if name == start:
                return True
            new = called.get(name, set()) - seen
            seen |= new
            waiting += new
        return False

    return {name for name in called if reaches(name)}


# Recursive functions: a limit on their stack depth.


STACK_BYTES = 2 << 20
"""Stack bytes available to a recursion, measured from its first call; threads usually have 8 MiB."""


def check_stack(declarations: RuntimeDeclarations, name: str, base: ir.Value) -> ir.Value:
    """Check stack space at the entry of a recursive function; return the base address for its callees.

    `base`: the base address from the caller, 0 if it is outside of the recursion.
    """
    word = ir.IntegerType.get_signless(64)
    (here,) = declarations.object("stack", [], [word])
    outermost = arith.cmpi(arith.CmpIPredicate.eq, base, arith.constant(word, 0))
    start = arith.select(outermost, here, base)
    used = arith.index_cast(ir.IndexType.get(), arith.subi(start, here))
    limit = index_constant(STACK_BYTES)
    text = "the function calls itself too deep: its calls take {0} bytes of the stack, the limit is {1}"
    message = f"{verbatim(name)}: {text}"
    fits = arith.cmpi(arith.CmpIPredicate.sle, used, limit)
    declarations.check(fits, "RecursionLimitError", message, [used, limit])
    return start


# Results of a function: tensors written into destinations, and returned values.


def give_results(body: BodyLowering, header: Header, result: Lowered, outs: Sequence[ir.Value]) -> None:
    """Write each result into its destination or return it.

    A tensor that is returned twice is computed in only one destination. All copies come before the first write of a
    destination, because destinations may hold their sources. Results in the memory of parameters are written last.
    """
    items = _leaves(result)
    destinations = iter(outs)
    placed = [wanted for wanted in header.results if not wanted.returned]
    donated = [out for out, wanted in zip(outs, placed, strict=True) if wanted.donated is not None]
    sources: list[tuple[ir.Value, ir.Value]] = []
    taken: set[ir.Value] = set()
    returned: dict[int, list[ir.Value]] = {}
    for number, (item, wanted) in enumerate(zip(items, header.results, strict=True)):
        if wanted.returned:
            returned[number] = flatten(_returned(body, item, wanted.leaf.info))
            continue
        assert isinstance(item, ir.Value)
        out, value, base = next(destinations), item, _memory_of(item)
        if value in body.checked or base in taken or (base in donated and base != out):
            value = bufferization.alloc_tensor(value.type, [], copy=value)
        taken.add(base)
        sources.append((value if value.type == out.type else tensor.cast(out.type, value), out))
    found = {
        number: source if source == out else bufferization.materialize_in_destination(out.type, source, out)
        for number, (source, out) in sorted(enumerate(sources), key=lambda item: item[1][1] in donated)
    }
    written = iter([found[number] for number in range(len(sources))])
    for number, words in returned.items():
        if _is_handle(header.results[number]):
            retain(body, Handle(*words))
    func.ReturnOp(
        [
            value
            for number in range(len(items))
            for value in (returned[number] if number in returned else [next(written)])
        ]
    )


def _returned(body: BodyLowering, item: Lowered, info: StructInfo) -> Lowered:
    """A result in the form that the function returns; a tensor object returned by a callee is passed on."""
    if not isinstance(info, Tensor) or not isinstance(item, ir.Value):
        return item
    base = _without_casts(item)
    return body.received.pop(base, None) or _place(body, base, info) or box(body, item, info)


def _place(body: BodyLowering, value: ir.Value, info: Tensor) -> Handle | None:
    """Make the call that computes a tensor write it into a new tensor object, if it fills an uninitialised tensor.

    Like `place-results` for destinations of the caller, but here the size is known at the call.
    """
    defining = defining_op(value)
    if defining is None or defining.name != "func.call" or defining.block != ir.InsertionPoint.current.block:
        return None
    tensors: list[ir.Value] = [result for result in defining.results if isinstance(result.type, ir.RankedTensorType)]
    empties = [i for i, operand in enumerate(defining.operands) if is_a(defining_op(operand), tensor.EmptyOp)]
    if len(tensors) != len(empties):
        return None
    position = empties[tensors.index(value)]
    old = defining.operands[position]
    type_ = ir.RankedTensorType(old.type)
    dynamic = iter(old.owner.operands)
    shape = [None if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)]
    with ir.InsertionPoint(defining), defining.location:
        sizes = [next(dynamic) if dim is None else index_constant(dim) for dim in shape]
        handle, buffer = new_tensor(body, sizes, Tensor(shape, info.dtype))
        defining.operands[position] = bufferization.to_tensor(old.type, buffer, restrict=True, writable=True)
    write(cast(value, old.type), buffer)
    return handle


def receive(body: BodyLowering, header: Header, info: StructInfo, values: Sequence[ir.Value]) -> Lowered:
    """Convert the returned values of a call to the result described by `info`; the frame takes its objects."""
    remaining = list(values)
    views: list[Lowered] = []
    for leaf, result in zip(leaf_infos(info), header.results, strict=True):
        words = [remaining.pop(0) for _ in result.types]
        if not _is_handle(result):
            views.append(words[0] if isinstance(leaf, Tensor) else unflatten(leaf, words))
            continue
        handle = Handle(*words)
        own(body, handle)
        value = view(body, handle, leaf) if isinstance(leaf, Tensor) else handle
        if isinstance(value, ir.Value):
            body.received[value] = handle
        views.append(value)
    return _nested(info, views)


def _is_handle(result: Result) -> bool:
    return result.returned and all(isinstance(type_, ir.IntegerType) for type_ in result.types) and bool(result.types)


def _leaves(value: Lowered) -> list[Lowered]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, tuple) else [value]


def leaf_infos(info: StructInfo) -> list[StructInfo]:
    """`info`, or the infos of its fields in order."""
    return [leaf for item in info.fields for leaf in leaf_infos(item)] if isinstance(info, Tuple) else [info]


def _nested(info: StructInfo, items: list[Lowered]) -> Lowered:
    """Assemble the value that `info` describes from leaves; takes them off the front of `items`."""
    return tuple(_nested(field, items) for field in info.fields) if isinstance(info, Tuple) else items.pop(0)


def _without_casts(value: ir.Value) -> ir.Value:
    while (defining := defining_op(value)) is not None and defining.name == "tensor.cast":
        value = defining.operands[0]
    return value


def _memory_of(value: ir.Value) -> ir.Value:
    """The tensor that `value` is a view of."""
    while not isinstance(value.owner, ir.Block) and has_trait(value.owner.operation, IsView):
        value = value.owner.operation.operands[0]
    return value
