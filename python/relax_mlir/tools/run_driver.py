"""The work of ``relax-run``: one call whose results are written or compared, or a series of timed calls."""

from __future__ import annotations

import ast
import gc
import math
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm_ffi
from rich.console import Console

from relax_mlir import symbolic, terminal
from relax_mlir.dialects import dtypes
from relax_mlir.error import (
    ArgumentError,
    OutOfMemoryError,
    ParseError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
)
from relax_mlir.export import inspect_library
from relax_mlir.export.compiled_code import CompiledCode
from relax_mlir.export.metadata import function_facts
from relax_mlir.ffi import limit_threads, thread_pools, to_ffi
from relax_mlir.files import load_arrays
from relax_mlir.frontend.load import read_module
from relax_mlir.module_file import writing_atomically
from relax_mlir.profiler import profile_library
from relax_mlir.runtime import to_numpy
from relax_mlir.runtime.build import build
from relax_mlir.target import Target
from relax_mlir.tools.command_line import load_strategies, require_folder, tuned_schedules
from relax_mlir.tools.supervise import note

if TYPE_CHECKING:
    from relax_mlir.profiler import Profile


# Functions that ``relax-run`` calls: of libraries, of bytecode, and of modules compiled for the call.

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class RunnableFunction:
    """A function, the known properties of its parameters, and a callable for arrays and other values of the FFI.

    `params`: name, kind and type of each parameter, in the form of `relax_mlir.export.metadata`; None: only `names` are
    known. `bounds`: lowest and highest values of symbols. `written`: the indices of the parameters that the function
    writes, as a prim func does.
    """

    name: str
    call: Callable[..., Any]
    names: Sequence[str]
    params: Sequence[Mapping[str, Any]] | None = None
    bounds: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    profile: Callable[[], AbstractContextManager[Profile]] | None = None
    written: Sequence[int] = ()


def load_function(
    model: str,
    name: str | None,
    threads: int | None,
    profiled: bool,
    tuned: str | None = None,
    *,
    trusted: bool = False,
) -> RunnableFunction:
    """Load a function of a file.

    Args:
        model: a path, see `relax_mlir.tools.run_command`.
        name: the function; None: the only one.
        threads: the number of threads that a module is compiled for, or that limits a library.
        profiled: true: the function produces profiling records; a library must be compiled with them.
        tuned: the file of ``relax-tune`` with the knob values for a module's schedules.
        trusted: as for `relax_mlir.load`.

    Raises RelaxError: an error in the file, or in the name.
    """
    ending = Path(model).suffix
    if tuned is not None and ending in (".vmexec", ".so"):
        raise ArgumentError(f"--tuned is for modules that are compiled now; {model} is compiled already")
    if ending == ".vmexec" and (threads is not None or profiled):
        option = "--threads" if threads is not None else "--profile"
        raise ArgumentError(f"{option} is for modules and libraries; {model} is bytecode")
    if not Path(model.partition(".py:")[0]).exists() and ".py:" not in model:
        raise ParseError(f"cannot open input file {model!r}: there is no such file")
    if ending == ".so":
        return _of_library(model, name, threads, profiled)
    if ending == ".vmexec":
        return _of_bytecode(model, name, trusted)
    target = Target() if threads is None else Target(num_threads=threads)
    module = read_module(model, trusted=trusted)
    with tuned_schedules("relax-run", tuned, target):
        executable = build(module, target, profile=profiled)
    found = _chosen(name, executable.functions, model)
    facts = function_facts([CompiledCode.of(executable)], found)
    return RunnableFunction(
        found,
        executable[found],
        [value.get("name", str(i)) for i, value in enumerate(facts["params"])],
        facts["params"],
        facts["bounds"],
        executable.profile if profiled else None,
        facts["written"],
    )


def _of_library(model: str, name: str | None, threads: int | None, profiled: bool) -> RunnableFunction:
    facts = inspect_library(model).facts
    most = min(Target.parse(text).num_threads for text in facts["targets"])
    if threads is not None and not 1 <= threads <= most:
        raise ArgumentError(
            f"--threads is {threads}, and {model} is compiled for 1 to {most}: give one of them, or compile it with "
            f"--target 'cpu -num-threads={max(1, threads)}'"
        )
    if profiled and not facts["profile"]:
        raise ArgumentError(f"{model} writes no records: compile it with relax-compile --profile")
    if facts["bytecode"] is not None:
        function = _of_bytecode(model, name)
        limit_threads(thread_pools(), threads or 0)
        return function
    functions = facts["functions"]
    found = _chosen(name, functions, model)
    facts = functions[found]
    try:
        library = tvm_ffi.load_module(str(Path(model).resolve()))
    except RuntimeError as error:
        raise UnsupportedError(f"{model}: cannot be loaded: {error}") from None
    limit_threads(thread_pools(), threads or 0)
    native = library.get_function(found)
    names = [value.get("name", str(i)) for i, value in enumerate(facts["params"])]
    return RunnableFunction(
        found,
        lambda *args: native(*map(to_ffi, args)),
        names,
        facts["params"],
        facts["bounds"],
        (lambda: profile_library(model)) if profiled else None,
        written=facts.get("written", ()),
    )


def _of_bytecode(model: str, name: str | None, trusted: bool = False) -> RunnableFunction:
    from relax_mlir.vm import Executable, VirtualMachine

    executable = Executable.load(model, trusted=trusted)
    infos = {info.name: info for info in executable.functions if info.kind == "vm"}
    found = _chosen(name, infos, model)
    info = infos[found]
    names = info.param_names or tuple(str(i) for i in range(info.num_args))
    function = VirtualMachine(executable)[found]
    written = [place.path[0] for place in function.written]
    return RunnableFunction(found, function, names, written=written)


def _chosen(name: str | None, names: Mapping[str, object], model: str) -> str:
    if name is not None:
        if name not in names:
            raise UnknownNameError(f"function of {model}", name, names)
        return name
    if len(names) != 1:
        raise ArgumentError(f"{model}: has {len(names)} functions; say which: {', '.join(names)}")
    return next(iter(names))


def arrays_of(result: object) -> dict[str, Array]:
    """The arrays of a result by name: ``result``, or ``result0``, ``result1``, … of a tuple, also within tuples."""
    leaves: list[Array] = []

    def collect(value: object) -> None:
        if isinstance(value, tvm_ffi.Shape):  # a Shape is a tuple, too
            leaves.append(np.array([*value], np.int64))
        elif isinstance(value, tvm_ffi.Array | tuple | list):
            for each in value:
                collect(each)
        elif value is not None:
            leaves.append(np.asarray(value) if isinstance(value, int | float) else to_numpy(value))

    collect(result)
    if len(leaves) == 1:
        return {"result": leaves[0]}
    return {f"result{i}": leaf for i, leaf in enumerate(leaves)}


# The arguments of a call by ``relax-run``: arrays from files, and random ones that fit the function's parameters.

_DEFAULT_DTYPE = "float32"
LARGEST = 1 << 63


def read_arrays(texts: Sequence[str], names: Sequence[str]) -> dict[str, Array]:
    """The arrays that ``--input`` names, by parameter.

    Raises ParseError: a file that cannot be read; UnknownNameError: no such parameter; ArgumentError: a repeated name,
    or an array (.npy) without a name if there are several parameters.
    """
    found: dict[str, Array] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals:
            name, path = "", text
        loaded = _load(path)
        if isinstance(loaded, np.ndarray):
            if not name and len(names) != 1:
                raise ArgumentError(
                    f"--input: say for which parameter {path} is, as {names[0] if names else 'x'}={path}"
                )
            loaded = {name or names[0]: loaded}
        elif name:
            raise ArgumentError(f"--input: {path} has arrays with names of their own: give it without {name!r}")
        for key, array in loaded.items():
            if key not in names:
                raise UnknownNameError("parameter", key, names)
            if key in found:
                raise ArgumentError(f"--input: parameter {key!r} is given twice")
            found[key] = array
    return found


def read_archive(path: str) -> dict[str, Array]:
    """The arrays of an .npz file; raises ParseError."""
    loaded = _load(path)
    if isinstance(loaded, np.ndarray):
        raise ParseError(f"{path}: one array, expected a file of arrays with names (.npz)")
    return loaded


def _load(path: str) -> Array | dict[str, Array]:
    try:
        loaded = load_arrays(path)
        return loaded if isinstance(loaded, np.ndarray) else dict(loaded)
    except OSError as error:
        raise ParseError(f"cannot open {path!r}: {error.strerror or error}") from None
    except (ValueError, EOFError) as error:
        raise ParseError(f"{path}: neither an array (.npy) nor a file of arrays (.npz): {error}") from None


def read_values(option: str, texts: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The ranges in ``n=7,m=1:64``, by symbol; raises ParseError."""
    found: dict[str, tuple[int, int]] = {}
    for item in ",".join(texts).split(","):
        if not item:
            continue
        name, _, value = item.partition("=")
        first, _, last = value.partition(":")
        if not name.isidentifier() or not first.isdecimal() or not (last or first).isdecimal():
            raise ParseError(f"{option}: {item!r}, expected n=7 or n=1:64")
        low, high = int(first), int(last or first)
        if low > high:
            raise ParseError(f"{option}: {item!r}: the first value is larger than the last")
        found[name] = low, high
    return found


def symbols_of(function: RunnableFunction) -> list[str]:
    """The symbols in the types of the parameters, in order of their first use."""
    found: dict[str, None] = {}
    for leaf in _leaves(function):
        for dim in leaf.dims:
            found.update(dict.fromkeys(symbolic.symbols(symbolic.parse(dim))))
    return list(found)


@dataclass(frozen=True)
class _Leaf:
    """A parameter, or a field of a tuple parameter: its kind, its dimensions as text, its dtype."""

    name: str
    kind: str
    dims: tuple[str, ...]
    dtype: str
    fields: tuple[_Leaf, ...] = ()


def _leaves(function: RunnableFunction) -> list[_Leaf]:
    if function.params is None:
        raise UnsupportedError(
            f"{function.name}: bytecode does not say what its parameters are: give each array with --input"
        )
    return [_leaf(facts) for facts in function.params]


def _leaf(facts: Mapping[str, Any]) -> _Leaf:
    """Parse the text of a type: ``Tensor((n, 2 * m), "float32")``, ``Shape((n,))``."""
    name, kind = str(facts.get("name", "_")), str(facts["kind"])
    fields = tuple(_leaf(each) for each in facts.get("fields", ()))
    dims: tuple[str, ...] = ()
    dtype = _DEFAULT_DTYPE
    if kind in ("tensor", "shape"):
        call = _expression(str(facts.get("type", "None")))
        if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Tuple):
            raise UnsupportedError(f"parameter {name!r} is {facts.get('type')}: give its value with --input")
        dims = tuple(ast.unparse(dim) for dim in call.args[0].elts)
        if kind == "tensor" and len(call.args) > 1:
            dtype = str(ast.literal_eval(call.args[1]))
    return _Leaf(name, kind, dims, dtype, fields)


def _expression(text: str) -> ast.expr | None:
    """The parsed text of a type; None if it is not fully known, as ``Tensor(?, "float32")``."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def arguments(
    function: RunnableFunction, given: Mapping[str, Array], values: Mapping[str, int] | None, seed: int
) -> list[object]:
    """The arguments of a call: the given arrays, and random ones for these values of symbols.

    Raises:
        ArgumentError: an argument is missing and `values` is None, or a symbol has no value.
        ShapeError: a value is outside of the symbol's bounds.
        UnsupportedError: a parameter of a kind that cannot be generated.
    """
    missing = [name for name in function.names if name not in given]
    if missing and values is None:
        raise ArgumentError(
            f"{function.name}: no value for {', '.join(missing)}: give --input {missing[0]}=FILE.npy, or --random"
        )
    if not missing:
        return [given[name] for name in function.names]
    rng = np.random.default_rng(seed)
    leaves = _leaves(function)
    sizes = {**_sizes_given(leaves, given), **(values or {})}
    _check_bounds(function, sizes)
    return [given[leaf.name] if leaf.name in given else _random(leaf, sizes, rng) for leaf in leaves]


def _sizes_given(leaves: Sequence[_Leaf], given: Mapping[str, Array]) -> dict[str, int]:
    """The symbols determined by the given arrays: those that are a dimension by themselves."""
    found: dict[str, int] = {}
    for leaf in leaves:
        if leaf.kind == "tensor" and leaf.name in given:
            for dim, size in zip(leaf.dims, given[leaf.name].shape, strict=False):
                if dim.isidentifier():
                    found.setdefault(dim, size)
    return found


def _check_bounds(function: RunnableFunction, sizes: Mapping[str, int]) -> None:
    for name, (low, high) in function.bounds.items():
        value = sizes.get(name)
        if value is not None and (value < (low or 0) or (high is not None and value > high)):
            last = "" if high is None else f" to {high}"
            raise ShapeError(f"{function.name}: {name} = {value} is outside of its bounds, from {low}{last}")


def _random(leaf: _Leaf, sizes: Mapping[str, int], rng: np.random.Generator) -> object:
    if leaf.fields:
        return tuple(_random(each, sizes, rng) for each in leaf.fields)
    if leaf.kind == "int":
        return _size(leaf.name, leaf, sizes)
    shape = tuple(_size(dim, leaf, sizes) for dim in leaf.dims)
    if leaf.kind == "shape":
        return tvm_ffi.Shape(shape)
    if leaf.kind != "tensor":
        raise UnsupportedError(f"parameter {leaf.name!r} is of kind {leaf.kind}: no value can be made for it")
    dtype = dtypes.dtype(leaf.dtype).numpy
    if any(size < 0 for size in shape):
        raise ShapeError(f"parameter {leaf.name!r}: the shape {shape} has a negative dimension")
    elements = math.prod(shape)
    try:
        if leaf.dtype == "bool" or leaf.dtype.startswith(("int", "uint")):
            return rng.integers(0, 2, shape).astype(dtype)
        return rng.standard_normal(shape, np.float32).astype(dtype)
    except (MemoryError, ValueError) as error:  # NumPy: "array is too big", "maximum supported dimension"
        raise OutOfMemoryError(
            f"parameter {leaf.name!r}: no memory for {elements} elements of {leaf.dtype}, the shape {shape}: {error}"
        ) from None


def _size(dim: str, leaf: _Leaf, sizes: Mapping[str, int]) -> int:
    formula = symbolic.parse(dim)
    unknown = [name for name in symbolic.symbols(formula) if name not in sizes]
    if unknown:
        raise ArgumentError(
            f"parameter {leaf.name!r}: symbol {unknown[0]!r} has no value: give --random {unknown[0]}=7"
        )
    value = symbolic.evaluate(formula, sizes)
    if not -LARGEST <= value < LARGEST:
        raise ShapeError(f"parameter {leaf.name!r}: {dim} is {value}, which is no number of 64 bits")
    return value


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
    steps = [{name: _between(low, high, i, count) for name, (low, high) in ranges.items()} for i in range(count)]
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


def _measure(function: RunnableFunction, args: Sequence[object], sizes: Mapping[str, int], seconds: float) -> Timing:
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
