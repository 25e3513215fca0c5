"""The memory plan, proved on random programs by an interpreter that knows nothing of liveness (`memory_machine`).

A program is a module of level M, with branches and loops. It is run twice: on separate buffers, and on the addresses
that the planned module computes. All inputs of all calls must be the same in both runs.
"""

from __future__ import annotations

import random
import re
from itertools import combinations

import pytest
import sweep
from memory_machine import Machine, main_block, plan, run
from relax_mlir.lowering.base.signature import MEMORY_PLAN
from relax_mlir.mlir import ir
from relax_mlir.runtime.memory import MemoryPlan

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
