"""Functions around one `linalg.generic`, lowered to loops and compiled, and arrays for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from relax_mlir.lowering.expand import ExpandMath
from relax_mlir.lowering.kernels.nest.vector_loops import LinalgToLoops
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from rows_jit import Compiled

TARGETS = ("cpu -mcpu=haswell", str(Target("cpu -mcpu=skylake-avx512").runnable_here()))
LENGTHS = (0, 1, 7, 8, 13, 32, 45, 130)
NUMPY = {"i1": np.bool_, "i8": np.int8, "i32": np.int32, "i64": np.int64, "f16": np.float16}
NUMPY |= {"f32": np.float32, "f64": np.float64}


@dataclass(frozen=True)
class Generic:
    """The text of a function around one `linalg.generic`; the last operand is the output."""

    maps: Sequence[str]
    types: Sequence[str]
    kinds: str
    body: str

    def text(self, name: str = "f") -> str:
        loops = ", ".join(f"d{i}" for i in range(len(self.kinds)))
        maps = ", ".join(f"affine_map<({loops}) -> ({map_})>" for map_ in self.maps)
        kinds = ", ".join('"parallel"' if kind == "p" else '"reduction"' for kind in self.kinds)
        names = [f"%x{i}" for i in range(len(self.types) - 1)] + ["%o"]
        arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, self.types, strict=True))
        scalars = ", ".join(
            f"%{n[1:]}s: {t.rpartition('x')[2].split(',')[0].rstrip('>').removeprefix('memref<')}"
            for n, t in zip(names, self.types, strict=True)
        )
        inputs = f"ins({', '.join(names[:-1])} : {', '.join(self.types[:-1])})" if len(names) > 1 else ""
        return f"""
func.func @{name}({arguments}) {{
  linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      {inputs} outs(%o : {self.types[-1]}) {{
  ^bb0({scalars}):
    {self.body}
  }}
  return
}}"""


def lowered(source: str, target: str = TARGETS[0]) -> str:
    """The text after the pass."""
    with ir.Context():
        module = ir.Module.parse(source)
        LinalgToLoops(target).apply_(module)
        assert module.operation.verify()
        return str(module)


def compiled(source: str, target: str = TARGETS[0]) -> Compiled:
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse(source)
        LinalgToLoops(target).apply_(module)
        ExpandMath(target).apply_(module)
        assert module.operation.verify()
        assert "linalg." not in str(module)
        return Compiled(module)


def guarded(shape: Sequence[int], dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """An array, and the bytes around it that must not be written."""
    size = int(np.prod(shape))
    whole = np.ones(size + 64, dtype=dtype)
    return whole[:size].reshape(shape), whole[size:]


def random(shape: Sequence[int], dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "i1":
        return rng.random(shape) < 0.5
    if dtype.startswith("i"):
        return rng.integers(-50, 50, shape).astype(NUMPY[dtype])
    return rng.normal(size=shape).astype(NUMPY[dtype])
