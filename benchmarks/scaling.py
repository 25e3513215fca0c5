"""CPU time over the size of programs: ``python -m benchmarks.scaling``; ``--plot docs/scaling.svg`` draws it.

Each step of the compiler (building a module, printing, reading, every pass, `build`, `summary`) runs on programs of 100
to 10,000 bindings of several forms. The exponent of a step is the slope of its time over n on logarithmic axes between
the two largest sizes: 1 is linear, 2 quadratic. Constant costs make exponents smaller.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from benchmarks import scaling_chart
from benchmarks.targets import Row

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule

T = TypeVar("T")

SIZES = (100, 300, 1000, 3000, 10_000)
SHORT = (200, 400, 800)
"""The sizes in `make bench`."""
PATIENCE = 5.0
"""Seconds: a step with a larger expected time on a larger program is not measured."""
WARM_UP = 12
LIMIT = 1.3
"""The maximum exponent that counts as n log n: short times vary by a tenth."""
SHORTEST = 0.05
"""Seconds below which an exponent is not computed."""
FEATURES = 16
DEPTH = 40
"""The maximum nesting of conditionals: text is indented, so its length grows with the square of the depth."""


def chain(n: int) -> IRModule:
    """Each binding reads the one before: cheap ops, with an occasional matrix product."""
    import relax_mlir as rx
    from relax_mlir import op as R

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", FEATURES), "float32"))
    w = rx.Var("w", rx.Tensor((FEATURES, FEATURES), "float32"))
    steps: list[Callable[[Any], Any]] = [
        R.tanh,
        lambda y: R.add(y, x),
        R.nn.relu,
        lambda y: R.multiply(y, x),
        lambda y: R.matmul(y, w),
        R.nn.softmax,
    ]
    with bb.function("main", [x, w]):
        y: Any = x
        with bb.dataflow():
            for i in range(n - 1):
                y = bb.emit(steps[i % len(steps)](y))
            y = bb.emit_output(R.nn.relu(y))
        bb.emit_func_output(y)
    return bb.get()


def wide(n: int) -> IRModule:
    """A third of the bindings scale the parameter, each by another factor; the others add the results in pairs."""
    import relax_mlir as rx
    from relax_mlir import op as R

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", FEATURES), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            level = [bb.emit(R.nn.softmax(bb.emit(R.multiply(x, 1.0 + i)))) for i in range(max(n // 3, 1))]
            while len(level) > 1:
                pairs = zip(level[::2], level[1::2], strict=False)
                level = [bb.emit(R.add(a, b)) for a, b in pairs] + level[len(level) & ~1 :]
            y = bb.emit_output(R.tanh(level[0]))
        bb.emit_func_output(y)
    return bb.get()


def functions(n: int) -> IRModule:
    """A function per binding, alternately public and private, which `main` calls."""
    import relax_mlir as rx
    from relax_mlir import op as R

    bb = rx.BlockBuilder()
    info = rx.Tensor(("n", FEATURES), "float32")
    names = []
    for i in range(n // 2):
        v = rx.Var("v", info)
        with bb.function(f"f{i}", [v], private=i % 2 == 1):
            bb.emit_func_output(bb.emit(R.tanh(v) if i % 3 else R.nn.softmax(v)))
        names.append(f"f{i}")
    x = rx.Var("x", info)
    with bb.function("main", [x]):
        y: Any = x
        for name in names:
            y = bb.emit(bb.call(name, y))
        bb.emit_func_output(y)
    return bb.get()


def constants(n: int) -> IRModule:
    """Every second binding reads a separate constant matrix or vector."""
    import relax_mlir as rx
    from relax_mlir import op as R

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", FEATURES), "float32"))
    rng = np.random.default_rng(0)
    with bb.function("main", [x]):
        y: Any = x
        with bb.dataflow():
            for i in range(n // 2):
                shape = (FEATURES, FEATURES) if i % 4 == 0 else (FEATURES,)
                value = bb.const(rng.standard_normal(shape, dtype="f4"))
                y = bb.emit(R.matmul(y, value) if i % 4 == 0 else R.add(y, value))
            y = bb.emit_output(R.tanh(y))
        bb.emit_func_output(y)
    return bb.get()


def nested(n: int) -> IRModule:
    """Conditionals in conditionals, at most `DEPTH` deep; then the next nest."""
    import relax_mlir as rx
    from relax_mlir import op as R
    from relax_mlir.op import if_then_else

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", FEATURES), "float32"))
    flag = rx.Var("flag", rx.Tensor((), "bool"))

    def nest(y: Any, depth: int) -> Any:  # noqa: ANN401 - a Relax value
        if not depth:
            return bb.emit(R.tanh(y))
        inner = bb.emit(R.add(y, x))
        return if_then_else(flag, lambda: nest(inner, depth - 1), lambda: bb.emit(R.nn.relu(inner)))

    with bb.function("main", [x, flag]):
        y, left = x, n // 3
        while left > 0:
            y = nest(y, min(left, DEPTH))
            left -= DEPTH
        bb.emit_func_output(bb.emit(R.tanh(y)))
    return bb.get()


def symbols(n: int) -> IRModule:
    """Half of the bindings read parameters whose sizes are separate symbols, the other half products of two sizes."""
    import relax_mlir as rx
    from relax_mlir import op as R

    bb = rx.BlockBuilder()
    params = [rx.Var(f"x{i}", rx.Tensor((f"n{i}", FEATURES), "float32")) for i in range(max(n // 4, 1))]
    with bb.function("main", params):
        with bb.dataflow():
            first = [bb.emit(R.tanh(x)) for x in params]
            others = params[1:] + params[:1]
            second = [bb.emit(R.matmul(y, R.permute_dims(x))) for y, x in zip(first, others, strict=True)]
            sums = [bb.emit(R.sum(y)) for y in second]
            total = bb.emit_output(R.sum(R.stack(sums)))
        bb.emit_func_output(total)
    return bb.get()


FORMS: dict[str, Callable[[int], IRModule]] = {
    each.__name__: each for each in (chain, wide, functions, constants, nested, symbols)
}
"""Programs of n bindings."""

ALONE = (
    "canonicalize-bindings",
    "convert-to-dataflow",
    "topological-sort",
    "decompose-ops",
    "dead-code-elimination",
    "expand-tuple-arguments",
    "remove-unused-outputs",
    "outline-branches",
)
"""Passes on Relax that no pipeline runs, or that change little there: they run on the unchanged program."""

PIPELINES = ("relax-to-llvm", "relax-to-vm")


def steps(form: str, n: int, wanted: Callable[[str], bool] = lambda step: True) -> Iterator[tuple[str, float]]:
    """CPU seconds of each step on one program; `wanted` selects steps and pipelines."""
    import relax_mlir as rx
    from relax_mlir.instrument import PassInstrument
    from relax_mlir.script import parse, script_constants
    from relax_mlir.transform import PassContext, create_pass
    from relax_mlir.transform.context import VERIFY_EACH
    from relax_mlir.transform.registry import PassInfo

    class CpuTimes(PassInstrument):
        """Sum the time of each pass."""

        def __init__(self) -> None:
            self.started, self.seconds = 0.0, dict[str, float]()

        def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
            self.started = time.process_time()

        def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
            if not info.composite:
                spent = time.process_time() - self.started
                self.seconds[info.name] = self.seconds.get(info.name, 0.0) + spent

    if not wanted("BlockBuilder"):
        return
    module, seconds = _timed(FORMS[form], n)
    yield "BlockBuilder", seconds
    if wanted("verify"):
        yield "verify", _timed(module.verify)[1]
    if wanted("print IR"):
        text, seconds = _timed(lambda: module.asm(elide_above=None))
        yield "print IR", seconds
        if wanted("read IR"):
            yield "read IR", _timed(lambda: rx.IRModule.parse(text, trusted=True))[1]
    if wanted("print script"):
        script, seconds = _timed(module.script)
        yield "print script", seconds
        if wanted("read script"):
            yield "read script", _timed(parse, script, script_constants(module.mlir))[1]
    if wanted("summary"):
        yield "summary", _timed(module.summary)[1]
    for name in filter(wanted, ALONE):
        with PassContext(opt_level=3, config={VERIFY_EACH: False}):
            yield name, _timed(create_pass(name), module.clone())[1]
    for pipeline in filter(wanted, PIPELINES):
        watch = CpuTimes()
        with PassContext(opt_level=3, config={VERIFY_EACH: False}, instruments=[watch]):
            yield pipeline, _timed(create_pass(pipeline), module.clone())[1]
        mark = " (vm)" if pipeline == PIPELINES[1] else ""
        yield from ((f"{name}{mark}", seconds) for name, seconds in watch.seconds.items())
    if wanted("build"):
        yield "build", _timed(lambda: rx.build(module, cache=False))[1]
    if wanted("build bytecode"):
        yield "build bytecode", _timed(lambda: rx.build(module, exec_mode="bytecode", cache=False))[1]


def _timed(work: Callable[..., T], *given: Any) -> tuple[T, float]:  # noqa: ANN401 - whatever it takes
    gc.collect()
    start = time.process_time()
    found = work(*given)
    return found, time.process_time() - start


@dataclass(frozen=True)
class Growth:
    """The times of one step on programs of one form, by their number of bindings."""

    form: str
    step: str
    seconds: Mapping[int, float]

    @property
    def exponent(self) -> float | None:
        """The slope between the two largest sizes; None if the time is too short."""
        (small, before), (large, after) = sorted(self.seconds.items())[-2:]
        if after < SHORTEST or before <= 0:
            return None
        return math.log(after / before) / math.log(large / small)


def measured(forms: Sequence[str], sizes: Sequence[int], patience: float = math.inf) -> list[Growth]:
    """The growth of each step; the first program is not counted, because it loads modules that are loaded once.

    A step is measured on a larger program if it is expected to take at most `patience` seconds.
    """
    found: dict[tuple[str, str], dict[int, float]] = {}
    for form in forms:
        for _ in steps(form, WARM_UP):
            pass
        before = 0
        for n in sizes:
            limit = patience * before / n
            short = {step for (of, step), times in found.items() if of == form and times.get(before, math.inf) <= limit}
            for step, seconds in steps(form, n, short.__contains__ if before else lambda step: True):
                times = found.setdefault((form, step), {})
                times[n] = times.get(n, 0.0) + seconds
            before = n
    return [Growth(*key, times) for key, times in found.items() if len(times) > 1]


def rows(forms: Sequence[str] = tuple(FORMS), sizes: Sequence[int] = SHORT) -> Iterator[Row]:
    """A row per form: the step that grows fastest, as the limit of the exponent over its exponent."""
    growths = measured(forms, sizes)
    for form in forms:
        own = [(g.exponent, g.step) for g in growths if g.form == form and g.exponent is not None]
        if own:
            exponent, step = max(own)
            note = f"n^{exponent:.2f}: {step}, {sizes[-2]:,} to {sizes[-1]:,}"
            yield Row(f"scaling of {form}", "limit / exponent of the worst step", LIMIT / exponent, 1.0, note)


def report(growths: Sequence[Growth]) -> str:
    """A line per form and step: seconds by size, and the exponent."""
    lines = []
    for growth in growths:
        sizes = sorted({n for other in growths for n in other.seconds})
        times = " ".join(f"{growth.seconds[n]:9.3f}" if n in growth.seconds else f"{'':9}" for n in sizes)
        shown = "  -  " if growth.exponent is None else f"{growth.exponent:5.2f}"
        lines.append(f"{growth.form:10} {growth.step:32} {times} {shown}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--form", action="append", choices=tuple(FORMS), help="only this one (may be repeated)")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), metavar="N,N,...", help="numbers of bindings")
    parser.add_argument(
        "--patience",
        type=float,
        default=PATIENCE,
        metavar="SECONDS",
        help="how long a step may be expected to take to be measured (default: %(default)s)",
    )
    parser.add_argument("--plot", type=Path, metavar="PATH", help="where a figure goes, as SVG")
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.sizes.split(",")]
    growths = measured(options.form or tuple(FORMS), sizes, options.patience)
    print(report(growths))
    if options.plot:
        options.plot.write_text(scaling_chart.chart(growths), encoding="utf-8")
    worst = [g for g in growths if g.exponent is not None and g.exponent > LIMIT]
    for growth in worst:
        print(f"grows with n^{growth.exponent:.2f}: {growth.step} of {growth.form}", file=sys.stderr)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
