"""The head of a prim func: signature and attributes, and alternative spellings, which are normalized."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import PRIM_ATTRS
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.number_attributes import literal_attr
from relax_mlir.error import RelaxError
from relax_mlir.mlir import func, ir
from relax_mlir.script.annotations import read_dims
from relax_mlir.script.scope import Scope
from relax_mlir.script.source import Problem
from relax_mlir.script.statements import NAME
from relax_mlir.symbolic import Dim

SELF_EVIDENT = ("tir.noalias", "tirx.noalias", "T.noalias", "s_tir", "tir.is_scheduled", "tirx.is_scheduled")
"""Attributes of TVM that hold for every prim func here, or have no effect."""


def read_attributes(call: ast.Call) -> dict[str, Any]:
    """The attributes in ``T.func_attr(...)``. Raises `Problem`."""
    if len(call.args) != 1 or not isinstance(call.args[0], ast.Dict) or call.keywords:
        raise Problem(call, "T.func_attr takes a dictionary of names and values")
    found: dict[str, Any] = {}
    for key, value in zip(call.args[0].keys, call.args[0].values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise Problem(key or call, "the attributes of a prim func have strings as names")
        try:
            literal = ast.literal_eval(value)
        except ValueError:
            message = f"attribute '{key.value}' of a prim func is a literal, not `{ast.unparse(value)[:40]}`"
            raise Problem(value, message, "UnsupportedError") from None
        if key.value in SELF_EVIDENT:
            continue
        if key.value == NAME and not (isinstance(literal, str) and literal):
            raise Problem(value, f"'{NAME}' is the name by which the prim func is called from outside", "ArgumentError")
        found[key.value] = literal
    return found


def set_attributes(node: ast.AST, function: func.FuncOp, given: dict[str, Any]) -> None:
    """Store attributes on a prim func. Raises `Problem`."""
    if not given:
        return
    try:
        function.attributes[PRIM_ATTRS] = literal_attr("func_attr", given)
    except RelaxError as error:
        raise Problem.of(node, error) from None


# Normalize alternative spellings in prim funcs to the one that the parser supports.
#
# | Written | Read as |
# |---|---|
# | ``with T.sblock("b"):``, ``T.sblock_alloc_buffer(…)`` | ``with T.block("b"):``, ``T.alloc_buffer(…)`` |
# | ``with T.block("root"):`` around a whole body | the body |
# | ``with T.block([n, m]) as [i, j]:``, ``with T.block(n, m) as i, j:`` | loops around a block with these axes |
# | ``with T.grid(n) as i:`` | ``for i in T.grid(n):`` |
# | ``for at in T.grid(n, m):`` | two loops, ``at`` being the tuple of their variables |
# | ``x: T.let[T.int64] = …`` | ``x: T.int64 = …`` |
# | ``A.shape[0]``, ``T.grid(*A.shape)`` | the declared sizes of ``A`` |
# | ``T.meta_var(4)`` | 4 |
# | ``T.thread_binding(n, thread="threadIdx.x")`` | ``T.parallel(n)``: CPU threads have no axes |
# | ``T.attr(0, "pragma_unroll", 4)``, alone or with `with` | the statements under it, since pragmas are hints |
# | a parameter ``s: T.float32`` | a buffer of rank 0, with a load for each use of ``s`` |

RENAMED = {
    "sblock": "block",
    "sblock_alloc_buffer": "alloc_buffer",
    "sblock_attr": "block_attr",
}


THREADS = (*(f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx", "vthread") for axis in "xyz"), "vthread")
"""The thread axes to which TVM binds loops."""
PRAGMA = "pragma_"
ALLOCATIONS = ("alloc_buffer", "sblock_alloc_buffer")


def normalized(
    statements: Sequence[ast.stmt],
    scope: Scope,
    scalars: Collection[str],
    shapes: Mapping[str, Sequence[ast.expr]],
) -> list[ast.stmt]:
    """The statements of a body in the normalized spelling.

    `scalars` are the parameters of rank 0, `shapes` the sizes of the buffer parameters.
    """
    rewriter = _Rewriter(scope, scalars, shapes)
    found: list[ast.stmt] = []
    for statement in statements:
        found += rewriter.statements([statement])
    return _without_root(found, scope)


def _without_root(statements: Sequence[ast.stmt], scope: Scope) -> list[ast.stmt]:
    """The statements, without a block around all of them that has neither axes nor conditions."""
    if len(statements) != 1 or not isinstance(statements[0], ast.With):
        return list(statements)
    block = statements[0]
    call = block.items[0].context_expr
    if not isinstance(call, ast.Call) or scope.path(call.func) != ("T", "block"):
        return list(statements)
    for inner in block.body:
        value = inner.value if isinstance(inner, ast.Assign | ast.Expr) else None
        path = scope.path(value.func) if isinstance(value, ast.Call) else None
        if path is not None and (path[1].startswith("axis.") or path[1] == "where"):
            return list(statements)
        if isinstance(inner, ast.With) and not _is_block(inner, scope):
            return list(statements)
    return list(block.body)


def _is_block(node: ast.With, scope: Scope) -> bool:
    call = node.items[0].context_expr
    return isinstance(call, ast.Call) and scope.path(call.func) == ("T", "block")


class _Rewriter(ast.NodeTransformer):
    def __init__(self, scope: Scope, scalars: Collection[str], shapes: Mapping[str, Sequence[ast.expr]]) -> None:
        self.scope, self.scalars = scope, scalars
        self.shapes = dict(shapes)
        self.tuples: dict[str, list[ast.expr]] = {}

    def path(self, node: ast.expr) -> str | None:
        found = self.scope.path(node)
        return found[1] if found is not None and found[0] == "T" else None

    def statements(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for node in nodes:
            result = self.visit(node)
            found += result if isinstance(result, list) else [result]
        return found

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr in RENAMED and self.path(node) == node.attr:
            return ast.copy_location(ast.Attribute(node.value, RENAMED[node.attr], node.ctx), node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        if node.id in self.tuples:
            return ast.copy_location(ast.Tuple(list(self.tuples[node.id]), ast.Load()), node)
        if node.id in self.scalars:
            nothing = ast.copy_location(ast.Tuple([], ast.Load()), node)
            return ast.copy_location(ast.Subscript(node, nothing, ast.Load()), node)
        return node

    def sizes(self, node: ast.expr) -> list[ast.expr] | None:
        """The sizes of ``A.shape``; None for other expressions."""
        if not isinstance(node, ast.Attribute) or node.attr != "shape" or not isinstance(node.value, ast.Name):
            return None
        found = self.shapes.get(node.value.id)
        return None if found is None else [_placed_expression(size, node) for size in found]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Record the sizes of A in ``A = T.match_buffer(a, shape)``."""
        self.generic_visit(node)
        call, target = node.value, node.targets[0]
        name = self.path(call.func) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and isinstance(target, ast.Name):
            first = {"match_buffer": 1, "alloc_buffer": 0}.get(str(name))
            named = [k.value for k in call.keywords if k.arg == "shape"]
            given = named or ([] if first is None else call.args[first : first + 1])
            if first is not None and given and isinstance(given[0], ast.Tuple | ast.List):
                self.shapes[target.id] = list(given[0].elts)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self.path(node.func) == "meta_var" and len(node.args) == 1 and not node.keywords:
            return self.visit(node.args[0])  # type: ignore[no-any-return]  # it is an expression
        if self.path(node.func) == "thread_binding":
            node = self.thread_loop(node)
        node.args = self.unpacked(node.args)
        sizes = self.sizes(node.args[0]) if node.args and self.path(node.func) in ALLOCATIONS else None
        if sizes is not None:
            node.args[0] = ast.copy_location(ast.Tuple(sizes, ast.Load()), node.args[0])
        return self.generic_visit(node)  # type: ignore[return-value]  # it is an expression

    def unpacked(self, items: Sequence[ast.expr]) -> list[ast.expr]:
        """Arguments with ``*A.shape`` expanded."""
        arguments: list[ast.expr] = []
        for item in items:
            sizes = self.sizes(item.value) if isinstance(item, ast.Starred) else None
            arguments += [item] if sizes is None else sizes
        return arguments

    def thread_loop(self, node: ast.Call) -> ast.Call:
        """The loop of a GPU thread binding as a parallel loop."""
        named = {str(keyword.arg): keyword.value for keyword in node.keywords}
        thread = named.pop("thread", None)
        named.pop("annotations", None)
        is_known = isinstance(thread, ast.Constant) and thread.value in THREADS
        if named or not is_known or len(node.args) not in (1, 2):
            message = f'write T.thread_binding(n, thread="threadIdx.x"), with one of {", ".join(THREADS)}'
            raise Problem(node, message, "ArgumentError")
        assert isinstance(node.func, ast.Attribute)
        called = ast.copy_location(ast.Attribute(node.func.value, "parallel", ast.Load()), node.func)
        return ast.copy_location(ast.Call(called, node.args, []), node)

    def is_hint(self, node: ast.expr) -> bool:
        """True if `node` is ``T.attr(…, "pragma_…", …)``, a hint that does not change the semantics."""
        if not isinstance(node, ast.Call) or self.path(node.func) != "attr" or len(node.args) != 3:
            return False
        key = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
        return isinstance(key, str) and key.startswith(PRAGMA)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        if self.is_hint(node.value):
            return []
        return self.generic_visit(node)  # type: ignore[return-value]  # it is a statement

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        sizes, index = self.sizes(node.value), node.slice
        if sizes is not None and isinstance(index, ast.Constant) and isinstance(index.value, int):
            if not 0 <= index.value < len(sizes):
                message = f"`{ast.unparse(node.value)}` has {len(sizes)} entries, not one of number {index.value}"
                raise Problem(node, message, "ShapeError")
            return sizes[index.value]
        is_scalar = isinstance(node.value, ast.Name) and node.value.id in self.scalars
        value = node.value if is_scalar else self.visit(node.value)
        return ast.copy_location(ast.Subscript(value, self.visit(node.slice), node.ctx), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        annotation = node.annotation
        if isinstance(annotation, ast.Subscript) and self.path(annotation.value) == "let":
            node.annotation = annotation.slice
        return self.generic_visit(node)  # type: ignore[return-value]  # it is a statement

    def visit_For(self, node: ast.For) -> ast.stmt:
        call = node.iter
        if isinstance(call, ast.Call):
            call.args = self.unpacked(call.args)
        if (
            isinstance(node.target, ast.Name)
            and isinstance(call, ast.Call)
            and self.path(call.func) == "grid"
            and len(call.args) > 1
        ):
            names = [f"{node.target.id}_{number}" for number in range(len(call.args))]
            self.tuples[node.target.id] = [_named(name, node.target) for name in names]
            targets = [_named(name, node.target, ast.Store) for name in names]
            node.target = ast.copy_location(ast.Tuple(targets, ast.Store()), node.target)
        return self.generic_visit(node)  # type: ignore[return-value]  # it is a statement

    def visit_With(self, node: ast.With) -> ast.stmt | list[ast.stmt]:
        call = node.items[0].context_expr
        if len(node.items) == 1 and self.is_hint(call):
            return self.statements(node.body)
        name = self.path(call.func) if isinstance(call, ast.Call) else None
        if node.items[0].optional_vars is None or not isinstance(call, ast.Call):
            return self.generic_visit(node)  # type: ignore[return-value]  # it is a statement
        if name not in ("grid", "block", "sblock"):
            raise Problem(node.items[0].optional_vars, "only T.block and T.grid have variables")
        targets = _targets(node)
        body = self.statements(node.body)
        if name == "grid":
            return self.loops(node, targets, [self.visit(a) for a in call.args], body)
        return self.block(node, call, targets, body)

    def loops(self, node: ast.With, targets: list[ast.expr], extents: list[ast.expr], body: list[ast.stmt]) -> ast.stmt:
        """``for i, j in T.grid(n, m): …``."""
        call = node.items[0].context_expr
        assert isinstance(call, ast.Call)
        root = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        grid = ast.Call(ast.Attribute(root, "grid", ast.Load()), extents, [])
        target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
        return _placed(ast.For(target, grid, body, []), node)

    def block(self, node: ast.With, call: ast.Call, targets: list[ast.expr], body: list[ast.stmt]) -> ast.stmt:
        """A block with axes in its head, as loops around a block."""
        domain = list(call.args)
        if domain and isinstance(domain[0], ast.List | ast.Tuple):
            domain = [*domain[0].elts, *domain[1:]]
        title = [d for d in domain if isinstance(d, ast.Constant) and isinstance(d.value, str)]
        domain = [d for d in domain if d not in title]
        if len(domain) != len(targets):
            raise Problem(call, f"a block with {len(domain)} axes has {len(targets)} variables", "ArgumentError")
        assert isinstance(call.func, ast.Attribute)
        root = call.func.value
        kinds, extents = "", []
        for item in domain:
            reduces = isinstance(item, ast.Call) and self.path(item.func) == "reduce_axis"
            kinds += "R" if reduces else "S"
            extents.append(self.visit(_extent(item) if reduces else item))
        taken = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        loops = _fresh([f"{ast.unparse(target)}0" for target in targets], taken)
        axis = ast.Attribute(ast.Attribute(root, "axis", ast.Load()), "remap", ast.Load())
        bindings = ast.List([ast.Name(loop, ast.Load()) for loop in loops], ast.Load())
        remap = ast.Assign([ast.Tuple(targets, ast.Store())], ast.Call(axis, [ast.Constant(kinds), bindings], []))
        written: list[ast.expr] = [*title[:1]] or [ast.Constant("block")]
        opened = ast.Call(ast.Attribute(root, "block", ast.Load()), written, [])
        inner = ast.With([ast.withitem(opened)], [remap, *body])
        names: list[ast.expr] = [ast.Name(loop, ast.Store()) for loop in loops]
        return self.loops(node, names, extents, [_placed(inner, node)])


def _extent(item: ast.expr) -> ast.expr:
    """``k`` of ``T.reduce_axis(0, k)`` and ``T.reduce_axis(k)``."""
    assert isinstance(item, ast.Call)
    start = item.args[0] if len(item.args) == 2 else None
    from_zero = start is None or (isinstance(start, ast.Constant) and start.value == 0)
    if not item.args or not from_zero or item.keywords:
        raise Problem(item, "an axis of a block begins at 0: write T.reduce_axis(0, k)", "ArgumentError")
    return item.args[-1]


def _targets(node: ast.With) -> list[ast.expr]:
    """The variables of ``with T.block(n, m) as i, j``, which Python parses as two items."""
    first = node.items[0].optional_vars
    targets = list(first.elts) if isinstance(first, ast.Tuple | ast.List) else [first] if first else []
    for item in node.items[1:]:
        if item.optional_vars is not None or not isinstance(item.context_expr, ast.Name):
            raise Problem(item.context_expr, "one T.block or T.grid for each `with`")
        targets.append(item.context_expr)
    for target in targets:
        if not isinstance(target, ast.Name):
            raise Problem(target, "the variables of a block or a loop are names")
    return [_named(target.id, target, ast.Store) for target in targets if isinstance(target, ast.Name)]


def _placed_expression(node: ast.expr, at: ast.expr) -> ast.expr:
    """A copy of an expression with the location of `at`; for a string, the expression in it."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    found = ast.parse(ast.literal_eval(node), mode="eval").body if is_text else copy.deepcopy(node)
    for part in ast.walk(found):
        ast.copy_location(part, at)
    return found


def _fresh(names: Sequence[str], taken: set[str]) -> list[str]:
    """Names that are not in use."""
    found: list[str] = []
    for name in names:
        wanted = name
        while wanted in taken:
            wanted += "_"
        taken.add(wanted)
        found.append(wanted)
    return found


def _named(name: str, at: ast.AST, context: Callable[[], ast.expr_context] = ast.Load) -> ast.expr:
    return ast.copy_location(ast.Name(name, context()), at)


def _placed(node: ast.stmt, at: ast.With) -> ast.stmt:
    """A new statement with the location of `at`, also for its nodes without a location."""
    ast.copy_location(node, at)
    node.end_lineno, node.end_col_offset = at.lineno, at.end_col_offset
    return ast.fix_missing_locations(node)


INTEGERS = ("int64", "int32")
VARIABLES = (*INTEGERS, "var", "Var", "SizeVar", "int")
HINTS = ("scope", "align", "offset_factor", "buffer_type")
"""Memory hints of TVM's buffers, which have no effect here."""


@dataclass
class Parameter:
    """A parameter: the shape and dtype of a buffer, or an integer (shape None, passed as ``index``)."""

    node: ast.AST
    name: str
    shape: tuple[Dim, ...] | None
    dtype: DType | None

    @property
    def is_buffer(self) -> bool:
        return self.shape is not None

    def attribute(self) -> ir.Attribute:
        """The declaration as an attribute: the MLIR types express neither signedness nor symbols."""
        entries: dict[str, ir.Attribute] = {"name": ir.StringAttr.get(self.name)}
        if self.shape is not None:
            i64 = ir.IntegerType.get_signless(64)
            entries["shape"] = ir.ArrayAttr.get(
                [ir.IntegerAttr.get(i64, d) if isinstance(d, int) else ir.StringAttr.get(str(d)) for d in self.shape]
            )
            entries["dtype"] = ir.StringAttr.get(str(self.dtype))
        return ir.DictAttr.get(entries)

    def sizes(self) -> list[int]:
        dynamic = int(ir.ShapedType.get_dynamic_size())
        return [d if isinstance(d, int) else dynamic for d in self.shape or ()]


@dataclass
class Head:
    """The signature of a prim func, and the statements of its body."""

    name: str
    node: ast.FunctionDef
    parameters: list[Parameter]
    body: list[ast.stmt]
    attributes: dict[str, Any] = field(default_factory=dict)
    """The attributes in ``T.func_attr``."""
    symbols: dict[str, tuple[int, int] | int] = field(default_factory=dict)
    """The definition of each symbol: parameter and axis, or an integer parameter."""


def read_head(node: ast.FunctionDef, scope: Scope) -> Head:
    """Parse the signature of a prim func; raises `Problem`."""
    given = node.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
        raise Problem(node, "a prim func takes parameters without defaults, * or **")
    handles: dict[str, ast.arg] = {}
    found: dict[str, Parameter] = {}
    for parameter in given.args:
        read = _parameter(parameter, scope)
        if read is None:
            handles[parameter.arg] = parameter
        else:
            found[parameter.arg] = read
    scalars = [name for name, parameter in found.items() if parameter.shape == () and _is_scalar(parameter)]
    shapes = {
        name: [ast.parse(str(dim), mode="eval").body for dim in parameter.shape or ()]
        for name, parameter in found.items()
        if parameter.is_buffer
    }
    attributes: dict[str, Any] = {}
    statements = _without_attributes(node, scope, attributes)
    body = _prologue(normalized(statements, scope, scalars, shapes), scope, handles, found)
    for name, parameter in handles.items():
        if name not in found:
            raise Problem(parameter, f"handle '{name}' needs its T.match_buffer({name}, shape, dtype)")
    head = Head(node.name, node, [found[p.arg] for p in given.args], body, attributes)
    _define_symbols(head)
    return head


def _parameter(parameter: ast.arg, scope: Scope) -> Parameter | None:
    """A parameter by its annotation; None for a handle."""
    node = parameter.annotation
    if node is None:
        raise Problem(
            parameter,
            f"parameter '{parameter.arg}' needs an annotation, such as T.Buffer((n, m), \"float32\")",
        )
    arguments: list[ast.expr] = []
    keywords: list[ast.keyword] = []
    head = node
    if isinstance(node, ast.Call):
        head, arguments, keywords = node.func, list(node.args), node.keywords
    elif isinstance(node, ast.Subscript):
        head = node.value
        arguments = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    path = scope.path(head)
    if path is None or path[0] != "T":
        raise Problem(node, "expected T.Buffer(shape, dtype), T.handle or T.int64")
    if path[1] == "handle":
        return None
    if path[1] in INTEGERS or path[1] == "int":
        return Parameter(parameter, parameter.arg, None, None)
    if path[1] in ("Buffer", "buffer"):
        shape, dtype = read_buffer_type(node, arguments, keywords, scope)
        return Parameter(parameter, parameter.arg, shape, dtype)
    if path[1] in dtypes.DTYPES:
        return Parameter(parameter, parameter.arg, (), dtypes.dtype(path[1]))
    raise Problem(node, "expected T.Buffer(shape, dtype), T.handle or T.int64")


def read_buffer_type(
    node: ast.AST, arguments: list[ast.expr], keywords: list[ast.keyword], scope: Scope
) -> tuple[tuple[Dim, ...], DType]:
    """``(shape, dtype)`` of a buffer; the dtype is float32 if it is omitted."""
    named = {k.arg: k.value for k in keywords}
    for keyword in keywords:
        if keyword.arg not in ("shape", "dtype", *HINTS) and not _says_nothing(keyword.value):
            raise Problem(keyword, f"a buffer takes a shape and a dtype, not '{keyword.arg}'")
    if len(arguments) > 2:
        raise Problem(node, "a buffer takes a shape and a dtype", "ArgumentError")
    shape_node = arguments[0] if arguments else named.get("shape")
    dtype_node = arguments[1] if len(arguments) > 1 else named.get("dtype")
    if shape_node is None:
        raise Problem(node, "a buffer needs a shape", "ArgumentError")
    if not isinstance(shape_node, ast.Tuple | ast.List):
        shape_node = ast.copy_location(ast.Tuple([shape_node], ast.Load()), shape_node)
    dims = read_dims(shape_node, scope)
    if any(d is None for d in dims):
        raise Problem(shape_node, "a dimension of a buffer is an integer, a symbol or an expression of them")
    dtype = "float32"
    if dtype_node is not None:
        dtype = _dtype_text(dtype_node, scope)
    for dim, item in zip(dims, shape_node.elts, strict=True):
        if isinstance(dim, int) and dim < 0:
            raise Problem(item, f"dimension {dim} is negative", "ShapeError")
    try:
        return tuple(d for d in dims if d is not None), dtypes.dtype(dtype)
    except RelaxError as error:
        raise Problem.of(dtype_node or node, error) from None


def _dtype_text(node: ast.expr, scope: Scope) -> str:
    """A literal dtype, or a Python string captured by the script."""
    found = node.value if isinstance(node, ast.Constant) else None
    if isinstance(node, ast.Name):
        found = scope.captured.get(node.id)
    if not isinstance(found, str):
        raise Problem(node, 'expected a dtype such as "float32"', "DTypeError")
    return found


def _is_scalar(parameter: Parameter) -> bool:
    """True if a parameter of rank 0 is written as a scalar, ``s: T.float32``, not as a buffer."""
    node = parameter.node
    return isinstance(node, ast.arg) and isinstance(node.annotation, ast.Attribute)


def _says_nothing(node: ast.expr) -> bool:
    """True if an argument is the default of a row-major buffer: 0, None, or no strides."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    empty = isinstance(node, ast.List | ast.Tuple) and not node.elts
    return empty or (isinstance(node, ast.Constant) and node.value in (0, None))


def _without_attributes(node: ast.FunctionDef, scope: Scope, attributes: dict[str, Any]) -> list[ast.stmt]:
    """The statements of a prim func without ``T.func_attr``, whose entries are added to `attributes`."""
    rest: list[ast.stmt] = []
    for statement in node.body:
        call = _call_of(statement)
        if call is not None and scope.path(call.func) == ("T", "func_attr"):
            attributes |= read_attributes(call)
        else:
            rest.append(statement)
    return rest


def _prologue(
    statements: list[ast.stmt], scope: Scope, handles: dict[str, ast.arg], found: dict[str, Parameter]
) -> list[ast.stmt]:
    """Parse ``n = T.int64()`` and ``A = T.match_buffer(…)``; return the remaining statements."""
    rest: list[ast.stmt] = []
    matched: dict[str, str] = {}
    for statement in statements:
        call = _call_of(statement)
        path = None if call is None else scope.path(call.func)
        if call is None or path is None or path[0] != "T":
            rest += _variables(statement, scope)
        elif path[1] == "match_buffer":
            _match(statement, call, scope, handles, found, matched)
        elif path[1] in VARIABLES and not _has_value(call):
            continue
        else:
            rest.append(statement)
    return rest


def _has_value(call: ast.Call) -> bool:
    return any(not (isinstance(a, ast.Constant) and isinstance(a.value, str)) for a in call.args)


def _variables(statement: ast.stmt, scope: Scope) -> list[ast.stmt]:
    """Declare symbols from ``n, m = T.int64(), T.int64()``; return other statements unchanged."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Tuple):
        return [statement]
    for item in statement.value.elts:
        path = scope.path(item.func) if isinstance(item, ast.Call) else None
        if path is None or path[0] != "T" or path[1] not in VARIABLES or _has_value(item):  # type: ignore[arg-type]  # a call
            return [statement]
    return []


def _call_of(statement: ast.stmt) -> ast.Call | None:
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr) else None
    return value if isinstance(value, ast.Call) else None


def _match(
    statement: ast.stmt,
    call: ast.Call,
    scope: Scope,
    handles: dict[str, ast.arg],
    found: dict[str, Parameter],
    matched: dict[str, str],
) -> None:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name):
        raise Problem(statement, "write A = T.match_buffer(a, shape, dtype)")
    handle = call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else ""
    if handle not in handles:
        raise Problem(call, f"'{handle}' is no T.handle among the parameters")
    if handle in found:
        raise Problem(call, f"handle '{handle}' is matched already")
    shape, dtype = read_buffer_type(call, list(call.args[1:]), call.keywords, scope)
    found[handle] = Parameter(call, target.id, shape, dtype)


def _define_symbols(head: Head) -> None:
    """Determine the definition of each symbol; raises `Problem` for a symbol without one."""
    names: set[str] = set()
    for number, parameter in enumerate(head.parameters):
        if parameter.name in names:
            raise Problem(parameter.node, f"two parameters are called '{parameter.name}'")
        names.add(parameter.name)
        if not parameter.is_buffer:
            head.symbols[parameter.name] = number
    for number, parameter in enumerate(head.parameters):
        for axis, dim in enumerate(parameter.shape or ()):
            name = symbolic.linear_definition(dim)
            if name is not None:
                head.symbols.setdefault(name, (number, axis))
    for parameter in head.parameters:
        for dim in parameter.shape or ():
            for name in symbolic.symbols(dim):
                if name not in head.symbols:
                    raise Problem(
                        parameter.node,
                        f"symbol '{name}' of '{parameter.name}' is never determined: no dimension is '{name}' "
                        f"alone; add a parameter `{name}: T.int64`",
                        "ShapeError",
                    )
    if not any(p.is_buffer for p in head.parameters):
        raise Problem(head.node, f"prim func '{head.name}' has no buffer to write its result to")
