"""Programs whose memory can be shared, and an interpreter of level M that does not use liveness."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.lowering.memory.plan_memory import PlanMemory
from relax_mlir.mlir import ir
from relax_mlir.runtime import to_numpy
from relax_mlir.transform import Sequential

MASK = 2**64 - 1


@dataclass
class Range:
    """A buffer: bytes [start, end) of a piece of memory."""

    memory: Any
    start: int
    end: int


@dataclass
class Machine:
    """Runs the entry block of `main`; `log` records the values that each call reads."""

    values: dict[ir.Value, Any] = field(default_factory=dict)
    memory: dict[Any, list[tuple[int, int, int]]] = field(default_factory=dict)
    log: list[list[object]] = field(default_factory=list)
    asked: int = 0
    stamps: int = 0
    blocks: int = 0
    in_place: int = 0

    def read(self, at: Range) -> object:
        """The content of a range: the stamp of the write that covers exactly it, or None if it was overwritten."""
        if at.start == at.end:
            return "nothing"
        for start, end, stamp in self.memory.get(at.memory, []):
            if (start, end) == (at.start, at.end):
                return stamp
        return None

    def spoil(self, at: Range) -> None:
        kept = [w for w in self.memory.get(at.memory, []) if w[1] <= at.start or at.end <= w[0]]
        self.memory[at.memory] = kept

    def write(self, at: Range) -> None:
        self.stamps += 1
        self.spoil(at)
        self.memory[at.memory].append((at.start, at.end, self.stamps))

    def fresh(self, size: int) -> Range:
        self.blocks += 1
        return Range(self.blocks, 0, size)

    def loop(self, op: ir.Operation, operands: list[Any]) -> list[Any]:
        lower, upper, step, *carried = operands
        body = op.regions[0].blocks[0]
        for i in range(lower, upper, step):
            self.values |= dict(zip(body.arguments, [i, *carried], strict=True))
            carried = self.run(body)
        return carried

    def run(self, block: ir.Block) -> list[Any]:
        for op in block.operations:
            operands = [self.values[v] for v in op.operands]
            if op.operation.name in ("func.return", "scf.yield"):
                return operands
            for result, value in zip(op.results, self.step(op.operation, operands), strict=True):
                self.values[result] = value
        return []

    def step(self, op: ir.Operation, operands: list[Any]) -> list[Any]:
        name = op.name
        if name == "arith.constant":
            return [ir.IntegerAttr(op.attributes["value"]).value]
        if name == "memref.dim":
            return [(operands[0].end - operands[0].start) // 4]
        if name == "memref.alloc":
            size = ir.MemRefType(op.results[0].type).get_dim_size(0) if not operands else operands[0]
            return [self.fresh(4 * size)]
        if name == "memref.alloca":
            return [self.fresh(4 * ir.MemRefType(op.results[0].type).get_dim_size(0))]
        if name.startswith("llvm."):
            return [None] * len(op.results)
        if name == "memref.view":
            base, offset, *sizes = operands
            size = sizes[0] if sizes else ir.MemRefType(op.results[0].type).get_dim_size(0)
            assert offset % 64 == 0
            assert base.start + offset + 4 * size <= base.end, "outside the workspace"
            return [Range(base.memory, base.start + offset, base.start + offset + 4 * size)]
        if name in ("memref.cast", "memref.subview"):
            return operands[:1]
        if name == "scf.if":
            region = op.regions[0 if operands[0] else 1]
            return self.run(region.blocks[0]) if len(region.blocks) else []
        if name == "scf.for":
            return self.loop(op, operands)
        if name == "func.call":
            return self.call(ir.FlatSymbolRefAttr(op.attributes["callee"]).value, operands, op)
        return self.arithmetic(op, operands)

    def call(self, callee: str, operands: list[Any], op: ir.Operation) -> list[Any]:
        if callee == "relax.rt.workspace_take":
            self.asked = operands[0]
            return [Range("workspace", 0, operands[0])]
        if callee == "relax.rt.frame_buffer":
            return [self.fresh(operands[1])]
        if callee in ("relax.rt.workspace_give", "relax.rt.release"):
            return []
        count = 2 if callee.startswith("both") else 1
        inputs, outputs = operands[:-count], operands[-count:]
        if callee.startswith(("same", "both")):
            self.check_places(inputs, outputs)
            self.log.append([self.read(i) for i in inputs])
        else:
            assert callee.startswith(("step", "late")), callee
            first = [self.read(inputs[0])] if callee == "late2" else []
            # Values that are read later must not overlap the output.
            self.spoil(outputs[0])
            self.log.append([*first, *(self.read(i) for i in inputs[len(first) :])])
        for output in outputs:
            self.write(output)
        return []

    def check_places(self, inputs: list[Range], outputs: list[Range]) -> None:
        """Inputs of an elementwise call are equal to its outputs or disjoint from them; outputs are disjoint."""
        for given in (*inputs, *outputs):
            for output in outputs:
                if given is output or given.memory != output.memory or given.start == given.end:
                    continue
                whole = (given.start, given.end) == (output.start, output.end)
                assert given.end <= output.start or output.end <= given.start or (whole and given in inputs)
                self.in_place += whole

    def arithmetic(self, op: ir.Operation, operands: list[Any]) -> list[Any]:
        a, b = operands[0], operands[1]
        if op.name == "arith.mului_extended":
            return [(a * b) & MASK, (a * b) >> 64]
        if op.name == "arith.select":
            return [operands[1] if operands[0] else operands[2]]
        if op.name == "arith.cmpi":
            assert ir.IntegerAttr(op.attributes["predicate"]).value in (0, 1)
            return [(a == b) == (ir.IntegerAttr(op.attributes["predicate"]).value == 0)]
        functions = {
            "arith.addi": lambda: a + b,
            "arith.muli": lambda: a * b,
            "arith.minui": lambda: min(a & MASK, b & MASK),
            "arith.maxui": lambda: max(a & MASK, b & MASK),
            "arith.minsi": lambda: min(a, b),
            "arith.maxsi": lambda: max(a, b),
            "arith.andi": lambda: (a & MASK) & (b & MASK),
            "arith.floordivsi": lambda: a // b,
        }
        return [functions[op.name]()]


def main_block(module: ir.Module) -> ir.Block:
    """The body of `main`."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.name.value == "main":
            return op.regions[0].blocks[0]
    raise AssertionError("no main")


def run(module: ir.Module, n: int, m: int, flag: bool, rounds: int = 0) -> Machine:
    """Run `main` on buffers of `n` and `m` elements, then the numbers."""
    machine = Machine()
    block = main_block(module)
    given = [Range("a", 0, 4 * n), Range("b", 0, 4 * m), m, flag, rounds]
    machine.values = dict(zip(block.arguments, given, strict=False))
    machine.run(block)
    return machine


def plan(text: str) -> ir.Module:
    """A module with its memory planned."""
    module = ir.Module.parse(text)
    Sequential([PlanMemory()]).apply_(module)
    assert module.operation.verify()
    return module


X = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
NM = rx.Tensor(("n", "m"), "float32")
BOOL = rx.Tensor((), "bool")


def chain(x: rx.Value) -> rx.Value:
    for _ in range(4):
        x = R.nn.softmax(x)
    return x


def views(x: rx.Value) -> list[rx.Value]:
    y = R.nn.softmax(x)
    flat = R.flatten(y)
    return [flat, R.sum(R.expand_dims(R.nn.softmax(flat), axis=0)), R.reshape(flat, ("m", "n"))]


def pieces(x: rx.Value) -> rx.Value:
    left, right = R.split(R.concat([x, x], axis=1), 2, axis=1)
    return R.matmul(left, R.permute_dims(right))


def branches(x: rx.Value, c: rx.Value) -> list[rx.Value]:
    a = R.nn.softmax(x)
    b = R.nn.softmax(a, axis=0)

    def taken() -> rx.Value:
        return R.sum(R.nn.softmax(R.nn.softmax(R.matmul(b, R.permute_dims(a)))), axis=-1)

    y = R.if_then_else(c, taken, lambda: R.sum(x, axis=1))
    z = R.if_then_else(c, lambda: a, lambda: x)
    return [R.nn.softmax(y), R.nn.softmax(z)]


def effects(x: rx.Value) -> list[rx.Value]:
    y = R.nn.softmax(x)
    before = R.nn.softmax(y)
    R.call_packed("test.memory.double", x, y)
    z = R.nn.softmax(y)
    R.call_packed("test.memory.double", z, y)
    return [before, x, y, z, R.nn.softmax(z)]


def effects_on_branches(x: rx.Value, c: rx.Value) -> list[rx.Value]:
    y = R.nn.softmax(x)

    def taken() -> rx.Value:
        R.call_packed("test.memory.double", y, x)
        return R.nn.softmax(y)

    z = R.if_then_else(c, taken, lambda: R.nn.softmax(R.nn.softmax(y)))
    return [z, y, x]


def packed(x: rx.Value) -> list[rx.Value]:
    y = R.nn.softmax(x)
    kept = R.call_packed("test.memory.keep", y, out=NM)
    rest = chain(R.call_dps_packed("test.memory.negate", [R.nn.softmax(x), 2], NM))
    return [kept, rest]


def made(x: rx.Value) -> list[rx.Value]:
    flat = R.flatten(R.nn.softmax(x))
    return [R.arange("n"), R.full(("m", 2), 3.0), R.strided_slice(flat, [0], [0], ["n"], [1])]


def sizes(x: rx.Value) -> rx.Value:
    y = R.match_shape(R.flatten(x), ("k",))
    z = R.nn.softmax(R.concat([y, y], axis=0))
    return R.reshape(z, ("n", "2*m"))


PROGRAMS: dict[str, tuple[Any, list[rx.Tensor], list[list[Any]]]] = {
    build.__name__: (build, params, cases)
    for build, params, cases in [
        (chain, [NM], [[X]]),
        (views, [NM], [[X], [X[:, :0]]]),
        (pieces, [NM], [[X], [X[:0]]]),
        (branches, [NM, BOOL], [[X, np.array(True)], [X, np.array(False)]]),
        (effects, [NM], [[X]]),
        (effects_on_branches, [NM, BOOL], [[X, np.array(True)], [X, np.array(False)]]),
        (packed, [NM], [[X]]),
        (made, [NM], [[X], [X[:0]]]),
        (sizes, [NM], [[X]]),
    ]
}


def module(build: Any, params: list[rx.Tensor]) -> rx.IRModule:
    bb = rx.BlockBuilder()
    variables = [rx.Var(f"x{i}", info) for i, info in enumerate(params)]
    with bb.function("main", variables):
        bb.emit_func_output(build(*variables))
    return bb.get()


@functools.cache
def together() -> rx.IRModule:
    """A module of all programs, each as a separate function."""
    bb = rx.BlockBuilder()
    for name, (build, params, _) in PROGRAMS.items():
        variables = [rx.Var(f"x{i}", info) for i, info in enumerate(params)]
        with bb.function(name, variables):
            bb.emit_func_output(build(*variables))
    return bb.get()


@functools.cache
def native() -> Any:
    """All programs as native code."""
    return rx.build(together())


def register_functions() -> None:
    """The packed functions that the programs call."""

    def double(x: Any, y: Any) -> None:
        to_numpy(x)[...] *= 2
        to_numpy(y)[...] += 1

    def negate(x: Any, times: int, out: Any) -> None:
        to_numpy(out)[...] = -times * to_numpy(x)

    tvm_ffi.register_global_func("test.memory.double", double, override=True)
    tvm_ffi.register_global_func("test.memory.negate", negate, override=True)
    tvm_ffi.register_global_func("test.memory.keep", lambda x: x, override=True)
