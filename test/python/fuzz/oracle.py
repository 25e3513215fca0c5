"""Run one mutant: read, verify, run passes, build, call, compare with the interpreter."""

from __future__ import annotations

import os
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import paths  # noqa: F401 - the next imports need it
import relax_interpreter
import relax_mlir as rx
import tvm_ffi
from call_arguments import Call, calls_of
from checking import register
from difference import Expected, Noise, TooLargeError, _expected, difference
from draws import backwards, columns, draw, frozen, strided, unaligned
from mutants import Mutant, parsed
from op_semantics import Sizes
from reference import is_float
from relax_interpreter import EndlessError, FailsError, UnknownMeaningError
from relax_mlir.dialects.attributes import DONATED, PARAM_NAME
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, struct_info
from relax_mlir.error import (
    ArgumentError,
    CheckError,
    DTypeError,
    ParseError,
    PassError,
    RelaxError,
    ShapeError,
)
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir
from relax_mlir.runtime import to_numpy
from relax_mlir.transform import parse_pipeline

Say = Callable[[str], None]
NOISES = ((0, 1, 0.0), (0, -1, -0.0), (1, 1, None), (1, -1, None), (2, 1, None))
SECOND_ATTEMPT = "second attempt"


class InternalError(Exception):
    """An error that no input may cause, with its description."""


def register_functions() -> None:
    """The packed functions that mutants call."""
    register()
    for name in ("both", "copy", "increment", "negate"):
        _let_fail(f"differential.{name}")

    def fail(*_: Any) -> Any:
        raise ValueError("fuzz.fail")

    def sleep(*_: Any) -> None:
        time.sleep(10**6)

    def raw(*_: Any) -> Any:
        raise KeyError("fuzz.raw")

    tvm_ffi.register_global_func("fuzz.raw", raw, override=True)
    tvm_ffi.register_global_func("fuzz.fail", fail, override=True)
    tvm_ffi.register_global_func("fuzz.abort", lambda *_: os.abort(), override=True)
    tvm_ffi.register_global_func("fuzz.sleep", sleep, override=True)
    tvm_ffi.register_global_func("fuzz.nothing", lambda *_: None, override=True)


def _let_fail(name: str) -> None:
    """A mutant may call a function with any arguments: its errors belong to the function, like those of `fuzz.fail`."""
    function = tvm_ffi.get_global_func(name)

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            raise ValueError(f"fuzz.fail: {name}: {error}") from None

    tvm_ffi.register_global_func(name, call, override=True)


def run(mutant: Mutant, say: Say, compile_only: bool = False) -> dict[str, Any]:
    """The outcome: ``reached`` (the stages), ``refused`` (the kind of the error), ``failure`` or nothing.

    `compile_only`: no machine code, and no calls.
    """
    report: dict[str, Any] = {"reached": [], "refused": "", "failure": "", "compared": 0, "skipped": ""}
    try:
        _run(mutant, say, report, compile_only)
    except InternalError as error:
        report["failure"] = f"internal: {error}"
    except RelaxError as error:
        report["refused"] = type(error).__name__
        report["message"] = str(error)[:2000]
        report["failure"] = _wrong_error(error)
    except MemoryError:
        report["refused"] = "MemoryError"
    except Exception as error:
        lines = traceback.format_exc().splitlines()
        report["failure"] = f"internal: {type(error).__name__}: {' | '.join(lines[-7:])}"[:3000]
    return report


def _wrong_error(error: RelaxError) -> str:
    text = str(error)
    if "internal error" in text or (isinstance(error, PassError) and "MLIR gave no reason" in text):
        return f"internal: {text[:2000]}"
    return ""


def _run(mutant: Mutant, say: Say, report: dict[str, Any], compile_only: bool) -> None:
    reached = report["reached"]
    say("parse")
    try:
        module = parsed(mutant)
    except ir.MLIRError as error:
        raise ParseError(str(error)) from None
    reached.append("parsed")
    say("verify")
    module.verify()
    reached.append("verified")
    say("print")
    str(module), module.script()
    work = module
    if mutant.passes:
        say("passes " + ",".join(mutant.passes))
        work = module.clone()
        work.apply_(parse_pipeline(",".join(mutant.passes)))
        work.verify()
    if compile_only:
        say("lower")
        work.apply_(parse_pipeline("relax-to-flat"))
        reached.append("built")
        return
    say("build")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        executable = rx.build(work, opt_level=mutant.opt_level, cache=False)
    doubtful = [str(w.message) for w in caught if SECOND_ATTEMPT in str(w.message)]
    if doubtful:
        raise InternalError(doubtful[0])
    reached.append("built")
    for call in _calls(module, executable, mutant.call_seed):
        _check(module, executable, call, say, report)


def _calls(module: IRModule, executable: Any, seed: int) -> list[Call]:
    rng = Random(seed)
    found: list[Call] = []
    with module.context:
        for function in module.functions():
            name = function.name.value
            if name in executable.functions:
                infos = [struct_info(type_) for type_ in function.type.inputs]
                found += calls_of(name, infos, rng)
    return found[:10]


def arguments_of(call: Call) -> list[Any]:
    """The arguments of a call, from their expressions."""
    made: list[Any] = []

    def same(index: int) -> Any:
        return made[index] if index < len(made) else None

    tools = {f.__name__: f for f in (draw, frozen, unaligned, strided, backwards, columns, same)}
    for text in call.arguments:
        try:
            made.append(eval(text, {**tools, "np": np, "tvm_ffi": tvm_ffi}))
        except Exception:  # what NumPy or the FFI refuse to make is no argument
            made.append(None)
    return made


def _check(module: IRModule, executable: Any, call: Call, say: Say, report: dict[str, Any]) -> None:
    arguments = arguments_of(call)
    expected: list[Expected] | str | None = None
    say("interpret")
    if not call.hostile:
        try:
            expected = _interpreted(module, call, arguments)
        except EndlessError:
            report["skipped"] = "endless"
            return
        except TooLargeError:
            report["skipped"] = "too large"
            return
        except UnknownMeaningError as error:
            report["skipped"] = f"not compared: {str(error)[:80]}"
        except FailsError as error:
            expected = str(error)
    elif report["skipped"] in ("endless", "too large"):
        return
    acts = any(op.name.startswith("relax.call_packed") for op in ops_of(module.mlir.operation))
    places = _donated(module, call)
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    say(f"call {call.function}({', '.join(call.arguments)})"[:3000])
    try:
        result = executable[call.function](*arguments)
    except (RelaxError, MemoryError) as error:
        _note(report, "executed")
        if _wrong_error(error) if isinstance(error, RelaxError) else "":
            raise
        unfit = isinstance(error, ArgumentError) and not _fit(_written(places, arguments))
        if isinstance(expected, list) and not unfit and not _may_raise(error, module, call, arguments):
            raise InternalError(f"difference: {_text(call)}: raised {type(error).__name__}: {error}") from None
        return
    except ValueError as error:
        if "fuzz.fail" in str(error):
            _note(report, "executed")
            return
        raise InternalError(f"{_text(call)}: ValueError: {error}") from error
    except Exception as error:
        raise InternalError(f"{_text(call)}: {type(error).__name__}: {error}") from error
    _note(report, "executed")
    if not acts and not (call.hostile and len(arguments) > executable.functions[call.function]):
        _check_unchanged(call, before, arguments, places)
    if isinstance(expected, str):
        raise InternalError(f"difference: {_text(call)}: returned, the interpreter says: {expected}")
    if expected is not None:
        _compare(call, _results(result, places, arguments), expected)
        report["compared"] += 1


def _may_raise(error: Exception, module: IRModule, call: Call, arguments: Sequence[Any]) -> bool:
    """True if native code may raise although the interpreter, which computes only needed values, has a result."""
    if isinstance(error, MemoryError):
        return True
    with module.context:
        infos = [struct_info(type_) for type_ in module[call.function].type.inputs]
        if isinstance(error, DTypeError):  # the interpreter knows no dtype but the static ones
            return any(dtype is None for info in infos for dtype in _dtypes(info))
        if not isinstance(error, CheckError | ShapeError):
            return False
        values = [_value(a, info) for a, info in zip(arguments, infos, strict=True)]
        return relax_interpreter.fails_unused(module.mlir, call.function, values)


def _note(report: dict[str, Any], stage: str) -> None:
    if stage not in report["reached"]:
        report["reached"].append(stage)


def _text(call: Call) -> str:
    return f"{call.function}({', '.join(call.arguments)})"[:600]


def _interpreted(module: IRModule, call: Call, arguments: Sequence[Any]) -> list[Expected]:
    with module.context:
        function = module[call.function]
        infos = [struct_info(type_) for type_ in function.type.inputs]
        values = [_value(a, info) for a, info in zip(arguments, infos, strict=True)]
        dtypes = _dtypes(struct_info(function.type.results[0]))
        sources = [None, *(Noise(np.random.default_rng(seed), sign, zero) for seed, sign, zero in NOISES)]
        first = relax_interpreter.run(module.mlir, call.function, values, None)
        if len(first) != len(dtypes) or None in dtypes:
            raise UnknownMeaningError("results that are no tensors")
        runs = [first]
        for noise in sources[1:]:
            try:
                runs.append(relax_interpreter.run(module.mlir, call.function, values, noise))
            except FailsError:
                raise UnknownMeaningError("fails for some rounding errors") from None
        with np.errstate(all="ignore"):
            return [_expected([run[i] for run in runs], dtype or "") for i, dtype in enumerate(dtypes)]


def _dtypes(info: StructInfo) -> list[str | None]:
    if isinstance(info, Tuple):
        return [dtype for item in info.fields for dtype in _dtypes(item)]
    return [info.dtype.name if isinstance(info, Tensor) and info.dtype is not None else None]


def _value(argument: Any, info: StructInfo) -> Any:
    if isinstance(info, Tuple):
        return tuple(_value(a, i) for a, i in zip(argument, info.fields, strict=True))
    if isinstance(argument, tvm_ffi.Shape):
        return Sizes(int(size) for size in argument)
    if isinstance(argument, np.ndarray):
        return argument.astype(np.float64) if is_float(str(argument.dtype)) else argument
    if isinstance(argument, int):
        return argument
    raise UnknownMeaningError(f"argument {argument!r}")


def _donated(module: IRModule, call: Call) -> list[int | None]:
    """For each result, the index of the argument whose memory it takes, if any."""
    with module.context:
        function = module[call.function]
        if DONATED not in function.attributes:
            return []
        names = [attributes[PARAM_NAME].value for attributes in function.arg_attrs]
        return [names.index(name.value) if name.value else None for name in function.attributes[DONATED]]


def _written(places: Sequence[int | None], arguments: Sequence[Any]) -> list[Any]:
    """The arguments that are results; a hostile call may lack some."""
    return [arguments[place] for place in places if place is not None and place < len(arguments)]


def _fit(donated: Sequence[Any]) -> bool:
    """True if arguments can hold results."""
    arrays = [a for a in donated if isinstance(a, np.ndarray)]
    return all(a.flags.c_contiguous and a.flags.writeable and a.flags.aligned for a in arrays) and not any(
        np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i]
    )


def _results(result: Any, places: Sequence[int | None], arguments: Sequence[Any]) -> list[Any]:
    """All results of a call: the returned ones, and those in the memory of arguments."""
    if not places:
        return _arrays(result)
    returned = iter([] if result is None else _arrays(result))
    found = [next(returned) if place is None else arguments[place] for place in places]
    return [*found, *returned]


def _arrays(result: Any) -> list[Any]:
    if isinstance(result, tvm_ffi.Array | tuple | list):
        return [array for item in result for array in _arrays(item)]
    return [to_numpy(result)]


def _compare(call: Call, found: Sequence[Any], expected: Sequence[Expected]) -> None:
    if len(found) != len(expected):
        raise InternalError(f"difference: {_text(call)}: {len(found)} results, expected {len(expected)}")
    for index, (have, want) in enumerate(zip(found, expected, strict=True)):
        message = difference(have, want)
        if message is not None:
            raise InternalError(f"difference: {_text(call)}: result {index}: {message}")


def _check_unchanged(call: Call, before: Sequence[Any], after: Sequence[Any], places: Sequence[int | None]) -> None:
    written = _written(places, after)
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        if any(new is array for array in written):
            continue
        if isinstance(old, np.ndarray) and old.dtype != object and old.tobytes() != new.tobytes():
            raise InternalError(f"difference: {_text(call)}: argument {index} has changed")
