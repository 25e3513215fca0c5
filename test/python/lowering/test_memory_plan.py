"""The memory plan, on random and on small programs: offsets, shared buffers, loops, copies."""

from __future__ import annotations

import random
import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from memory_machine import Machine, main_block, plan, run
from relax_mlir.error import ShapeError
from relax_mlir.lowering.base.signature import MEMORY_PLAN
from relax_mlir.lowering.bufferize import bufferize
from relax_mlir.lowering.memory.plan_memory import PlanMemory
from relax_mlir.mlir import ir
from relax_mlir.runtime import to_numpy
from relax_mlir.runtime.memory import MemoryPlan
from relax_mlir.script import parse
from relax_mlir.transform import Sequential, create_pass

N = "memref<?xf32>"

SAME = """
func.func private @same1(%a: memref<?xf32>, %o: memref<?xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}
func.func private @same2(%a: memref<?xf32>, %b: memref<?xf32>, %o: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %o, %c0 : memref<?xf32>
  %t = memref.alloc() : memref<f32>
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%t : memref<f32>)
  linalg.generic {indexing_maps = [#line, #point], iterator_types = ["reduction"]}
      ins(%a : memref<?xf32>) outs(%t : memref<f32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#line, #line, #point, #line], iterator_types = ["parallel"]}
      ins(%a, %b, %t : memref<?xf32>, memref<?xf32>, memref<f32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %w: f32):
    %s = arith.addf %x, %y : f32
    %p = arith.mulf %s, %z : f32
    linalg.yield %p : f32
  }
  return
}
"""

LATE = """
func.func private @late1(%a: memref<?xf32>, %o: memref<?xf32>) attributes {relax.prim_func} {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%o : memref<?xf32>)
  linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @late2(%a: memref<?xf32>, %b: memref<?xf32>, %o: memref<?xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%b : memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @both1(%a: memref<?xf32>, %o: memref<?xf32>, %p: memref<?xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#line, #line, #line], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%o, %p : memref<?xf32>, memref<?xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    linalg.yield %x, %x : f32, f32
  }
  return
}
"""

MAPS = "#line = affine_map<(d0) -> (d0)>\n#point = affine_map<(d0) -> ()>\n"


class Program:
    """A random program: temporaries of several symbolic and static sizes, views of them, calls, branches, loops."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = 0
        self.sizes = {"%n": "n", "%m": "m", "%nm": "n*m", "%n2": "2n", "%half": "n//2"}
        self.size_of: dict[str, str | int] = {"%a": "%n", "%b": "%m"}

    def fresh(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def alloc(self, size: str | int | None = None) -> str:
        name = self.fresh()
        if size is None:
            choices = [1, 16, 100, 1000, 1001] if self.random.random() < 0.3 else list(self.sizes)
            size = self.random.choice(choices)
        self.size_of[name] = size
        if isinstance(size, int):
            self.lines.append(f"{name}s = memref.alloc() : memref<{size}xf32>")
            self.lines.append(f"{name} = memref.cast {name}s : memref<{size}xf32> to {N}")
        else:
            self.lines.append(f"{name} = memref.alloc({size}) : {N}")
        return name

    def same(self, live: list[str]) -> None:
        """An elementwise call (or one that looks like it) of values of one size."""
        first = self.random.choice(live)
        if first not in self.size_of:
            return
        equal = [value for value in live if self.size_of.get(value) == self.size_of[first]]
        callee = self.random.choice(["same1", "same2", "late1", "late2", "both1"])
        inputs = [first, self.random.choice(equal)][: int(callee[-1])]
        outputs = [self.alloc(self.size_of[first]) for _ in range(1 + callee.startswith("both"))]
        self.emit_call(callee, [*inputs, *outputs])
        for value in inputs:
            if value in live and len(live) > 1 and self.random.random() < 0.7:
                live.remove(value)
        live.extend(outputs)

    def emit_call(self, callee: str, arguments: list[str]) -> None:
        types = ", ".join([N] * len(arguments))
        self.lines.append(f"func.call @{callee}({', '.join(arguments)}) : ({types}) -> ()")

    def call(self, live: list[str]) -> None:
        count = self.random.randint(1, min(3, len(live)))
        inputs = self.random.sample(live, count)
        output = self.alloc() if self.random.random() < 0.7 else self.random.choice(live)
        self.emit_call(f"step{count}", [*inputs, output])
        if output not in live:
            live.append(output)

    def branch(self, live: list[str], depth: int) -> None:
        result = self.fresh()
        self.lines.append(f"{result} = scf.if %flag -> ({N}) {{")
        for word in ("} else {", "}"):
            inner = list(live)
            for _ in range(self.random.randint(0, 4)):
                self.statement(inner, depth + 1)
            self.lines += [f"scf.yield {self.random.choice(inner)} : {N}", word]
        live.append(result)

    def loop(self, live: list[str], depth: int) -> None:
        result, last, index = self.fresh(), self.fresh(), self.fresh()
        start = self.random.choice(live)
        self.lines.append(
            f"{result} = scf.for {index} = %c0 to %rounds step %c1 iter_args({last} = {start}) -> ({N}) {{"
        )
        inner = [*live, last]
        for _ in range(self.random.randint(0, 4)):
            self.statement(inner, depth + 1)
        self.lines += [f"scf.yield {self.random.choice(inner)} : {N}", "}"]
        live.append(result)

    def statement(self, live: list[str], depth: int = 0) -> None:
        kind = self.random.random()
        if depth < 2 and kind < 0.12:
            self.branch(live, depth)
        elif depth < 2 and kind < 0.2:
            self.loop(live, depth)
        elif kind < 0.6:
            self.same(live)
        else:
            self.call(live)
        # Forgetting buffers makes them dead.
        while len(live) > 3 and self.random.random() < 0.5:
            live.pop(self.random.randrange(len(live)))

    def text(self) -> str:
        live = ["%a", "%b"]
        for _ in range(self.random.randint(3, 25)):
            self.statement(live)
        steps = "".join(f"func.func private @step{k}({', '.join([N] * (k + 1))})\n" for k in (1, 2, 3))
        body = "\n  ".join(self.lines)
        return f"""{MAPS}{SAME}{LATE}{steps}
func.func @main(%a: {N}, %b: {N}, %m: index, %flag: i1, %rounds: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %a, %c0 : {N}
  func.call @step1(%a, %a) : ({N}, {N}) -> ()
  func.call @step1(%b, %b) : ({N}, {N}) -> ()
  %nm = arith.muli %n, %m : index
  %n2 = arith.muli %n, %c2 : index
  %half = arith.floordivsi %n, %c2 : index
  {body}
  return
}}
"""


def check_formulas(module: ir.Module, machine: Machine, n: int, m: int) -> None:
    """The recorded plan gives the requested size, and does not overlap buffers that are live at the same time."""
    (function,) = (op for op in module.body.operations if MEMORY_PLAN in op.attributes)
    plan = MemoryPlan.from_json(ir.StringAttr(function.attributes[MEMORY_PLAN]).value)
    values = {name: size for name, size in (("arg0_0", n), ("arg2", m)) if name in plan.symbols}
    assert plan.bytes(**values) == machine.asked
    for a, b in combinations(plan.place(**values), 2):
        assert not (a.buffer.meets(b.buffer) and a.start < b.end and b.start < a.end)


@pytest.mark.parametrize("seed", sweep.every(range(80), 4))
def test_no_value_is_destroyed_while_it_is_needed(seed: int) -> None:
    text = Program(seed).text()
    with ir.Context(), ir.Location.unknown():
        original, planned = ir.Module.parse(text), plan(text)
        assert not re.search(r"memref\.alloc\b", str(main_block(planned).owner))
        for n, m in ((0, 0), (1, 1), (7, 3), (100, 1000), (33, 0)):
            for flag, rounds in ((False, 0), (True, 1), (False, 3)):
                machine = run(planned, n, m, flag, rounds)
                assert machine.log == run(original, n, m, flag, rounds).log, text
                check_formulas(planned, machine, n, m)


def test_random_programs_have_work_in_place() -> None:
    with ir.Context(), ir.Location.unknown():
        counts = [run(plan(Program(seed).text()), 7, 3, True, 2).in_place for seed in range(20)]
    assert sum(count > 0 for count in counts) > 10


def slots(body: str) -> list[int]:
    """Offsets of the buffers of a straight-line body, for n = 100."""
    text = f"""
func.func private @step1({N}, {N})
func.func @main(%a: {N}, %b: {N}, %m: index, %flag: i1) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : {N}
{body}
  return
}}"""
    with ir.Context(), ir.Location.unknown():
        module = plan(text)
        machine = run(module, 100, 10, True)
        views = [op for op in main_block(module).operations if op.operation.name == "memref.view"]
        return [machine.values[op.results[0]].start for op in views]


def chain(count: int, size: str = "%n") -> str:
    lines, last = [], "%a"
    for i in range(count):
        lines += [
            f"%t{i} = memref.alloc({size}) : {N}",
            f"func.call @step1({last}, %t{i}) : ({N}, {N}) -> ()",
        ]
        last = f"%t{i}"
    return "\n".join(lines)


def test_a_chain_needs_two_slots() -> None:
    assert slots(chain(8)) == [0, 448] * 4


def test_allocations_made_early_share_as_if_made_late() -> None:
    lines = chain(6).splitlines()
    assert slots("\n".join([*lines[::2], *lines[1::2]])) == [0, 448] * 3


def test_equal_formulas_share_although_written_differently() -> None:
    body = f"""
  %x = arith.muli %n, %m : index
  %t0 = memref.alloc(%x) : {N}
  func.call @step1(%a, %t0) : ({N}, {N}) -> ()
  %t1 = memref.alloc(%n) : {N}
  func.call @step1(%t0, %t1) : ({N}, {N}) -> ()
  %y = arith.muli %m, %n : index
  %t2 = memref.alloc(%y) : {N}
  func.call @step1(%t1, %t2) : ({N}, {N}) -> ()"""
    assert slots(body) == [0, 4032, 0]


def test_large_buffers_share_before_small_ones_are_in_their_way() -> None:
    lines = []
    for i, size in enumerate([200, 100, 100, 200]):
        lines += [
            f"%s{i} = memref.alloc() : memref<{size}xf32>",
            f"%t{i} = memref.cast %s{i} : memref<{size}xf32> to {N}",
            f"func.call @step1({f'%t{i - 1}' if i else '%a'}, %t{i}) : ({N}, {N}) -> ()",
        ]
    lines += [f"func.call @step1(%t{i}, %a) : ({N}, {N}) -> ()" for i in (1, 2, 3)]
    assert slots("\n".join(lines)) == [0, 832, 1280, 0]


def test_sizes_that_are_not_known_at_entry_are_freed_at_the_end() -> None:
    text = f"""
func.func private @size() -> index
func.func private @step1({N}, {N})
func.func @main(%a: {N}) {{
  %n = func.call @size() : () -> index
  %t = memref.alloc(%n) : {N}
  func.call @step1(%a, %t) : ({N}, {N}) -> ()
  return
}}"""
    with ir.Context(), ir.Location.unknown():
        planned = str(plan(text))
    assert "call @relax.rt.frame_buffer" in planned
    assert "workspace_take(" not in planned.split("@main")[1].split("return")[0]


def test_buffers_carried_by_a_loop_do_not_share_one_place() -> None:
    text = f"""
func.func private @step1({N}, {N})
func.func @main(%a: {N}, %k: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : {N}
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%last = %a) -> ({N}) {{
    %t = memref.alloc(%n) : {N}
    func.call @step1(%last, %t) : ({N}, {N}) -> ()
    scf.yield %t : {N}
  }}
  func.call @step1(%r, %a) : ({N}, {N}) -> ()
  return
}}"""
    with ir.Context(), ir.Location.unknown():
        assert str(plan(text)).count("call @relax.rt.frame_buffer") == 1


def test_prim_funcs_are_left_alone() -> None:
    text = f"""
func.func private @step1({N}, {N})
func.func private @k(%a: {N}, %n: index) attributes {{relax.prim_func}} {{
  %t = memref.alloc(%n) : {N}
  func.call @step1(%a, %t) : ({N}, {N}) -> ()
  return
}}"""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        before = str(module)
        Sequential([PlanMemory()]).apply_(module)
        assert str(module) == before


PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def grown(x: R.Tensor((2, 3), "float32")) -> R.Tensor((8, 3), "float32"):
        acc: R.Tensor((None, 3), "float32") = R.match_shape(x, (None, 3))
        for i in R.range(3):
            acc = R.concat((acc, x), axis=0)
        return R.match_shape(acc, (8, 3))

    @R.function
    def one_round(x: R.Tensor((3, 3), "float32")) -> R.Tensor((3, 3), "float32"):
        acc = x
        for i in R.range(1):
            acc = R.strided_slice(acc, axes=[0], begin=[-1], end=[-4], strides=[-1])
        return acc

    @R.function
    def one_round_within(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        total = x
        for i in R.range(3):
            acc = total
            for j in R.range(1):
                acc = R.exp(acc)
            total = R.minimum(acc, R.const(9.0)) - total
        return total

    @R.function
    def chosen(x: R.Tensor(("n",), "float32"), count: R.Tensor((), "int64")) -> R.Tuple(R.Tensor(("n",), "float32"),
               R.Tensor(("n",), "float32")):
        k = count
        acc = x * 2.0
        other = x
        while R.less(k, R.const(3)):
            if R.equal(k, R.const(1)):
                y = x
            else:
                y = acc
            k = k + R.const(1)
            acc, other = y + 1.0, y
        return acc, other

    @R.function
    def matched(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("n",), "float32"):
        a = x
        b = x
        for i in R.range(2):
            new = R.concat((y, y), axis=0)
            a, b = R.match_shape(new, ("n",)), a
        return R.add(a, b)

    @R.function
    def rotated(x: R.Tensor(("n",), "float32"), count: R.Tensor((), "int64")) -> R.Tuple(R.Tensor(("n",), "float32"),
                R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")):
        a = R.negative(x)
        b = x * 2.0
        c = x
        for i in R.range(5):
            new = R.exp(a * 0.01)
            if R.less(count, R.const(3)):
                either = a
            else:
                either = new
            a, b, c = b, either, new
        return a, b, c

    @R.function
    def exchanged(x: R.Tensor(("n",), "float32"), count: R.Tensor((), "int64")) -> R.Tuple(R.Tensor(("n",), "float32"),
                  R.Tensor(("n",), "float32")):
        k = count
        a = R.negative(x)
        b = a
        while R.less(k, R.const(3)):
            k = k + R.const(1)
            first, second = R.maximum(a, a), R.permute_dims(b, axes=[0])
            a, b = second + 1.0, first
        c = a * 2.0
        for i in R.range(3):
            a, c = R.maximum(c, c), R.minimum(a, a)
        return a, c
"""


@pytest.fixture(scope="module")
def compiled() -> Any:
    return rx.build(parse(PROGRAM))


def test_a_value_of_static_size_grows(compiled: Any) -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(to_numpy(compiled["grown"](x)), np.concatenate([x] * 4))


def test_loops_of_one_round(compiled: Any) -> None:
    x = np.arange(9, dtype="float32").reshape(3, 3)
    np.testing.assert_array_equal(to_numpy(compiled["one_round"](x)), x[::-1])
    for size in (0, 1, 5):
        given = np.linspace(-1, 1, size, dtype="float32")
        want = given.astype(np.float64)
        for _ in range(3):
            want = np.minimum(np.exp(want), 9) - want
        np.testing.assert_allclose(to_numpy(compiled["one_round_within"](given)), want, rtol=1e-5)


@pytest.mark.parametrize("count", range(4))
def test_a_branch_goes_on_with_a_value_of_before(compiled: Any, count: int) -> None:
    x = np.linspace(-1, 1, 5, dtype="float32")
    acc, other = x * 2, x
    for k in range(count, 3):
        other = x if k == 1 else acc
        acc = other + 1
    for have, want in zip(compiled["chosen"](x, np.array(count)), (acc, other), strict=True):
        np.testing.assert_array_equal(to_numpy(have), want)


@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("size", [0, 1, 7])
def test_values_that_take_each_others_place_unchanged(compiled: Any, count: int, size: int) -> None:
    x = np.linspace(-1, 1, size, dtype="float32")
    a = b = -x
    for _ in range(count, 3):
        a, b = b + np.float32(1), a
    for have, want in zip(compiled["exchanged"](x, np.array(count)), (a * 2, a), strict=True):
        np.testing.assert_array_equal(to_numpy(have), want)


def test_sizes_are_checked_before_a_carried_tensor_is_written(compiled: Any) -> None:
    """A carried value may be larger or smaller than the tensor that it is written to."""
    x, y = np.ones(8, np.float32), np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(to_numpy(compiled["matched"](x, y)), np.tile(y, 2) * 2)
    for size in (0, 3, 5, 1_000_000):
        with pytest.raises(ShapeError, match=rf"dimension 0 is {2 * size}, but n = 8, taken from parameter 'x'"):
            compiled["matched"](x, np.ones(size, np.float32))


@pytest.mark.parametrize("count", [1, 7])
def test_values_that_move_on_as_they_are(compiled: Any, count: int) -> None:
    """The old value, a value forwarded by a branch, and a new value that is carried twice."""
    x = np.arange(5, dtype=np.float32)
    a, b, c = -x, x * 2, x
    for _ in range(5):
        new = np.exp(a * np.float32(0.01))
        a, b, c = b, a if count < 3 else new, new
    results = [to_numpy(value) for value in compiled["rotated"](x, np.array(count, np.int64))]
    for result, expected in zip(results, (a, b, c), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_functions_in_functions_may_be_legalised_first() -> None:
    module = parse("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        def local(y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            return R.exp(y) + x
        return local(local(x))
""")
    work = module.clone()
    work.apply_(create_pass("legalize-ops"))
    x = np.linspace(-1, 1, 5, dtype="float32")
    np.testing.assert_allclose(to_numpy(rx.build(work)["main"](x)), np.exp(np.exp(x) + x) + x, rtol=1e-6)


T = "tensor<?x4xf32>"


def lowered(body: str) -> str:
    text = f"""
func.func private @k(%x: {T}, %o: {T}) -> {T} attributes {{relax.prim_func}} {{
  %0 = linalg.exp ins(%x : {T}) outs(%o : {T}) -> {T}
  return %0 : {T}
}}
func.func @main(%x: {T}, %o: {T}) -> {T} attributes {{relax.signature = {{
    name = "main", params = [{{name = "x", kind = "tensor", dtype = "float32", ndim = 2, type = "Tensor"}}],
    results = [{{kind = "tensor", dtype = "float32", ndim = 2}}], tuple = false}}}} {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : {T}
  %e = tensor.empty(%n) : {T}
{body}
  %r = bufferization.materialize_in_destination %last in %o : ({T}, {T}) -> {T}
  return %r : {T}
}}
"""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        Sequential(bufferize()).apply_(module)
        assert module.operation.verify()
        return str(module).split("@main", 1)[1].split("\n  }", 1)[0]


def test_the_last_call_writes_the_result() -> None:
    main = lowered(f"  %last = call @k(%x, %e) : ({T}, {T}) -> {T}")
    assert "call @k(%arg0, %arg1)" in main
    assert "memref.copy" not in main
    assert "workspace" not in main


def test_an_input_as_result_is_copied() -> None:
    main = lowered(f"  %last = tensor.cast %x : {T} to {T}")
    assert "memref.copy %arg0, %arg1" in main


def test_inputs_are_never_written() -> None:
    main = lowered(f"  %last = call @k(%x, %x) : ({T}, {T}) -> {T}")
    assert "call @k(%arg0, %arg0)" not in main


def test_temporaries_are_planned() -> None:
    main = lowered(
        f"  %0 = call @k(%x, %e) : ({T}, {T}) -> {T}\n"
        f"  %e1 = tensor.empty(%n) : {T}\n"
        f"  %last = call @k(%0, %e1) : ({T}, {T}) -> {T}"
    )
    assert "memref.alloc" not in main
    assert main.count("memref.view") == 1
