"""Implementations of intrinsics: prim funcs whose statements replace loops."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.dialects.prim_params import prim_params
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError, UnsupportedError, expect
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import func
from relax_mlir.symbolic import Dim
from relax_mlir.te.schedule.facts import dim_text
from relax_mlir.te.tensors import Tensor
from relax_mlir.tir.printer import print_prim

KEPT = frozenset({"T", "range", "float", "min", "max", "True", "False"})
"""Names of the language."""


@dataclass(frozen=True)
class Place:
    """The location of a parameter's buffer: in `buffer`, from the element at `origin`, along its `axes`."""

    buffer: str
    origin: tuple[Dim, ...]
    axes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Implementation:
    """A prim func: its `parameters`, the sizes bound to its symbols in the intrinsic, its statements.

    `text` is the function as IR, for proofs about its accesses.
    """

    parameters: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    symbols: Mapping[str, Dim]
    body: tuple[ast.stmt, ...]
    text: str

    @classmethod
    def of(cls, what: str, given: IRModule | func.FuncOp, tensors: Sequence[Tensor]) -> Implementation:
        """Read a prim func whose parameters are these tensors.

        Raises:
            ArgumentError, DTypeError, ShapeError: other parameters.
            UnsupportedError: a prim func without a script form.
        """
        expect(what, given, IRModule | func.FuncOp, 'a prim func: a module of one, or mod["f"]')
        function = only_function(what, given) if isinstance(given, IRModule) else given
        with function.context:
            lines, params = print_prim(function), prim_params(function)
            if lines is None or params is None:
                raise UnsupportedError(f"{what}: '{function.name.value}' has no script form")
            text = str(function.operation.get_asm(print_generic_op_form=True, use_local_scope=True))
        if len(params) != len(tensors) or any(param.shape is None for param in params):
            names = ", ".join(tensor.name for tensor in tensors)
            raise ArgumentError(
                f"{what}: its parameters are {', '.join(param.name for param in params) or 'none'}; expected a buffer "
                f"for each of {names}"
            )
        known: dict[str, Dim] = {}
        for param, tensor in zip(params, tensors, strict=True):
            if str(param.dtype) != tensor.dtype:
                raise DTypeError(
                    f"{what}: '{param.name}' has dtype {param.dtype}, and {tensor.name} {tensor.dtype}"
                )
            for own, size in zip(param.shape or (), tensor.shape, strict=False):
                if (name := symbolic.linear_definition(own)) is not None and own == symbolic.symbol(name):
                    known.setdefault(name, size)
        for param, tensor in zip(params, tensors, strict=True):
            if not _has_shape(param.shape or (), tensor.shape, known):
                raise ShapeError(
                    f"{what}: '{param.name}' has shape {_text(param.shape or ())}, and {tensor.name} "
                    f"{_text(tensor.shape)}"
                )
        (parsed,) = ast.parse("\n".join(lines)).body
        assert isinstance(parsed, ast.FunctionDef)
        body = [item for item in parsed.body if not _is_attribute(item)]
        return cls(tuple(p.name for p in params), tuple(tensors), known, tuple(body), text)

    def lines(
        self, places: Mapping[Tensor, Place], sizes: Mapping[str, Dim], fresh: Callable[[str], str]
    ) -> list[str]:
        """Its statements on parts of buffers; `sizes` are the values of the intrinsic's symbols."""
        found = {name: symbolic.substitute(dim, sizes) for name, dim in self.symbols.items()}
        by_name = {name: places[tensor] for name, tensor in zip(self.parameters, self.tensors, strict=True)}
        own = _Renamed(by_name, found, fresh)
        statements = [own.visit(copy.deepcopy(item)) for item in self.body]
        return ast.unparse(ast.fix_missing_locations(ast.Module(statements, []))).splitlines()


class _Renamed(ast.NodeTransformer):
    """Replaces parameters by parts of buffers, symbols by sizes, and local names by new ones."""

    def __init__(
        self, places: Mapping[str, Place], sizes: Mapping[str, Dim], fresh: Callable[[str], str]
    ) -> None:
        self.places, self.fresh = places, fresh
        self.sizes = {name: _expression(dim) for name, dim in sizes.items()}
        self.names: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in KEPT:
            return node
        if node.id in self.sizes and isinstance(node.ctx, ast.Load):
            return self.sizes[node.id]
        if node.id not in self.names:
            self.names[node.id] = self.fresh(node.id)
        return ast.Name(self.names[node.id], node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name not in self.places:
            self.generic_visit(node)
            return node
        place = self.places[name]
        given = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = [_expression(dim) for dim in place.origin]
        for axis, item in zip(place.axes, given, strict=False):
            index = self.visit(item)
            is_first = place.origin[axis] == 0
            indices[axis] = index if is_first else ast.BinOp(index, ast.Add(), indices[axis])
        new = indices[0] if len(indices) == 1 else ast.Tuple(indices, ast.Load())
        return ast.Subscript(ast.Name(place.buffer, ast.Load()), new, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "alloc_buffer":
            shape = node.args[0]
            assert isinstance(shape, ast.Tuple)
            sizes = [_size(item) for item in shape.elts]
            node.args[0] = ast.Tuple(sizes, ast.Load())
        self.generic_visit(node)
        return node


def _size(node: ast.expr) -> ast.expr:
    """The size of a buffer, which may be a string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return ast.parse(node.value, mode="eval").body
    return node


def _expression(dim: Dim) -> ast.expr:
    return ast.parse(dim_text(dim), mode="eval").body


def _is_attribute(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and "func_attr" in ast.unparse(node.value.func)
    )


def only_function(what: str, module: IRModule) -> func.FuncOp:
    """The only prim func of a module."""
    found = [op for op in module.mlir.body.operations if isinstance(op, func.FuncOp)]
    if len(found) != 1:
        raise ArgumentError(f'{what}: the module has {len(found)} functions: give one of them, mod["f"]')
    return found[0]


def _has_shape(own: Sequence[Dim], wanted: Sequence[Dim], known: Mapping[str, Dim]) -> bool:
    if len(own) != len(wanted):
        return False
    try:
        return all(
            symbolic.prove_equal(symbolic.substitute(a, known), b) for a, b in zip(own, wanted, strict=True)
        )
    except RelaxError:
        return False


def _text(shape: Sequence[Dim]) -> str:
    return f"({', '.join(map(str, shape))})"
