"""`map_batches`: apply a function of an exported library to many batches, in the processes of an engine."""

from __future__ import annotations

import hashlib
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, NamedTuple

import numpy as np
import tvm_ffi

from relax_mlir import error as errors
from relax_mlir import terminal
from relax_mlir.distributed.engines import Engine, engine_for
from relax_mlir.distributed.worker import Failed, LibraryFile, Sizes
from relax_mlir.error import ArgumentError, BatchError, RelaxError, UnknownNameError, expect
from relax_mlir.ffi import to_numpy
from relax_mlir.target import MAX_THREADS

# Arrays and record batches of Arrow as NumPy arrays over the same memory.
#
# Nothing is copied: arrays with another memory layout (missing values, bits, several chunks) are an error.


def _pyarrow() -> ModuleType | None:
    """The module pyarrow if it has been imported; without it no Arrow value can exist."""
    return sys.modules.get("pyarrow")


def is_record_batch(value: object) -> bool:
    """True if the value is a record batch or table of Arrow."""
    pyarrow = _pyarrow()
    return pyarrow is not None and isinstance(value, pyarrow.RecordBatch | pyarrow.Table)


def is_arrow_array(value: object) -> bool:
    """True if the value is an Arrow array, in one or several chunks."""
    pyarrow = _pyarrow()
    return pyarrow is not None and isinstance(value, pyarrow.Array | pyarrow.ChunkedArray)


def columns_of(batch: Any) -> dict[str, Any]:  # noqa: ANN401 - a class of Arrow, which is optional
    """The columns of a record batch or table by name."""
    if len(set(batch.schema.names)) < len(batch.schema.names):
        raise ArgumentError(f"two columns of the batch have one name: {', '.join(batch.schema.names)}")
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def arrow_to_numpy(array: Any, where: str) -> np.ndarray[Any, Any]:  # noqa: ANN401 - a class of Arrow
    """An array of numbers; fixed-size lists and fixed-shape tensors of numbers add dimensions.

    Raises ArgumentError, which cites `where`, if a copy would be needed.
    """
    pyarrow = _pyarrow()
    assert pyarrow is not None
    if isinstance(array, pyarrow.ChunkedArray):
        if array.num_chunks != 1:
            raise ArgumentError(f"{where} has {array.num_chunks} chunks; call combine_chunks() first")
        array = array.chunk(0)
    if array.null_count:
        raise ArgumentError(f"{where} has {array.null_count} missing values; call fill_null() first")
    if isinstance(array, pyarrow.FixedShapeTensorArray):
        return np.asarray(array.to_numpy_ndarray())
    if pyarrow.types.is_fixed_size_list(array.type):
        return arrow_to_numpy(array.flatten(), where).reshape(len(array), array.type.list_size, *_inner(array.type))
    try:
        return np.asarray(array.to_numpy(zero_copy_only=True))
    except pyarrow.ArrowInvalid as error:
        raise ArgumentError(f"{where} is a {array.type} of Arrow: {error}; give a NumPy array") from None


def _inner(type_: Any) -> tuple[int, ...]:  # noqa: ANN401 - a class of Arrow
    """The lengths of the fixed-size lists nested in a fixed-size list."""
    pyarrow = _pyarrow()
    assert pyarrow is not None
    inner = type_.value_type
    return (inner.list_size, *_inner(inner)) if pyarrow.types.is_fixed_size_list(inner) else ()


# Convert batches to arguments that can be sent: arrays (of Arrow without a copy), shapes, numbers, and tuples.


def arguments_of(batch: object, parameters: Sequence[str]) -> tuple[Any, ...]:
    """The arguments of a batch, in the form in which they are sent.

    Args:
        batch: a tuple of arguments; a mapping or an Arrow record batch, which give them by name; or else the only
            argument.
        parameters: the names of the function's parameters.

    Raises ArgumentError: an argument is missing, there is one too many, or a value cannot be sent.
    """
    if is_record_batch(batch):
        batch = columns_of(batch)
    if isinstance(batch, Mapping):
        if set(batch) != set(parameters):
            names = ", ".join(map(str, batch)) or "nothing"
            raise ArgumentError(f"the batch has {names}, but the function takes {', '.join(parameters)}")
        batch = tuple(batch[name] for name in parameters)
    elif type(batch) is not tuple:
        batch = (batch,)
    if len(batch) != len(parameters):
        counts = "1 argument" if len(batch) == 1 else f"{len(batch)} arguments"
        raise ArgumentError(
            f"the batch has {counts}, but the function takes {len(parameters)} ({', '.join(parameters)})"
        )
    return tuple(_traveller(value, f"argument '{name}'") for name, value in zip(parameters, batch, strict=True))


def _traveller(value: Any, where: str) -> Any:  # noqa: ANN401 - any value of a user
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise ArgumentError(f"{where} is an array of Python objects, expected one of numbers")
        return value
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tvm_ffi.Shape):
        return Sizes(tuple(map(int, value)))
    if isinstance(value, tuple | list | tvm_ffi.Array):
        return tuple(_traveller(item, f"{where}, element {index}") for index, item in enumerate(value))
    if is_arrow_array(value):
        return arrow_to_numpy(value, where)
    if hasattr(value, "__dlpack__"):
        try:
            return to_numpy(value)
        except (BufferError, RuntimeError, TypeError) as error:
            raise ArgumentError(f"{where} cannot be read through DLPack: {error}") from error
    raise ArgumentError(
        f"{where} is of type {type(value).__name__}, expected an array, a shape, a number, or a tuple of them"
    )


def received(value: Any) -> Any:  # noqa: ANN401 - any result
    """A result as users get it: shapes become shapes of the FFI."""
    if isinstance(value, Sizes):
        return tvm_ffi.Shape(value.values)
    if isinstance(value, tuple):
        return tuple(map(received, value))
    return value


IN_FLIGHT_PER_WORKER = 2
"""Batches in flight per worker: one that runs, and one that waits for it."""


def map_batches(
    library: str | Path,
    inputs: Iterable[object],
    engine: object,
    *,
    function: str = "main",
    threads: int | None = 1,
    retries: int | None = None,
    in_flight: int | None = None,
    progress: bool | None = None,
) -> Iterator[Any]:
    """Call a function of a library for each batch, on the workers of an engine.

    Results come in the order of the batches, each as soon as it and all earlier ones are available. Nothing is sent
    before the first result is requested. To stop early, close the iterator (``results.close()``), which cancels the
    calls that have not begun.

    Args:
        library: a shared library of `Executable.export_library`. Each worker opens it under this path, once.
        inputs: the batches, possibly an endless stream. A batch is a tuple of arguments, a mapping or an Arrow record
            batch from the names of parameters to arguments, or the only argument. Arguments are arrays (NumPy, Arrow,
            anything that supports DLPack), shapes, numbers, and tuples of them.
        engine: a ``concurrent.futures.ProcessPoolExecutor``, a ``dask.distributed.Client``, or the module ``ray``.
        function: its name in the library.
        threads: the maximum number of threads of a call in its worker; None: as many as the library is compiled for.
        retries: how often the engine re-runs a batch whose worker failed: Dask's ``retries``, Ray's ``max_retries``;
            None: the default of the engine. Errors of the model are not retried.
        in_flight: the maximum number of batches submitted to the engine, including the one whose result is being read;
            None: two per worker.
        progress: true: show a progress bar on stderr; None: if stderr is a terminal.

    Returns:
        An iterator of results: NumPy arrays, shapes, numbers, and tuples of them.

    Raises:
        ArgumentError: an argument is invalid, or the engine does not support it.
        ParseError: the library cannot be read, or is not a library of this project.
        UnknownNameError: the library has no such function.

    The iterator raises the error of the model (for instance a `ShapeError`), or `BatchError` if a worker is lost or a
    function that is called fails. The number of the batch is in the message and in `RelaxError.batch`.
    """
    # Imported here, as in `_inspect`: workers may import the calling script, and need neither compiler nor terminal.
    expect("map_batches: 'library'", library, str | Path, "the path of a library (export_library gives one)")
    expect("map_batches: 'inputs'", inputs, Iterable, "an iterable of batches")
    if threads is not None:
        _expect_count("threads", threads, 1, MAX_THREADS)
    if retries is not None:
        _expect_count("retries", retries, 0)
    if in_flight is not None:
        _expect_count("in_flight", in_flight, 1)
    file, parameters = _inspect(Path(library), function)
    adapter = engine_for(engine, threads or 0, retries)
    call = _Call(adapter, file, function, threads or 0, parameters)
    total = len(inputs) if isinstance(inputs, Sized) else None
    return _results(call, inputs, in_flight, ProgressBar(total, progress))


def _expect_count(name: str, value: object, least: int, most: int | None = None) -> None:
    if type(value) is not int or value < least or (most is not None and value > most):
        limit = f"{least} or more" if most is None else f"{least} to {most}"
        raise ArgumentError(f"map_batches: '{name}' is {value!r}, expected a number, {limit}")


def _inspect(path: Path, function: str) -> tuple[LibraryFile, list[str]]:
    """The identity of a library for workers, and the names of the function's parameters."""
    from relax_mlir.export.metadata import SECTION, inspect_library, section
    from relax_mlir.files import mapped

    if path.suffix != ".so":
        raise ArgumentError(
            f"map_batches: 'library' is {str(path)!r}, expected a shared library, whose name ends with .so"
        )
    functions = inspect_library(path).facts["functions"]
    if function not in functions:
        raise UnknownNameError("function", function, functions, f"of {path}")
    with mapped(path) as data:
        place = section(data, SECTION)
        assert place is not None, f"inspect_library has read it from {path}"
        offset, length = place
        size, digest = len(data), hashlib.sha256(data[offset : offset + length]).hexdigest()
    names = [str(parameter.get("name", "_")) for parameter in functions[function]["params"]]
    return LibraryFile(str(path.absolute()), size, offset, length, digest), names


class _Call(NamedTuple):
    engine: Engine
    library: LibraryFile
    function: str
    threads: int
    parameters: list[str]

    def begin(self, batch: object) -> Any:  # noqa: ANN401 - a future of the engine
        arguments = arguments_of(batch, self.parameters)
        try:
            return self.engine.submit(self.library, self.function, self.threads, arguments)
        except Exception as error:  # a closed engine, or arguments that it cannot send
            raise BatchError(f"the engine does not take it: {type(error).__name__}: {error}") from error


class _Pending(NamedTuple):
    """A batch submitted to the engine, or the error that prevented it."""

    number: int
    future: Any
    error: Exception | None = None


def _begin_all(call: _Call, inputs: Iterable[object]) -> Iterator[_Pending]:
    """Submit the batches one by one. An error is yielded in order, after the results of the earlier batches."""
    number = -1
    try:
        for number, batch in enumerate(inputs):
            try:
                future = call.begin(batch)
            except RelaxError as error:
                yield _Pending(number, None, _numbered(error, number))
                return
            yield _Pending(number, future)
    except Exception as error:  # of the caller's iterable: also yielded in order
        yield _Pending(number + 1, None, error)


class ProgressBar:
    """Counts batches on stderr; the bar is shown from `start` to the end of the ``with`` block.

    Args:
        total: the number of batches; None: unknown.
        wanted: true: show the progress; None: if stderr is a terminal. If stderr is no terminal, the
            progress is one line at the end.
    """

    def __init__(self, total: int | None, wanted: bool | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(file=sys.stderr, width=terminal.width())
        self._shown = console.is_terminal if wanted is None else wanted
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=console, transient=console.is_terminal)
        self._task = self._bar.add_task("batches", total=total)

    def __enter__(self) -> ProgressBar:
        return self

    def start(self) -> None:
        """Show the bar if it is wanted. This starts its drawing thread, after the worker processes have been forked."""
        if self._shown:
            self._bar.start()

    def advance(self) -> None:
        """Count one more finished batch."""
        self._bar.advance(self._task)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._bar.stop()


def _results(call: _Call, inputs: Iterable[object], in_flight: int | None, bar: ProgressBar) -> Iterator[Any]:
    begun = _begin_all(call, inputs)
    pending: deque[_Pending] = deque()
    try:
        pending.extend(islice(begun, in_flight or IN_FLIGHT_PER_WORKER * call.engine.workers()))
        with bar:
            bar.start()
            while pending:
                result = _result(call, pending.popleft())
                bar.advance()
                yield result
                pending.extend(islice(begun, 1))
    finally:
        call.engine.cancel([each.future for each in pending if each.error is None])


def _result(call: _Call, pending: _Pending) -> Any:  # noqa: ANN401 - any result
    if pending.error is not None:
        raise pending.error
    try:
        outcome = call.engine.result(pending.future)
    except Exception as error:  # each engine has its own exception for a lost worker
        reason = call.engine.explain(error) or f"it has not been run: {type(error).__name__}: {error}"
        raise _numbered(BatchError(reason), pending.number) from error
    if isinstance(outcome, Failed):
        raise _numbered(_model_error(outcome), pending.number)
    return received(outcome.value)


def _model_error(failed: Failed) -> RelaxError:
    """An error of the model as its own class if this project defines it, else as a `BatchError`."""
    cls = getattr(errors, failed.kind, RelaxError)
    if isinstance(cls, type) and issubclass(cls, RelaxError) and cls is not RelaxError:
        with suppress(TypeError):  # some constructors take more than a message
            return cls(failed.message)
    return BatchError(f"{failed.kind}: {failed.message}")


def _numbered(error: RelaxError, number: int) -> RelaxError:
    error.batch = number
    error.args = (f"batch {number}: {error.args[0]}",)
    return error
