"""Functions that ``relax-run`` calls: of libraries, of bytecode, and of modules compiled for the call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm_ffi

from relax_mlir.arrays import to_ffi
from relax_mlir.error import ArgumentError, ParseError, UnknownNameError, UnsupportedError
from relax_mlir.export import inspect_library
from relax_mlir.export.compiled_code import CompiledCode
from relax_mlir.export.metadata import function_facts
from relax_mlir.frontend.load import read_module
from relax_mlir.profiler import profile_library
from relax_mlir.runtime import to_numpy
from relax_mlir.runtime.build import build
from relax_mlir.target import Target
from relax_mlir.thread_teams import limit_threads, teams
from relax_mlir.tools.tuned_option import tuned_schedules

if TYPE_CHECKING:
    from relax_mlir.profiler import Profile

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
        limit_threads(teams(), threads or 0)
        return function
    functions = facts["functions"]
    found = _chosen(name, functions, model)
    facts = functions[found]
    try:
        library = tvm_ffi.load_module(str(Path(model).resolve()))
    except RuntimeError as error:
        raise UnsupportedError(f"{model}: cannot be loaded: {error}") from None
    limit_threads(teams(), threads or 0)
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
