"""Entry of a public function: the function ``f.shapes`` and the signature attribute.

``f.shapes`` checks the dimensions of the arguments and computes the sizes of the results. The FFI wrapper is generated
from the signature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.types import Object, Prim, Shape, StructInfo, Tensor, Tuple
from relax_mlir.lowering.abi.checks import verbatim
from relax_mlir.lowering.abi.runtime_declarations import SHAPES_SUFFIX, RuntimeDeclarations
from relax_mlir.lowering.shapes.body import Handle, is_handle, object_sizes
from relax_mlir.lowering.shapes.leaves import Leaf
from relax_mlir.lowering.shapes.solve import check_bounds, define_symbols, describe, leaf_dims
from relax_mlir.lowering.shapes.symbols import SymbolTable, index_constant
from relax_mlir.mlir import arith, func, ir, tensor
from relax_mlir.symbolic import Bounds, Dim


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


def _check_leaf(
    declarations: RuntimeDeclarations, table: SymbolTable, leaf: Leaf, values: Sequence[ir.Value]
) -> None:
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


def _described(
    name: str, infos: Sequence[StructInfo], returned: Iterator[bool | None] | None
) -> list[ir.Attribute]:
    """The descriptions of the fields of a tuple, without those that are `DROPPED`."""
    found = [_describe_info(name.format(i), info, returned) for i, info in enumerate(infos)]
    return [item for item in found if item is not None]


def _describe_info(
    name: str, info: StructInfo, returned: Iterator[bool | None] | None = None
) -> ir.DictAttr | None:
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
    flag = returned is not None and next(returned)
    if flag is DROPPED:
        return None
    if flag:
        text["returned"] = ir.BoolAttr.get(True)
    return ir.DictAttr.get(text)


_KINDS: dict[type[StructInfo], str] = {Tensor: "tensor", Shape: "shape", Prim: "int", Object: "object"}
