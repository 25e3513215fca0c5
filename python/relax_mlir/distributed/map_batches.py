"""`map_batches`: apply a function of an exported library to many batches, in the processes of an engine."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Sized
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from relax_mlir import error as errors
from relax_mlir.distributed.batch_arguments import arguments_of, received
from relax_mlir.distributed.engines import Engine, engine_for
from relax_mlir.distributed.worker import Failed, LibraryFile
from relax_mlir.error import ArgumentError, BatchError, RelaxError, UnknownNameError, expect
from relax_mlir.target import MAX_THREADS

if TYPE_CHECKING:
    from relax_mlir.distributed.progress import ProgressBar

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
    from relax_mlir.distributed.progress import ProgressBar

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
