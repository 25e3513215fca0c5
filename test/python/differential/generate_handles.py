"""Random values of run-time type that pass through control flow, tuples and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import relax_mlir as rx
from difference import Frame, Node
from generate_control import MANAGED, Closure, lambda_function
from relax_mlir import op as R

if TYPE_CHECKING:
    from generator import Generator


def _source(g: Generator) -> Node | None:
    """A tensor that packed functions take, of known sizes."""
    return g.pick(lambda node: node.dtype in MANAGED and len(node.dims) > 0 and None not in node.dims)


def _infos(x: Node) -> list[Any]:
    """The possible struct infos of `x` as the result of a packed function."""
    return [
        rx.Object(),
        rx.Tensor(None, None),
        rx.Tensor(None, x.dtype),
        rx.Tensor(ndim=len(x.dims), dtype=x.dtype),
        rx.Tensor(ndim=len(x.dims), dtype=None),
    ]


def _handle(x: Node, info: Any) -> Any:
    return R.call_packed("differential.copy", x.value, out=info)


def _known(value: Any, x: Node) -> Any:
    """`value` with the type of `x` again."""
    return R.match_shape(value, list(x.dims), x.dtype)


def in_tuple(g: Generator) -> Node | None:
    """A handle in a nested tuple, unpacked again."""
    x, y = _source(g), g.pick()
    if x is None or y is None:
        return None
    info = g.random.choice(_infos(x))

    def build() -> Any:
        outer = R.make_tuple(y.value, R.make_tuple(_handle(x, info), y.value))
        return _known(R.tuple_get_item(R.tuple_get_item(outer, 1), 0), x)

    return g.emit(build, lambda _, a: a, [x], f"handle in a tuple {info}")


def carried(g: Generator) -> Node | None:
    """A loop that carries a handle, with an op or a packed call in each round."""
    x = _source(g)
    if x is None:
        return None
    info = g.random.choice(_infos(x))
    rounds = g.random.randint(0, 3)
    acts = isinstance(info, rx.Tensor) and info.dtype is not None and g.random.random() < 0.6

    def body(_: Any, value: Any) -> Any:
        if acts:
            return R.negative(value)
        return R.call_packed("differential.copy", value, out=info)

    return g.emit(
        lambda: _known(R.for_loop(0, rounds, body, _handle(x, info)), x),
        lambda _, a: np.negative(a) if acts and rounds % 2 else a,
        [x],
        f"carried handle {info} {rounds}",
    )


def chosen(g: Generator) -> Node | None:
    """One of two handles, by a condition."""
    x = _source(g)
    flag = g.pick(lambda node: node.dtype == "bool" and node.dims == ())
    if x is None or flag is None:
        return None
    y = g.pick(lambda node: node.dtype == x.dtype and node.dims == x.dims) or x
    info = g.random.choice(_infos(x))
    return g.emit(
        lambda: _known(R.if_then_else(flag.value, lambda: _handle(x, info), lambda: _handle(y, info)), x),
        lambda _, f, a, b: a if bool(f) else b,
        [flag, x, y],
        f"chosen handle {info}",
    )


def through_function(g: Generator) -> Node | None:
    """A nested function that returns a handle, unchanged or after an op."""
    x = _source(g)
    if x is None:
        return None
    info = g.random.choice(_infos(x))
    acts = isinstance(info, rx.Tensor) and info.dtype is not None and g.random.random() < 0.6
    variable = rx.Var("h", info)
    with g.bb.lambda_function("passes_on", [variable]) as function:
        g.bb.emit_func_output(R.negative(variable) if acts else variable)
    call = R.invoke_pure_closure if function.struct_info.pure else R.invoke_closure
    return g.emit(
        lambda: _known(call(function, [_handle(x, info)]), x),
        lambda _, a: np.negative(a) if acts else a,
        [x],
        f"handle through a function {info}",
    )


def takes_function(g: Generator) -> Node | None:
    """A nested function that calls its argument, a function, once or twice."""
    if not g.closures and (lambda_function(g) is None or not g.closures):
        return None
    inner: Closure = g.random.choice(g.closures[-3:])
    wanted = [node.value.struct_info for node in inner.params]
    picked = [g.pick(lambda n, info=info: n.value.struct_info == info) for info in wanted]
    arguments = [node for node in picked if node is not None]
    if len(arguments) < len(picked):
        return None
    info, first = inner.value.struct_info, inner.params[0]
    fits = inner.result.dtype == first.dtype and inner.result.dims == first.dims
    twice = fits and g.random.random() < 0.5
    call = R.invoke_pure_closure if info.pure else R.invoke_closure
    scope = object()
    variables = [rx.Var("g", info), *(rx.Var(f"x{i}", n.value.struct_info) for i, n in enumerate(arguments))]
    with g.bb.lambda_function("applies", variables) as function, g.body(scope):
        value = call(variables[0], variables[1:])
        g.bb.emit_func_output(call(variables[0], [value, *variables[2:]]) if twice else value)
    invoke = R.invoke_pure_closure if function.struct_info.pure else R.invoke_closure

    def compute(frame: Frame, *values: Any) -> Any:
        once = inner.compute(frame, *values)
        return inner.compute(frame, once, *values[1:]) if twice else once

    return g.emit(
        lambda: invoke(function, [inner.value, *(n.value for n in arguments)]),
        compute,
        arguments,
        "takes a function",
    )


def sizes_from_data(g: Generator) -> Node | None:
    """A tensor whose sizes are elements of another one."""
    count = g.random.randint(0, 2)
    sizes = [g.random.randint(0, 4) for _ in range(count)]
    names = [f"d{len(g.program.symbols) + i}" for i in range(count)]
    x = g.emit(
        lambda: R.const(np.asarray(sizes, np.int64).reshape(-1)),
        lambda _: np.asarray(sizes, np.int64).reshape(-1),
        [],
        "sizes",
    )
    if x is None:
        return None
    for name, size in zip(names, sizes, strict=True):
        g.largest[name] = 4
        g.program.symbols[name] = lambda _, size=size: size
    dtype = g.random.choice(("float32", "int64", "bool"))

    def build() -> Any:
        return R.ones(R.match_shape(R.tensor_to_shape(x.value), names), dtype)

    return g.emit(build, lambda _, a: np.ones(tuple(int(v) for v in a), dtype), [x], f"sizes {names}")


TOP_MOVES = (in_tuple, carried, chosen, through_function, takes_function, takes_function, sizes_from_data)
