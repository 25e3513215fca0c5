"""Every way to abandon a partly built function: run in a child process, as errors crash the process.

usage: abandoned_programs.py SEED ROUNDS
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import threading
from collections.abc import Iterator

import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dialects import construction
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import RelaxError, ScriptError
from relax_mlir.mlir import ir
from relax_mlir.script import parse
from relax_mlir.transform import create_pass

KEPT: list[Value] = []
"""Values that are still referenced; they are printed and freed in any order."""


class Stop(Exception):
    """A user error."""


def kept(value: Value) -> Value:
    KEPT.append(value)
    return value


def vector(name: str) -> Var:
    return rx.Var(name, rx.Tensor(("n",), "float32"))


def refused(value: Value, *words: str) -> None:
    """A value that must not be used in the function under construction."""
    try:
        R.add(value, value)
    except RelaxError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("a value that is gone has been used")


def in_function(bb: rx.BlockBuilder, x: Var) -> None:
    with bb.function("main", [x]):
        kept(R.add(x, x))
        raise Stop


def in_lambda(bb: rx.BlockBuilder, x: Var) -> None:
    z = vector("z")
    with bb.function("main", [x]), bb.lambda_function("f", [z]):
        kept(R.add(z, x))
        raise Stop


def in_lambda_and_on(bb: rx.BlockBuilder, x: Var) -> None:
    z = vector("z")
    with bb.function("main", [x]):
        y = R.exp(x)
        try:
            with bb.lambda_function("f", [z]):
                kept(R.add(z, y))
                raise Stop
        except Stop:
            refused(KEPT[-1], "function 'f'", "given up")
        bb.emit_func_output(y)
    assert "func.func private" not in str(bb.get())


def in_dataflow_and_on(bb: rx.BlockBuilder, x: Var) -> None:
    with bb.function("main", [x]):
        y = R.exp(x)
        try:
            with bb.dataflow():
                bb.emit_output(kept(R.add(y, x)))
                raise Stop
        except Stop:
            refused(KEPT[-1], "a dataflow block", "given up")
        bb.emit_func_output(y)
    assert "relax.add" not in str(bb.get())


def in_branch_and_on(bb: rx.BlockBuilder, x: Var) -> None:
    def bad() -> Value:
        kept(R.add(x, y))
        raise Stop

    with bb.function("main", [x]):
        y = R.exp(x)
        try:
            R.if_then_else(R.greater(R.sum(x), 0.0), lambda: kept(R.add(y, y)), bad)
        except Stop:
            refused(KEPT[-2], "a conditional", "given up")
            refused(KEPT[-1], "a branch", "given up")
        bb.emit_func_output(y)
    assert "scf.if" not in str(bb.get())


def in_loop_and_on(bb: rx.BlockBuilder, x: Var) -> None:
    def bad(*carried: Value) -> Value:
        kept(R.add(carried[-1], y))
        raise Stop

    def positive(carried: Value) -> Value:
        return R.greater(R.sum(carried), 0.0)

    with bb.function("main", [x]):
        y = R.exp(x)
        for build in (
            lambda: R.for_loop(0, 3, bad, y),
            lambda: R.while_loop(positive, bad, y),
            lambda: R.while_loop(bad, bad, y),
        ):
            try:
                build()
            except Stop:
                refused(KEPT[-1], "given up")
        bb.emit_func_output(y)
    assert "scf" not in str(bb.get())


def value_of_another_function(bb: rx.BlockBuilder, x: Var) -> None:
    with bb.function("main", [x]):
        y = kept(R.exp(x))
        bb.emit_func_output(y)
    with bb.function("two", [vector("z")]):
        refused(y, "function 'main'", "function 'two'")
        raise Stop


def value_of_another_builder(bb: rx.BlockBuilder, x: Var) -> None:
    with bb.function("main", [x]):
        y = kept(R.exp(x))
        other = rx.BlockBuilder()
        with other.function("two", [z := vector("z")]):
            refused(y, "function 'main'", "function 'two'")
            other.emit_func_output(z)
        bb.emit_func_output(R.add(y, y))
    assert bb.get() is not None


def in_generator(bb: rx.BlockBuilder, x: Var) -> None:
    def generator() -> Iterator[None]:
        with bb.function("main", [x]):
            y = kept(R.exp(x))
            with bb.dataflow():
                R.exp(y)
                yield

    running = generator()
    next(running)
    del running
    gc.collect()
    assert not list(bb.get().functions())


def never_left(bb: rx.BlockBuilder, x: Var) -> None:
    bb.function("main", [x]).__enter__()


def interleaved(bb: rx.BlockBuilder, x: Var) -> None:
    def generator(builder: rx.BlockBuilder, v: Var) -> Iterator[None]:
        with builder.function("main", [v]):
            y = kept(R.exp(v))
            yield
            builder.emit_func_output(R.add(y, v))

    other = rx.BlockBuilder()
    one, two = generator(bb, x), generator(other, vector("z"))
    next(one)
    next(two)
    try:
        next(one)
    except RelaxError as error:
        assert "but is used in function 'main'" in str(error), error
    assert next(two, "ended") == "ended"
    assert str(other.get()).count("relax.exp") == 1
    assert not list(bb.get().functions())


def left_in_another_order(bb: rx.BlockBuilder, x: Var) -> None:
    other = rx.BlockBuilder()
    first, second = bb.function("main", [x]), other.function("two", [z := vector("z")])
    first.__enter__()
    bb.emit_func_output(kept(R.exp(x)))
    second.__enter__()
    try:
        first.__exit__(None, None, None)
    except RelaxError as error:
        assert "function 'main'" in str(error), error
    other.emit_func_output(R.add(z, z))
    second.__exit__(None, None, None)
    assert "relax.exp" not in str(other.get())
    assert not list(bb.get().functions())


def closed_by_another_thread(bb: rx.BlockBuilder, x: Var) -> None:
    def generator() -> Iterator[None]:
        with bb.function("main", [x]):
            kept(R.exp(x))
            yield

    running = generator()
    next(running)
    thread = threading.Thread(target=running.close)  # type: ignore[attr-defined]  # a generator has it
    thread.start()
    thread.join()


def in_tasks(bb: rx.BlockBuilder, x: Var) -> None:
    async def build(builder: rx.BlockBuilder, v: Var) -> None:
        with builder.function("main", [v]):
            y = kept(R.exp(v))
            await asyncio.sleep(0)
            builder.emit_func_output(y)

    async def both() -> list[object]:
        tasks = build(bb, x), build(rx.BlockBuilder(), vector("v"))
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(both())
    assert all(isinstance(item, RelaxError | None) for item in found), found


def replaced(bb: rx.BlockBuilder, x: Var) -> None:
    with bb.function("main", [x]):
        bb.emit_func_output(y := kept(R.exp(x)))
    other = rx.BlockBuilder()
    with other.function("main", [v := vector("v")]):
        other.emit_func_output(R.add(v, v))
    bb.update_func("main", other.get())
    assert "relax.exp" in str(y.ssa)
    assert "relax.add" in str(bb.get())


def erased_by_a_pass(bb: rx.BlockBuilder, x: Var) -> None:
    with bb.function("main", [x]):
        y = kept(R.exp(x))
        bb.emit_func_output(R.add(y, y))
    bb.get().apply_(create_pass("legalize-ops"))


def in_script(bb: rx.BlockBuilder, x: Var) -> None:
    text = """
@R.function
def main(x: R.Tensor(('n',), 'float32'), c: R.Tensor((), 'bool')):
    y = R.exp(x)
    def f(z: R.Tensor((n,), 'float32')):
        w = z + y
    if c:
        v = y + x
    else:
        v = f(y) + R.ad(x)
    for i in R.range(3):
        y = y + R.reshape(x, (n, n))
    with R.dataflow():
        u = y + z
        R.output(u)
    return R.add(u, v)
"""
    try:
        parse(text)
    except ScriptError:
        return
    raise AssertionError("mistakes have not been found")


WAYS = [
    closed_by_another_thread,
    erased_by_a_pass,
    in_branch_and_on,
    in_dataflow_and_on,
    in_function,
    in_generator,
    in_lambda,
    in_lambda_and_on,
    in_loop_and_on,
    in_script,
    in_tasks,
    interleaved,
    left_in_another_order,
    never_left,
    replaced,
    value_of_another_builder,
    value_of_another_function,
]


def is_inserting() -> bool:
    """True if an insertion point is left over."""
    try:
        return ir.InsertionPoint.current is not None
    except ValueError:
        return False


def main(seed: int, rounds: int) -> None:
    chance = random.Random(seed)
    for _ in range(rounds):
        chance.shuffle(WAYS)
        for way in WAYS:
            bb = rx.BlockBuilder()
            try:
                way(bb, vector("x"))
            except Stop:
                pass
            except BaseException:
                print("in", way.__name__)
                raise
            assert construction.current() is None, way.__name__
            assert not is_inserting(), way.__name__
            if chance.random() < 0.5:
                del bb
            chance.shuffle(KEPT)
            assert all(repr(value) for value in KEPT)
            del KEPT[: chance.randrange(len(KEPT) + 1)]
            if chance.random() < 0.3:
                gc.collect()
    KEPT.clear()
    gc.collect()
    print("survived")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
