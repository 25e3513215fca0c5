"""The work of ``relax-run``: one call whose results are written or compared, or a series of timed calls."""

from __future__ import annotations

import gc
import math
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

from relax_mlir import terminal
from relax_mlir.error import ArgumentError, ParseError, UnknownNameError, UnsupportedError
from relax_mlir.module_text import writing_atomically
from relax_mlir.tools.output_file import require_folder
from relax_mlir.tools.run_inputs import (
    arguments,
    read_archive,
    read_arrays,
    read_values,
    symbols_of,
)
from relax_mlir.tools.run_model import RunnableFunction, arrays_of, load_function
from relax_mlir.tools.supervise import note
from relax_mlir.tools.tuned_option import load_strategies

Array = np.ndarray[Any, Any]

POINTS = 7
"""Number of sizes measured from the first to the last value of the symbols."""
MIN_SAMPLES = 5
SAMPLE_SECONDS = 1e-3


@dataclass(frozen=True)
class Timing:
    """The values of symbols, and seconds per call: the median, and the first and the last decile."""

    sizes: Mapping[str, int]
    median: float
    low: float
    high: float


def run_model(options: Namespace) -> int:
    """Run the command; 1 if results differ from those of ``--compare``, else 0.

    Raises RelaxError: an error in the command line, a file, or the call.
    """
    _check(options)
    note("the model was loaded")
    load_strategies(options.strategies)
    function = load_function(
        options.model,
        options.function,
        options.threads,
        options.profile is not None,
        options.tuned,
        trusted=options.trusted,
    )
    given = read_arrays(options.input, function.names)
    if options.symbols:
        return _sweep(options, function, given)
    values = read_values("--random", options.random) if options.random else None
    for name, (low, high) in (values or {}).items():
        if low != high:
            raise ArgumentError(f"--random: {name}={low}:{high} is no value; ranges are for --symbols")
    fixed = None if values is None else {name: low for name, (low, _) in values.items()}
    args = arguments(function, given, fixed, options.seed)
    note("the function was called")
    results = _call(function, args, options.profile)
    good = True
    if options.compare:
        good = _compare(results, read_archive(options.compare), options.rtol, options.atol)
    if options.output:
        _write(Path(options.output), results)
    if options.time is not None:
        _show([_measure(function, args, fixed or {}, options.time)])
    if not (options.output or options.compare or options.time is not None):
        for name, array in results.items():
            print(f"{name}: {array.dtype}{list(array.shape)}\n{array}")
    return 0 if good else 1


def _check(options: Namespace) -> None:
    if options.symbols and options.time is None:
        raise ArgumentError("--symbols is for --time SECONDS")
    if options.plot and not options.symbols:
        raise ArgumentError("--plot is for --time with --symbols n=1:4096")
    if options.symbols and (options.output or options.compare or options.profile or options.random):
        raise ArgumentError(
            "--symbols measures at several sizes: -o, --compare, --profile and --random are for one call"
        )
    if options.time is not None and not options.time > 0:
        raise ArgumentError(f"--time: {options.time:g}, expected a number of seconds above 0")
    if options.output and Path(options.output).suffix != ".npz":
        raise ArgumentError(f"-o: {options.output!r} does not end with .npz")
    for path in filter(None, (options.output, options.plot, options.profile)):
        require_folder(Path(path))


def _call(function: RunnableFunction, args: Sequence[object], trace: str | None) -> dict[str, Array]:
    """The results by name; parameters that the function writes, by parameter name."""
    if trace is None:
        return _results(function, args, function.call(*args))
    assert function.profile is not None
    with function.profile() as profile:
        result = function.call(*args)
    profile.save_trace(trace)
    return _results(function, args, result)


def _results(function: RunnableFunction, args: Sequence[object], result: object) -> dict[str, Array]:
    found = arrays_of(result)
    for number in function.written:
        name, leaves = function.names[number], list(arrays_of(args[number]).values())
        found |= {name if len(leaves) == 1 else f"{name}[{i}]": leaf for i, leaf in enumerate(leaves)}
    return found


def _write(path: Path, results: Mapping[str, Array]) -> None:
    try:
        with writing_atomically(path) as stream:
            np.savez(stream, **results)  # type: ignore[arg-type]  # NumPy's stub has no streams that only write
    except OSError as error:
        raise ParseError(f"cannot write output file {str(path)!r}: {error.strerror}") from None


def _compare(results: Mapping[str, Array], expected: Mapping[str, Array], rtol: float, atol: float) -> bool:
    """Print for each result if it is close to its reference, and the position of the worst element."""
    good = True
    for name, reference in expected.items():
        if name not in results:
            raise UnknownNameError("result", name, results)
        found = results[name]
        if found.shape != reference.shape:
            print(f"{name}: DIFFERENT: shape {list(found.shape)}, expected {list(reference.shape)}")
            good = False
            continue
        wide, exact = found.astype(np.float64), reference.astype(np.float64)
        with np.errstate(invalid="ignore"):
            error = np.where((wide == exact) | (np.isnan(wide) & np.isnan(exact)), 0.0, np.abs(wide - exact))
            excess = np.nan_to_num(error - (atol + rtol * np.abs(exact)), nan=np.inf)
        if not error.size:
            print(f"{name}: equal, without elements")
            continue
        worst = np.unravel_index(int(np.argmax(excess)), error.shape)
        close = bool(excess[worst] <= 0)
        good &= close
        place = ", ".join(str(int(i)) for i in worst)
        print(
            f"{name}: {'close' if close else 'DIFFERENT'}: the worst element [{place}] is {found[worst]}, expected "
            f"{reference[worst]} (error {error[worst]:.3g})"
        )
    return good


def _sweep(options: Namespace, function: RunnableFunction, given: Mapping[str, Array]) -> int:
    ranges = read_values("--symbols", options.symbols)
    known = symbols_of(function)
    for name in ranges:
        if name not in known:
            raise UnknownNameError("symbol", name, known)
    count = POINTS if any(low != high for low, high in ranges.values()) else 1
    steps = [
        {name: _between(low, high, i, count) for name, (low, high) in ranges.items()} for i in range(count)
    ]
    steps = [step for i, step in enumerate(steps) if step not in steps[:i]]
    timings = []
    for step in steps:
        args = arguments(function, given, step, options.seed)
        timings.append(_measure(function, args, step, options.time / len(steps)))
    _show(timings)
    if options.plot:
        _plot(timings, function.name, Path(options.plot))
    return 0


def _between(low: int, high: int, step: int, count: int) -> int:
    """The size at a step: sizes grow geometrically, from 1 if the lowest is 0."""
    if low == high or step == 0:
        return low
    first = max(1, low)
    return min(high, round(first * math.pow(high / first, step / (count - 1))))


def _measure(
    function: RunnableFunction, args: Sequence[object], sizes: Mapping[str, int], seconds: float
) -> Timing:
    note("the function was timed")
    function.call(*args)
    start = perf_counter()
    function.call(*args)
    loops = max(1, round(SAMPLE_SECONDS / max(perf_counter() - start, 1e-9)))
    samples: list[float] = []
    gc.collect()
    gc.disable()
    try:
        begun = perf_counter()
        while len(samples) < MIN_SAMPLES or perf_counter() - begun < seconds:
            start = perf_counter()
            for _ in range(loops):
                function.call(*args)
            samples.append((perf_counter() - start) / loops)
    finally:
        gc.enable()
    low, median, high = (float(np.quantile(samples, share)) for share in (0.1, 0.5, 0.9))
    return Timing(sizes, median, low, high)


def _show(timings: Sequence[Timing]) -> None:
    symbols = list(timings[0].sizes)
    table = terminal.report_table("", [], [*symbols, "median us", "10 %", "90 %", "calls/s"])
    for each in timings:
        times = [f"{1e6 * value:.2f}" for value in (each.median, each.low, each.high)]
        table.add_row(*(str(each.sizes[name]) for name in symbols), *times, f"{1 / each.median:,.0f}")
    terminal.print_table(table, Console(width=terminal.width()))


def _plot(timings: Sequence[Timing], title: str, path: Path) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise UnsupportedError("--plot needs matplotlib: pip install 'relax-mlir[plot]'") from None
    symbol = max(timings[0].sizes, key=lambda name: timings[-1].sizes[name])
    sizes = [each.sizes[symbol] for each in timings]
    figure, axes = pyplot.subplots(figsize=(6, 4))
    low, high = ([1e6 * getattr(each, end) for each in timings] for end in ("low", "high"))
    axes.fill_between(sizes, low, high, alpha=0.25, linewidth=0)
    axes.plot(sizes, [1e6 * each.median for each in timings], marker="o")
    axes.set(xscale="symlog", yscale="log", xlabel=symbol, ylabel="microseconds per call", title=title)
    axes.grid(visible=True, which="both", alpha=0.25)
    figure.tight_layout()
    figure.savefig(path)
    print(f"plot: {path}", file=sys.stderr)
