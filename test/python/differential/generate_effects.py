"""Random programs of effects and aliases: packed functions that write, tuples, closures, loops, private functions.

All tensors have one shape and hold small integers, so that results can be compared exactly.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.analysis import is_pure
from relax_mlir.runtime import to_numpy

MAX_DEPTH = 2


def register() -> None:
    """Register the packed functions that the programs call."""

    def increment(x: Any) -> None:
        to_numpy(x)[...] += 1

    def mix(x: Any, y: Any) -> None:
        first, second = to_numpy(x), to_numpy(y)
        first += 1
        second += first

    def fresh(x: Any) -> Any:
        return to_numpy(x) * 2

    tvm_ffi.register_global_func("effects.increment", increment, override=True)
    tvm_ffi.register_global_func("effects.mix", mix, override=True)
    tvm_ffi.register_global_func("effects.fresh", fresh, override=True)


class EffectProgram:
    """One module: some private functions, then `main`; all choices are drawn from `seed`."""

    def __init__(self, seed: int, ops: int = 12) -> None:
        self.random = random.Random(seed)
        self.size: Any = self.random.choice(("n", "n", 3))
        self.bb = rx.BlockBuilder()
        self.tensors: list[Any] = []
        self.tuples: list[Any] = []
        self.closures: list[Any] = []
        self.private: list[str] = []
        self.pure = False
        self.depth = 0
        for index in range(self.random.randint(1, 3)):
            self._function(f"p{index}", self.random.randint(1, 5), private=True)
        self._function("main", ops, private=False)
        self.module = self.bb.get()

    def inputs(self, size: int) -> list[Any]:
        """Arguments of `main`."""
        size = size if self.size == "n" else 3
        a, b, c, d = (np.arange(size, dtype="f4") * factor for factor in (1, -2, 3, -1))
        return [a, b, (c, d)]

    def _info(self) -> rx.Tensor:
        return rx.Tensor((self.size,), "float32")

    def _function(self, name: str, ops: int, *, private: bool) -> None:
        infos = [self._info(), self._info(), rx.Tuple([self._info(), self._info()])]
        infos = infos[: self.random.randint(1, 3)] if private else infos
        params = [rx.Var(f"{name}_{i}", info) for i, info in enumerate(infos)]
        with self.bb.function(name, params, private=private):
            self.tensors, self.tuples, self.closures = list(params[:2]), list(params[2:]), []
            self._steps(ops)
            self.bb.emit_func_output(self._outputs())
        if private:
            self.private.append(name)

    def _outputs(self) -> Any:
        chosen = [self._tensor() for _ in range(self.random.randint(1, 3))]
        if self.tuples and self.random.random() < 0.3:
            chosen.append(self.random.choice(self.tuples))
        return chosen[0] if len(chosen) == 1 and self.random.random() < 0.5 else tuple(chosen)

    def _steps(self, count: int) -> None:
        for _ in range(count):
            moves = [*PURE, *PURE]
            if not self.pure:
                moves += ACTS
                moves += NESTED if self.depth < MAX_DEPTH else []
            self.random.choice(moves)(self)

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        """Values created in the context are removed from the pools at its end."""
        tensors, tuples, closures = list(self.tensors), list(self.tuples), list(self.closures)
        self.depth += 1
        yield
        self.depth -= 1
        self.tensors, self.tuples, self.closures = tensors, tuples, closures

    def _tensor(self) -> Any:
        recent = self.tensors[-5:] if self.random.random() < 0.7 else self.tensors
        return self.random.choice(recent)

    def _keep(self, value: Any) -> None:
        """Add a value to the pools: a tensor, or a tuple of these."""
        info = value.struct_info
        if isinstance(info, rx.Tensor):
            if info.dtype is not None and info.dtype.name == "float32" and info.ndim == 1:
                if tuple(info.shape) != tuple(self._info().shape):
                    value = R.match_shape(value, [self.size])
                self.tensors.append(value)
        elif isinstance(info, rx.Tuple):
            self.tuples.append(value)

    # -- pure

    def arithmetic(self) -> None:
        """One elementwise op, often one that exists already."""
        x, y = self._tensor(), self._tensor()
        kind = self.random.randrange(5)
        if kind == 0:
            self._keep(R.subtract(x, y))
        elif kind == 1:
            self._keep(R.maximum(x, y))
        elif kind == 2:
            self._keep(R.add(x, R.const(np.float32(self.random.randint(0, 1)))))
        elif kind == 3:
            self._keep(R.negative(x))
        elif self.size == 3:
            self._keep(R.const(np.full(3, self.random.randint(0, 2), "f4")))
        else:
            self._keep(R.full((self.size,), np.float32(self.random.randint(0, 2))))

    def another_name(self) -> None:
        """An alias of a value."""
        x, kind = self._tensor(), self.random.randrange(4)
        if kind == 0:
            self._keep(R.match_shape(x, [self.size]))
        elif kind == 1:
            self._keep(R.reshape(x, [self.size]))
        elif kind == 2:
            self._keep(R.astype(x, "float32"))
        else:
            self._keep(R.negative(R.negative(x)))

    def pack(self) -> None:
        """A tuple, perhaps with a tuple in it."""
        fields = [self._tensor(), self._tensor()]
        if self.tuples and self.random.random() < 0.3:
            fields.append(self.random.choice(self.tuples))
        self._keep(R.make_tuple(*fields))

    def unpack(self) -> None:
        """A field of a tuple."""
        if self.tuples:
            whole = self.random.choice(self.tuples)
            self._keep(R.tuple_get_item(whole, self.random.randrange(len(whole.struct_info.fields))))

    def call(self) -> None:
        """A call of a private function."""
        if not self.private:
            return
        name = self.random.choice(self.private)
        function = self.bb.lookup(name)
        if self.pure and not is_pure(function):
            return
        count = len(function.type.inputs)
        arguments = [self._tensor() for _ in range(min(count, 2))]
        if count == 3:
            pairs = [t for t in self.tuples if t.struct_info == rx.Tuple([self._info(), self._info()])]
            other = R.make_tuple(self._tensor(), self._tensor())
            arguments.append(self.random.choice([*pairs, other]))
        self._keep(self.bb.call(name, *arguments))

    def invoke(self) -> None:
        """A call of a nested function."""
        if not self.closures:
            return
        closure = self.random.choice(self.closures)
        if closure.struct_info.pure:
            self._keep(R.invoke_pure_closure(closure, [self._tensor()]))
        elif not self.pure:
            self._keep(R.invoke_closure(closure, [self._tensor()]))

    # -- with effects

    def write(self) -> None:
        """A packed function changes one or two tensors."""
        if self.random.random() < 0.6:
            R.call_packed("effects.increment", self._tensor())
            return
        x, y = self._tensor(), self._tensor()
        if x.ssa != y.ssa and not self._may_be_one(x, y):
            R.call_packed("effects.mix", x, y)

    def _may_be_one(self, x: Any, y: Any) -> bool:
        """True if both may alias: writing to both at once would write twice."""
        return any(v.ssa.owner.name == "relax.tuple_get_item" for v in (x, y) if hasattr(v.ssa.owner, "name"))

    def fresh(self) -> None:
        """A packed function returns a new tensor."""
        self._keep(R.call_packed("effects.fresh", self._tensor(), out=self._info()))

    # -- nested

    def dataflow(self) -> None:
        """A dataflow block, whose outputs may be values from outside, or repeated."""
        outside = list(self.tensors), list(self.tuples)
        self.pure = True
        with self.bb.dataflow():
            self._steps(self.random.randint(1, 4))
            inner = self.tensors[len(outside[0]) :]
            if not inner:
                self.arithmetic()
                inner = self.tensors[-1:]
            chosen = [self.random.choice(inner) for _ in range(self.random.randint(1, 3))]
            if self.random.random() < 0.3:
                chosen.append(self.random.choice(outside[0]))
            outputs = [self.bb.emit_output(value) for value in chosen]
        self.pure = False
        self.tensors, self.tuples = outside[0] + outputs, outside[1]

    def _flag(self) -> Any:
        return R.greater(R.sum(self._tensor()), R.const(np.float32(self.random.randint(-1, 1))))

    def _branch(self, gives_tuple: bool) -> Any:
        with self._inside():
            self._steps(self.random.randint(0, 3))
            if gives_tuple:
                return R.make_tuple(self._tensor(), self._tensor())
            return self._tensor()

    def conditional(self) -> None:
        """A conditional, with effects in its branches."""
        gives_tuple = self.random.random() < 0.3
        self._keep(R.if_then_else(self._flag(), lambda: self._branch(gives_tuple), lambda: self._branch(gives_tuple)))

    def for_loop(self) -> None:
        """A loop with two carried values, one of which may be unchanged."""

        def body(_: Any, *values: Any) -> Any:
            with self._inside():
                self.tensors += values
                self._steps(self.random.randint(1, 3))
                return tuple(self.random.choice([v, self._tensor()]) for v in values)

        init = [self._tensor(), self._tensor()]
        for value in R.for_loop(0, self.random.randint(0, 3), body, init):
            self._keep(value)

    def while_loop(self) -> None:
        """A loop with a counter."""
        rounds = self.random.randint(0, 3)

        def body(count: Any, value: Any) -> Any:
            with self._inside():
                self.tensors.append(value)
                self._steps(self.random.randint(1, 3))
                return R.add(count, R.const(np.int64(1))), self._tensor()

        init = [R.const(np.int64(0)), self._tensor()]
        found = R.while_loop(lambda count, _: R.less(count, R.const(np.int64(rounds))), body, init)
        self._keep(found[1])

    def function(self) -> None:
        """A nested function, which captures values."""
        param = rx.Var("p", self._info())
        with self.bb.lambda_function("local", [param]) as handle, self._inside():
            self.tensors.append(param)
            self._steps(self.random.randint(1, 4))
            self.bb.emit_func_output(self._tensor())
        self.closures.append(handle)
        self.invoke()

    def choose(self) -> None:
        """One of two functions, called."""
        if len(self.closures) < 2:
            return
        one, other = self.random.sample(self.closures, 2)
        if one.struct_info.pure == other.struct_info.pure:
            chosen = R.if_then_else(self._flag(), lambda: one, lambda: other)
            call = R.invoke_pure_closure if one.struct_info.pure else R.invoke_closure
            self._keep(call(chosen, [self._tensor()]))


Step = Callable[[EffectProgram], None]
PURE: list[Step] = [
    EffectProgram.arithmetic,
    EffectProgram.arithmetic,
    EffectProgram.another_name,
    EffectProgram.pack,
    EffectProgram.unpack,
    EffectProgram.call,
    EffectProgram.invoke,
]
ACTS: list[Step] = [EffectProgram.write] * 6 + [EffectProgram.fresh]
NESTED: list[Step] = [
    EffectProgram.dataflow,
    EffectProgram.dataflow,
    EffectProgram.conditional,
    EffectProgram.for_loop,
    EffectProgram.while_loop,
    EffectProgram.function,
    EffectProgram.choose,
]
