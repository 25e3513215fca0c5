"""Random control flow and effects: loops, nested functions, packed functions that write, values of run-time type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import relax_mlir as rx
from difference import Failed, Frame, Node, Passing
from reference import OPS, numpy_dtype
from relax_mlir import op as R

if TYPE_CHECKING:
    from generator import Generator

MANAGED = ("float32", "int64", "int32", "float64", "uint8")
"""The dtypes of values that packed functions in Python receive."""


@dataclass(eq=False)
class Closure:
    """A nested function: its value, parameters, result and scope, and the scope where it was created."""

    value: Any
    params: list[Node]
    result: Node
    scope: object
    outer: object

    def compute(self, frame: Frame, *values: Any) -> Any:
        """The result on these arguments."""
        return frame.at(self.outer).inner(self.scope, self.params, values).value(self.result)


def placeholder(g: Generator, value: Any, like: Node, scope: object, text: str) -> Node:
    """A node for a parameter of a body: its value is set by the iteration or the call."""

    def missing(*_: Any) -> Any:
        raise AssertionError(f"{text} has its value from the start")

    return Node(value, like.dtype, like.dims, missing, (), text, scope)


def _fitting(g: Generator, like: Node, first: int) -> Node:
    """A value of the pool with the type of `like`, preferably not older than `first`."""
    found = [n for n in g.pool if n.dtype == like.dtype and n.dims == like.dims]
    late = [n for n in g.pool[first:] if n in found]
    return g.random.choice(late or found)


def _carried(g: Generator) -> list[Node]:
    """One to three values that a loop may carry."""
    picked = [g.pick() for _ in range(g.random.randint(1, 3))]
    return [node for node in picked if node is not None]


def _steps(g: Generator, most: int) -> None:
    for _ in range(g.random.randint(1, most)):
        g.step()


def for_loop(g: Generator) -> Node | None:
    """`for_loop` with some carried values; the variable is used as a number and as an index."""
    init = _carried(g)
    if not init:
        return None
    upper: Any = g.random.choice((0, 1, 3, *(name for name in ("n", "m") if name in g.program.symbols)))
    bound = upper if isinstance(upper, int) else f"min({upper}, 4)"
    lower, step = g.random.choice(((0, 1), (0, 1), (1, 2)))
    scope, params, results = object(), [], []

    def body(i: Any, *values: Any) -> Any:
        name = str(i)
        g.largest[name] = 4
        scopes = g.program.loops.setdefault(name, set())
        scopes.add(scope)
        g.program.symbols[name] = lambda f: f.round_of(scopes).counter
        with g.body(scope):
            params.extend(placeholder(g, v, n, scope, "carried") for v, n in zip(values, init, strict=True))
            g.pool += params
            first = len(g.pool)
            number = R.prim_to_tensor(R.prim_value(i))
            g.keep(number, lambda f: np.asarray(f.dim(name), np.int64), (), "variable")
            _steps(g, 4)
            results.extend(_fitting(g, node, first) for node in init)
        return tuple(r.value for r in results)

    def compute(frame: Frame, *values: Any) -> Any:
        last = frame.dim(bound)
        for i in range(lower, last, step):
            inner = frame.inner(scope, params, values)
            inner.counter = i
            values = tuple(inner.passed(r) for r in results)
        return values

    return g.emit(
        lambda: R.make_tuple(*R.for_loop(lower, _bound(bound), body, [n.value for n in init], step=step)),
        Passing(compute),
        init,
        f"for {lower}:{bound}:{step}",
    )


def _bound(bound: Any) -> Any:
    return bound if isinstance(bound, int) else R.prim_value(bound)


def while_loop(g: Generator) -> Node | None:
    """`while_loop` with a counter and some carried values."""
    init = _carried(g)
    counter = g.constant((), g.random.choice(("int32", "int64", "float32")))
    if not init or counter is None:
        return None
    end, most = g.random.choice((-2, 0, 3, 9)), 4
    first = g.emit(lambda: R.clip(counter.value, 0, most), lambda _, a: np.clip(a, 0, most), [counter], "counter")
    if first is None:
        return None
    scope, params, results = object(), [], []
    everything = [first, *init]
    kind = _like(first)

    def go_on(count: Any, *_: Any) -> Any:
        return R.less(count, R.const(np.asarray(min(end, most), kind)))

    def body(*values: Any) -> Any:
        with g.body(scope):
            params.extend(placeholder(g, v, n, scope, "carried") for v, n in zip(values, everything, strict=True))
            g.pool += params
            begin = len(g.pool)
            more = g.emit(
                lambda: R.add(params[0].value, R.const(np.asarray(1, kind))),
                lambda _, a: a + 1,
                params[:1],
                "more",
            )
            assert more is not None
            _steps(g, 4)
            results.extend([more, *(_fitting(g, node, begin) for node in init)])
        return tuple(r.value for r in results)

    def compute(frame: Frame, *values: Any) -> Any:
        while values[0] < min(end, most):
            inner = frame.inner(scope, params, values)
            values = tuple(inner.passed(r) for r in results)
        return values

    return g.emit(
        lambda: R.make_tuple(*R.while_loop(go_on, body, [n.value for n in everything])),
        Passing(compute),
        everything,
        f"while < {end}",
    )


def _like(node: Node) -> Any:
    return numpy_dtype(node.dtype or "")


def growing(g: Generator) -> Node | None:
    """A loop whose value grows by concatenation, and whose size is then matched to a symbol."""
    x = g.pick(lambda node: len(node.dims) > 0)
    if x is None or g.elements(x.dims) > 3000:
        return None
    axis, rounds = g.random.randrange(len(x.dims)), g.random.randint(0, 3)
    unknown = [None if i == axis else d for i, d in enumerate(x.dims)]
    name = f"g{len(g.program.symbols)}"
    pattern = [name if d is None else d for d in unknown]
    g.largest[name] = g.bound(x.dims[axis]) * 4

    def compute(frame: Frame, a: Any) -> Any:
        return np.concatenate([a] * (rounds + 1), axis)

    def build() -> Any:
        start = R.match_shape(x.value, unknown)
        found = R.for_loop(0, rounds, lambda _, acc: R.concat([acc, x.value], axis), start)
        return R.match_shape(found, pattern)

    g.program.symbols[name] = lambda f: (rounds + 1) * f.dim(x.dims[axis])
    return g.emit(build, compute, [x], f"growing {axis} {rounds}")


def lambda_function(g: Generator) -> Node | None:
    """A nested function, called immediately; later ops may call it again."""
    arguments = _carried(g)[:2]
    if not arguments:
        return None
    scope, outer = object(), g.scope
    params: list[Node] = []
    variables = [rx.Var(f"p{i}", n.value.struct_info) for i, n in enumerate(arguments)]
    with g.bb.lambda_function("local", variables) as handle, g.body(scope):
        params.extend(placeholder(g, v, n, scope, "parameter") for v, n in zip(variables, arguments, strict=True))
        g.pool += params
        first = len(g.pool)
        _steps(g, 4)
        result = g.random.choice([n for n in g.pool[first:] if g.may_leave(n)] or params)
        g.bb.emit_func_output(result.value)
    g.closures.append(Closure(handle, params, result, scope, outer))
    return invoke(g)


def invoke(g: Generator) -> Node | None:
    """A call of a nested function."""
    if not g.closures:
        return None
    closure = g.random.choice(g.closures[-3:])
    picked = [g.pick(lambda n, p=p: n.dtype == p.dtype and n.dims == p.dims) for p in closure.params]
    arguments = [node for node in picked if node is not None]
    if len(arguments) < len(picked):
        return None
    call = R.invoke_pure_closure if closure.value.struct_info.pure else R.invoke_closure
    if g.pure and call is R.invoke_closure:
        return None
    return g.emit(
        lambda: call(closure.value, [n.value for n in arguments]),
        Passing(closure.compute),
        arguments,
        "invoke",
    )


def choose_function(g: Generator) -> Node | None:
    """One of two functions of a type, by a condition, called."""
    flag = g.pick(lambda node: node.dtype == "bool" and node.dims == ())
    if flag is None or len(g.closures) < 2:
        return None
    one = g.random.choice(g.closures)
    other = g.random.choice(g.closures)
    if one.value.struct_info != other.value.struct_info or one is other:
        return None
    picked = [g.pick(lambda n, p=p: n.dtype == p.dtype and n.dims == p.dims) for p in one.params]
    arguments = [node for node in picked if node is not None]
    if len(arguments) < len(picked):
        return None

    def build() -> Any:
        chosen = R.if_then_else(flag.value, lambda: one.value, lambda: other.value)
        return R.invoke_closure(chosen, [n.value for n in arguments])

    def compute(frame: Frame, choice: Any, *values: Any) -> Any:
        return (one if bool(choice) else other).compute(frame, *values)

    return g.emit(build, Passing(compute, 1), [flag, *arguments], "chosen function")


def write(g: Generator) -> Node | None:
    """`call_packed` of a function that writes to a value: afterwards, the value is a different one."""
    x = g.pick(lambda node: node.dtype in MANAGED and node.scope is g.scope)
    if x is None:
        return None
    if not g.outside_branches or g.random.random() < 0.5 or _has_other_names(g, x):
        x = g.emit(lambda: R.add(x.value, x.value), lambda _, a: OPS["add"](a, a), [x], "own")
    if x is None:
        return None
    same = [n for n in g.pool if n.value.ssa == x.value.ssa]
    R.call_packed("differential.increment", x.value)
    g.pool = [n for n in g.pool if n not in same]
    return g.keep(x.value, lambda _, a: OPS["add"](a, np.ones((), a.dtype)), (x,), "written")


def _has_other_names(g: Generator, x: Node) -> bool:
    """True if `x` is also a field of a tuple: writing to one alias writes to all."""
    return x.same_as is not None or any(
        n.value.ssa != x.value.ssa and _first_name(n).value.ssa == x.value.ssa for n in g.pool
    )


def _first_name(node: Node) -> Node:
    return node if node.same_as is None else _first_name(node.same_as)


def known_at_run_time(g: Generator) -> Node | None:
    """The result of a packed function, of unknown rank, size or dtype; an op on it; then its type is matched."""
    x = g.pick(lambda node: node.dtype in MANAGED and len(node.dims) > 0)
    if x is None or any(d is None for d in x.dims):
        return None
    kind = g.random.randrange(4)
    out = (
        rx.Tensor(None, None),
        rx.Tensor(None, x.dtype),
        rx.Tensor(ndim=len(x.dims), dtype=x.dtype),
        rx.Object(),
    )[kind]
    acts = kind in (1, 2) and g.random.random() < 0.4

    def build() -> Any:
        found = R.call_packed("differential.copy", x.value, out=out)
        return R.match_shape(R.negative(found) if acts else found, list(x.dims), x.dtype)

    return g.emit(build, lambda _, a: np.negative(a) if acts else a, [x], f"handle {out}")


def forget(g: Generator) -> Node | None:
    """A value whose sizes are made unknown, and matched again after an op."""
    x = g.pick(lambda node: len(node.dims) > 0 and node.dtype != "bool")
    return x and g.emit(
        lambda: R.match_shape(R.abs(R.match_shape(x.value, [None] * len(x.dims))), list(x.dims)),
        lambda _, a: np.abs(a),
        [x],
        "forget",
    )


def tuples(g: Generator) -> Node | None:
    """Nested tuples, unpacked, or selected by a condition."""
    picked = [node for node in (g.pick() for _ in range(3)) if node is not None]
    flag = g.pick(lambda node: node.dtype == "bool" and node.dims == ())
    if len(picked) < 3:
        return None
    a, b, c = picked
    if flag is None or g.pure or g.random.random() < 0.5:
        return _taken_apart(g, a, b, c)
    return g.emit(
        lambda: R.if_then_else(
            flag.value,
            lambda: R.make_tuple(a.value, R.make_tuple(b.value, R.add(c.value, c.value))),
            lambda: R.make_tuple(a.value, R.make_tuple(b.value, c.value)),
        ),
        Passing(lambda _, f, *v: (v[0], (v[1], _doubled(v[2]) if bool(f) else v[2])), 1),
        [flag, *picked],
        "chosen tuple",
    )


def _taken_apart(g: Generator, a: Node, b: Node, c: Node) -> Node | None:
    """``(a, (b, c))``, whose fields are evaluated lazily: errors of unused fields do not count."""
    outer = R.make_tuple(a.value, R.make_tuple(b.value, c.value))
    inner = R.tuple_get_item(outer, 1)
    places = ((outer, 0, a), (inner, 0, b), (inner, 1, c))
    fields = [g.keep(R.tuple_get_item(x, i), lambda _, v: v, (node,), f"tuple[{i}]") for x, i, node in places]
    for field, (_, _, node) in zip(fields, places, strict=True):
        if field is not None:
            field.same_as = node
    return fields[0]


def _doubled(x: Any) -> Any:
    if isinstance(x, Failed):
        return x
    return np.logical_or(x, x) if x.dtype == bool else x + x


def shape_tensor(g: Generator) -> Node | None:
    """The sizes of a value as a tensor."""
    x = g.pick()
    return x and g.emit(
        lambda: R.shape_to_tensor(R.shape_of(x.value)), lambda _, a: np.array(a.shape, np.int64), [x], "shape"
    )


MOVES = (shape_tensor, forget, tuples, invoke)
TOP_MOVES = (
    *(
        for_loop,
        for_loop,
        while_loop,
        growing,
        lambda_function,
        lambda_function,
        choose_function,
        choose_function,
    ),
    *(write, write, known_at_run_time, known_at_run_time),
)
