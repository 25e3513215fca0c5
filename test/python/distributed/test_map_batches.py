"""`map_batches` on a pool of processes: values, order, errors, lost processes."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import bare_python
import distributed_programs
import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
import worker_hooks
from distributed_programs import TABLE, WEIGHT, make_pool
from relax_mlir.distributed import map_batches, worker
from relax_mlir.error import ArgumentError, BatchError, ParseError, RelaxError, ShapeError, UnknownNameError
from relax_mlir.export import export_library
from relax_mlir.runtime import to_numpy

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def pool(marks: Path) -> Iterator[ProcessPoolExecutor]:
    with make_pool(marks) as pool:
        yield pool


def rows(count: int) -> list[Array]:
    """Matrices of 0 rows and more."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal((number % 7, 64), np.float32) for number in range(count)]


def test_results_are_those_of_one_process(executable: rx.Executable, library: Path, pool: ProcessPoolExecutor) -> None:
    given = rows(60)
    found = list(map_batches(library, given, pool, function="layer"))
    assert len(found) == 60
    for x, result in zip(given, found, strict=True):
        np.testing.assert_array_equal(result, to_numpy(executable["layer"](x)), strict=True)
        np.testing.assert_allclose(result, np.maximum(x @ WEIGHT, 0), rtol=1e-4, atol=1e-4)


def test_values_of_all_kinds(library: Path, pool: ProcessPoolExecutor) -> None:
    """Tuples, shapes, numbers, empty arrays; bfloat16, arrays that are read-only, transposed or of rank 0."""
    i = np.arange(9, dtype=np.int32)
    read_only = np.arange(9, dtype=np.int32)
    read_only.flags.writeable = False
    batches: list[object] = [
        (i, tvm_ffi.Shape((4, 5)), (i, 7)),
        {"t": [read_only[::-1], np.int64(8)], "x": read_only, "s": tvm_ffi.Shape((0, 1))},
        (i[:0], tvm_ffi.Shape((2, 2)), (i[:0], -1)),
    ]
    first, second, third = map_batches(library, batches, pool, function="several")
    np.testing.assert_array_equal(first[0], 2 * i, strict=True)
    assert isinstance(first[1], tvm_ffi.Shape) and tuple(first[1]) == (4, 5) and first[3] == 7
    np.testing.assert_array_equal(first[2], np.arange(6, dtype=np.float32).reshape(2, 3), strict=True)
    np.testing.assert_array_equal(second[0], i + i[::-1], strict=True)
    assert tuple(second[1]) == (0, 1) and second[3] == 8
    assert third[0].shape == (0,) and third[0].dtype == np.int32 and third[3] == -1

    short = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
    twice = list(map_batches(library, [short, short.T], pool, function="twice"))
    for found, x in zip(twice, (short, short.T), strict=True):
        np.testing.assert_array_equal(found, x + x, strict=True)
    (scalar,) = map_batches(library, [np.array(3.0)], pool, function="scalar")
    assert scalar.shape == () and scalar == 4.0


def test_whatever_speaks_dlpack(library: Path, pool: ProcessPoolExecutor) -> None:
    import torch

    x = torch.arange(128, dtype=torch.float32).reshape(2, 64)
    short = torch.ones(2, 3, dtype=torch.bfloat16)
    given = [x, tvm_ffi.from_dlpack(x), x.numpy()]
    first, *others = map_batches(library, given, pool, function="layer")
    for other in others:
        np.testing.assert_array_equal(first, other, strict=True)
    (twice,) = map_batches(library, [tvm_ffi.from_dlpack(short)], pool, function="twice")
    assert twice.dtype == ml_dtypes.bfloat16 and (twice == 2).all()
    with pytest.raises(ArgumentError, match=r"^batch 0: argument 'x' cannot be read through DLPack: "):
        next(map_batches(library, [x.clone().requires_grad_()], pool, function="layer"))


def test_nothing_to_do(library: Path, pool: ProcessPoolExecutor) -> None:
    assert list(map_batches(library, [], pool, function="layer")) == []
    assert list(map_batches(library, iter(()), pool, function="layer")) == []


def test_an_endless_stream_stays_small(library: Path, pool: ProcessPoolExecutor) -> None:
    begun = []

    def stream() -> Iterator[Array]:
        while True:
            begun.append(len(begun))
            yield np.full((1, 64), len(begun), np.float32)

    results = map_batches(library, stream(), pool, function="layer", in_flight=3)
    assert not begun, "nothing is sent before somebody asks"
    for number in range(20):
        next(results)
        assert len(begun) <= number + 3
    results.close()  # type: ignore[attr-defined]  # a generator, declared an iterator
    assert len(list(map_batches(library, rows(3), pool, function="layer", in_flight=1))) == 3


def test_a_bar_on_terminals(
    library: Path,
    pool: ProcessPoolExecutor,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def shown(inputs: Any, progress: bool | None) -> str:
        assert len(list(map_batches(library, inputs, pool, function="layer", progress=progress))) == 5
        captured = capsys.readouterr()
        assert captured.out == ""
        return captured.err

    monkeypatch.setenv("FORCE_COLOR", "")
    assert shown(rows(5), None) == shown(rows(5), False) == ""
    assert "5/5" in shown(rows(5), True)
    monkeypatch.setenv("FORCE_COLOR", "1")  # simulates a terminal for rich
    assert "5/5" in shown(rows(5), None)
    assert "5/?" in shown(iter(rows(5)), None)
    assert shown(rows(5), False) == ""


def test_errors_of_the_model_have_the_number_of_the_batch(library: Path, pool: ProcessPoolExecutor) -> None:
    given = [*rows(5), np.zeros((2, 63), np.float32), *rows(5)]
    results = map_batches(library, given, pool, function="layer")
    for x in given[:5]:
        assert next(results).shape == (len(x), 96)
    with pytest.raises(ShapeError, match=r"^batch 5: layer: parameter 'x' dimension 1 is 63") as caught:
        next(results)
    assert caught.value.batch == 5
    with pytest.raises(BatchError, match=r"^batch 1: ZeroDivisionError: the hook fails$") as failed:
        list(map_batches(library, [np.float32([1]), np.float32([-2])], pool, function="asks"))
    assert failed.value.batch == 1
    assert len(list(map_batches(library, rows(4), pool, function="layer"))) == 4, "the pool goes on"


def test_batches_that_cannot_travel(library: Path, pool: ProcessPoolExecutor) -> None:
    wrong = {
        r"argument 'x' is of type object, expected an array": object(),
        r"argument 'x' is an array of Python objects": np.array([None]),
        r"argument 'x', element 1 is of type set, expected an array": (([1, {2}]),),
        r"the batch has 2 arguments, but the function takes 1 \(x\)": (1, 2),
        r"the batch has 0 arguments, but the function takes 1 \(x\)": (),
        r"the batch has y, but the function takes x": {"y": 1},
        r"the batch has nothing, but the function takes x": {},
    }
    for message, batch in wrong.items():
        results = map_batches(library, [np.ones((1, 64), np.float32), batch], pool, function="layer")
        assert next(results).shape == (1, 96), "what is before it arrives"
        with pytest.raises(ArgumentError, match=f"^batch 1: {message}") as caught:
            next(results)
        assert caught.value.batch == 1


def test_inputs_that_fail(library: Path, pool: ProcessPoolExecutor) -> None:
    def stream() -> Iterator[Array]:
        yield from rows(2)
        raise KeyError("no more")

    results = map_batches(library, stream(), pool, function="layer")
    assert [len(next(results)), len(next(results))] == [0, 1]
    with pytest.raises(KeyError, match="no more"):
        next(results)


def test_bad_arguments(library: Path, pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    """All of them before anything is sent."""

    def refused(error: type[Exception], message: str, **changes: Any) -> None:
        arguments: dict[str, Any] = {
            "library": library,
            "inputs": [],
            "engine": pool,
            "function": "layer",
            **changes,
        }
        with pytest.raises(error, match=message):
            map_batches(**arguments)

    other = tmp_path / "other.so"
    other.write_bytes(b"\x7fELF")
    refused(ParseError, r"nothing\.so", library=tmp_path / "nothing.so")
    refused(ParseError, r"other\.so: not a library of relax-mlir", library=other)
    refused(ArgumentError, r"'library' is 'model\.a', expected a shared library", library="model.a")
    refused(ArgumentError, r"'library' is 3 \(int\), expected the path", library=3)
    refused(
        UnknownNameError,
        r"unknown function 'layr'; did you mean 'layer' .*\(of .*model\.so\)",
        function="layr",
    )
    refused(ArgumentError, r"'inputs' is 3 \(int\), expected an iterable", inputs=3)
    refused(ArgumentError, r"'threads' is 0, expected a number, 1 to 256", threads=0)
    refused(ArgumentError, r"'threads' is 257, expected", threads=257)
    refused(ArgumentError, r"'in_flight' is True, expected a number, 1 or more", in_flight=True)
    refused(ArgumentError, r"'retries' is -1, expected a number, 0 or more", retries=-1)
    refused(ArgumentError, r"'retries' is 1, but a ProcessPoolExecutor runs nothing again", retries=1)
    refused(ArgumentError, r"'engine' is None \(NoneType\), expected a .*ProcessPoolExecutor", engine=None)
    with ThreadPoolExecutor() as threads:
        refused(ArgumentError, r"'engine' is .*ThreadPoolExecutor", engine=threads)


def test_a_killed_process_breaks_the_pool(library: Path, tmp_path: Path) -> None:
    kills = np.float32([worker_hooks.KILLS])
    with make_pool(tmp_path) as pool:
        assert len(list(map_batches(library, [np.ones(3, np.float32)] * 3, pool, function="asks"))) == 3
        worker_hooks.leave_marks(tmp_path, 1)
        inputs = [np.ones(3, np.float32)] * 2 + [kills] + [np.ones(3, np.float32)] * 9
        results = map_batches(library, inputs, pool, function="asks", in_flight=1)
        np.testing.assert_array_equal(next(results), np.float32([2, 2, 2]))
        next(results)
        message = r"^batch 2: a process of the pool has ended abruptly .*make a new one"
        with pytest.raises(BatchError, match=message) as caught:
            next(results)
        assert caught.value.batch == 2 and isinstance(caught.value.__cause__, BrokenProcessPool)
        with pytest.raises(BatchError, match=r"^batch 0: a process of the pool has ended abruptly"):
            next(map_batches(library, inputs, pool, function="asks"))
    closed = ProcessPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(BatchError, match=r"^batch 0: the engine does not take it: RuntimeError: cannot schedule new"):
        next(map_batches(library, inputs, closed, function="asks"))


def test_a_library_that_changes_under_its_workers(
    executable: rx.Executable, pool: ProcessPoolExecutor, tmp_path: Path
) -> None:
    """Workers detect that the file differs from the one that the caller has read, and load a replaced one."""
    path = executable.export_library(tmp_path / "model.so")
    x = np.ones((2, 64), np.float32)
    results = map_batches(path, [x] * 8, pool, function="layer", in_flight=1)
    next(results)
    distributed_programs.build(scale=3.0).export_library(path)
    with pytest.raises(BatchError, match=r"^batch 1: it has not been run: .*model\.so on .* is another library"):
        next(results)
    (found,) = map_batches(path, [x], pool, function="layer")
    np.testing.assert_allclose(found, np.maximum(x @ (3 * WEIGHT), 0), rtol=1e-4, atol=1e-4)
    results = map_batches(path, [x], pool, function="layer")
    path.unlink()
    with pytest.raises(BatchError, match=r"^batch 0: it has not been run: FileNotFoundError.*model\.so"):
        next(results)


def test_weights_beside_the_library(executable: rx.Executable, pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    path = export_library(executable, tmp_path / "model.so", weights="beside")
    assert len(list(tmp_path.iterdir())) == 2
    (found,) = map_batches(path, [np.arange(256)], pool, function="entries")
    np.testing.assert_array_equal(found, TABLE, strict=True)


def test_a_pool_that_forks(executable: rx.Executable, library: Path) -> None:
    """The children inherit what the parent has loaded, including the library."""
    given = rows(20)
    tvm_ffi.load_module(str(library)).layer(tvm_ffi.from_dlpack(given[3]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of processes with threads, from Python 3.12 on
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as forked:
            found = list(map_batches(library, given, forked, function="layer"))
    for x, result in zip(given, found, strict=True):
        np.testing.assert_array_equal(result, to_numpy(executable["layer"](x)), strict=True)


def test_workers_need_no_compiler_and_share_weights(library: Path, pool: ProcessPoolExecutor) -> None:
    places = [np.arange(256)] * 8
    for found in map_batches(library, places, pool, function="entries"):
        np.testing.assert_array_equal(found, TABLE)
    assert pool.submit(worker_hooks.loaded_modules, {"torch_mlir", "rich", "torch"}).result() == []
    private = pool.submit(worker_hooks.mapped_privately, str(library)).result()
    assert 0 <= private < TABLE.nbytes // 8, "pages that the loader writes to"


BARE = """
import sys
sys.path.insert(0, sys.argv[2])
import numpy as np
from relax_mlir.distributed.worker import Done, Failed, LibraryFile, Sizes, run_batch
library = LibraryFile(*eval(sys.argv[1]))
done = run_batch(library, "layer", 1, (np.ones((2, 64), np.float32),))
failed = run_batch(library, "layer", 1, (np.ones((2, 63), np.float32),))
read_only = np.arange(3, dtype=np.int32)
read_only.flags.writeable = False
several = run_batch(library, "several", 0, (read_only, Sizes((1, 2)), (read_only, 3)))
assert type(done) is Done and type(failed) is Failed and several.value[0].tolist() == [0, 2, 4]
assert not {name.partition(".")[0] for name in sys.modules} & {"torch_mlir", "ml_dtypes", "rich"}
print(done.value.shape, failed.kind)
"""


def test_a_worker_with_numpy_and_the_ffi_alone(library: Path, tmp_path: Path) -> None:
    from relax_mlir.distributed.map_batches import _inspect

    packages = tmp_path / "packages"
    bare_python.make_packages(packages)
    file, names = _inspect(library, "layer")
    assert names == ["x"]
    source = str(Path(worker.__file__).resolve().parents[2])
    printed = bare_python.run(packages, BARE, repr(tuple(file)), source)
    assert printed == "(2, 96) ShapeError\n"


def test_threads_of_workers(library: Path, tmp_path: Path) -> None:
    """The library is for two threads; a worker limited to one starts no threads."""
    x = np.random.default_rng(3).standard_normal((500, 600))
    with make_pool(tmp_path, workers=1) as single:
        alone = single.submit(worker_hooks.running_threads).result()
        (first,) = map_batches(library, [(x, x.T)], single, function="product")
        assert single.submit(worker_hooks.running_threads).result() == alone
        for threads in (2, None, 1):
            (other,) = map_batches(library, [(x, x.T)], single, function="product", threads=threads)
            np.testing.assert_array_equal(first, other)
            assert single.submit(worker_hooks.running_threads).result() == alone + 1
    np.testing.assert_allclose(first, x @ x.T, rtol=1e-10)


def test_results_that_cannot_leave_a_worker() -> None:
    with pytest.raises(TypeError, match="a result of type Function cannot leave its process, expected tensors"):
        worker._sent((1, tvm_ffi.convert(len)))


def test_errors_keep_their_class_where_a_message_makes_one() -> None:
    from relax_mlir.distributed.map_batches import _model_error

    assert type(_model_error(worker.Failed("ShapeError", "f: no"))) is ShapeError
    for kind in ("RuntimeError", "UnknownNameError", "PassError", "RelaxError", "Path", "expect"):
        error = _model_error(worker.Failed(kind, "f: no"))
        assert type(error) is BatchError and str(error) == f"{kind}: f: no"
    assert RelaxError("x").batch is None
