"""TVM's ``runtime``, ``nd`` and ``relax.VirtualMachine``: tensors with methods, and machines for all executables."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import tvm_ffi

from relax_mlir.bytecode.executable import Executable as BytecodeExecutable
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, DeviceError, UnknownNameError, expect
from relax_mlir.ir_module import IRModule
from relax_mlir.runtime import Executable, to_numpy
from relax_mlir.runtime.build import build
from relax_mlir.tvm.target import Target
from relax_mlir.vm.machine import VirtualMachine as BytecodeMachine

Value: TypeAlias = Any
"""A tensor, a number, a shape, an object, or a tuple of them."""


def cpu(index: int = 0) -> tvm_ffi.Device:
    """The CPU."""
    return tvm_ffi.device("cpu", index)


def device(name: str | tvm_ffi.Device, index: int = 0) -> tvm_ffi.Device:
    """The CPU by name; raises `DeviceError` for any other device."""
    kind = str(name).partition(":")[0]
    if kind not in ("cpu", "llvm", "c"):
        raise DeviceError(f"device: '{name}' is not available; the only device is the CPU, tvm.cpu()")
    return cpu(index)


class Tensor:
    """A tensor in memory, with the methods of TVM's; functions take it as they take arrays."""

    def __init__(self, data: Any) -> None:  # noqa: ANN401 - what DLPack takes
        """Share the memory of a tensor or an array."""
        self._tensor: tvm_ffi.Tensor = tvm_ffi.from_dlpack(data)

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy as an array."""
        copy: np.ndarray[Any, Any] = to_numpy(self._tensor).copy()
        return copy

    asnumpy = numpy

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return tuple(self._tensor.shape)

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return str(self._tensor.dtype)

    @property
    def device(self) -> tvm_ffi.Device:
        """The CPU."""
        return self._tensor.device

    def copyfrom(self, source: Any) -> Tensor:  # noqa: ANN401 - a tensor or an array
        """Overwrite the elements; raises `ArgumentError` for another shape."""
        array = source.numpy() if isinstance(source, Tensor) else np.asarray(source)
        if array.shape != self.shape:
            raise ArgumentError(f"copyfrom: the source has shape {array.shape}, the tensor {self.shape}")
        to_numpy(self._tensor)[...] = array
        return self

    def copyto(self, target: Tensor | tvm_ffi.Device) -> Tensor:
        """Copy into another tensor, or to a new one on a device."""
        return target.copyfrom(self) if isinstance(target, Tensor) else Tensor(self.numpy())

    def __dlpack__(self, **kwargs: Any) -> Any:  # noqa: ANN401 - of the protocol
        return self._tensor.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, index = self._tensor.__dlpack_device__()
        return int(kind), int(index)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, dtype={self.dtype})\n{self.numpy()!r}"


def tensor(data: Any, device: str | tvm_ffi.Device = "cpu", mem_scope: str | None = None) -> Tensor:  # noqa: ANN401
    """A tensor with a copy of the elements of an array, a list, or another tensor."""
    _require_cpu(device)
    given = to_numpy(data) if hasattr(data, "__dlpack__") else np.asarray(data)
    return Tensor(np.array(given, order="C"))


array = tensor


def empty(
    shape: Sequence[int],
    dtype: str = "float32",
    device: str | tvm_ffi.Device = "cpu",
    mem_scope: str | None = None,
) -> Tensor:
    """A tensor of zeros."""
    _require_cpu(device)
    return Tensor(np.zeros(tuple(shape), dtypes.dtype(dtype).numpy))


def _require_cpu(given: str | tvm_ffi.Device) -> None:
    device(given)


def load_module(path: str) -> Any:  # noqa: ANN401 - a module of the FFI
    """Load a library that `Executable.export_library` has written."""
    return tvm_ffi.load_module(str(path))


def compile(
    mod: IRModule,
    target: str | Target | None = None,
    *,
    relax_pipeline: str | Callable[[IRModule], IRModule] | None = "default",
    tir_pipeline: str | None = "default",
    exec_mode: str = "native",
    profile: bool = False,
) -> Executable | BytecodeExecutable:
    """Compile a module, as `relax_mlir.build` does.

    Args:
        mod: Relax functions, prim funcs, or both.
        target: a CPU; None: that of the enclosing ``with target:``, or the host.
        relax_pipeline: a pass to run first, or the name of a pipeline.
        tir_pipeline: accepted for TVM.
        exec_mode: ``"native"`` or ``"bytecode"``; TVM's ``"compiled"`` is native code.
        profile: allow `VirtualMachine.profile`.
    """
    from relax_mlir.tvm.pipelines import get_pipeline

    expect("compile: 'mod'", mod, IRModule, "an IRModule")
    if callable(relax_pipeline):
        mod = relax_pipeline(mod)
    elif relax_pipeline not in (None, "default"):
        mod = get_pipeline(relax_pipeline)(mod)
    chosen = str(Target.current() if target is None else Target.of(target))
    mode = "native" if exec_mode == "compiled" else exec_mode
    return build(mod, target=chosen, exec_mode=mode, profile=profile)  # type: ignore[call-overload, no-any-return]  # a mode of two


@dataclass(frozen=True)
class BenchmarkResult:
    """Times of calls in seconds; `results` has the mean of each repetition."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of the repetitions."""
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        """The median of the repetitions."""
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        """The shortest of the repetitions."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The longest of the repetitions."""
        return max(self.results)

    @property
    def std(self) -> float:
        """The standard deviation of the repetitions."""
        return statistics.pstdev(self.results)

    def __str__(self) -> str:
        return f"mean {1e3 * self.mean:.4f} ms, median {1e3 * self.median:.4f} ms, min {1e3 * self.min:.4f} ms"


class VirtualMachine:
    """TVM's interface of a machine, for native code, bytecode, and loaded libraries.

    >>> vm = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    >>> vm["main"](tvm.runtime.tensor(x)).numpy()

    Results are `Tensor`s; tuples are lists of them.
    """

    def __init__(
        self,
        rt_mod: Any,  # noqa: ANN401 - an executable or a loaded library
        device: str | tvm_ffi.Device | Sequence[str | tvm_ffi.Device] = "cpu",
        memory_cfg: Any = None,  # noqa: ANN401 - accepted for TVM
        profile: bool = False,
    ) -> None:
        """`memory_cfg` and `profile` are accepted for TVM: native code is profiled if it was compiled for it."""
        for each in device if isinstance(device, list | tuple) else [device]:
            _require_cpu(each)
        self.module = BytecodeMachine(rt_mod) if isinstance(rt_mod, BytecodeExecutable) else rt_mod
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: dict[str, Value] = {}
        self._saved: dict[str, Callable[..., Value]] = {}

    def _function(self, name: str) -> Callable[..., Any]:
        expect("VirtualMachine: 'name'", name, str, "the name of a function")
        if name in self._saved:
            return self._saved[name]
        found: Callable[..., Any] = self.module[name]
        return found

    def __getitem__(self, name: str) -> Callable[..., Value]:
        """The function called `name`."""
        function = self._function(name)

        def call(*args: Any) -> Value:  # noqa: ANN401 - tensors, arrays, numbers
            return _wrapped(function(*map(_unwrapped, args)))

        return call

    def invoke_closure(self, closure: Any, *args: Any) -> Value:  # noqa: ANN401 - a function
        """Call a function that another one has returned."""
        return _wrapped(closure(*map(_unwrapped, args)))

    def set_input(self, func_name: str, *args: Any) -> None:  # noqa: ANN401 - tensors
        """Keep the arguments of the next `invoke_stateful`."""
        self._function(func_name)
        self._inputs[func_name] = args

    def invoke_stateful(self, func_name: str) -> None:
        """Call a function with the arguments of `set_input`; raises `ArgumentError` if there are none."""
        if func_name not in self._inputs:
            raise ArgumentError(f"invoke_stateful: '{func_name}' has no arguments; set_input gives them")
        self._outputs[func_name] = self[func_name](*self._inputs[func_name])

    def get_outputs(self, func_name: str) -> Value:
        """The results of the last `invoke_stateful`; raises `ArgumentError` if there was none."""
        if func_name not in self._outputs:
            raise ArgumentError(f"get_outputs: '{func_name}' has not been called; invoke_stateful calls it")
        return self._outputs[func_name]

    def save_function(
        self, func_name: str, saved_name: str, *args: Value, include_return: bool = True, **kwargs: Value
    ) -> None:
        """Keep the call of a function with these arguments as the function `saved_name` without parameters."""
        if kwargs:
            raise ArgumentError("save_function: functions take arguments by position")
        function, values = self._function(func_name), tuple(map(_unwrapped, args))

        def call() -> Any:  # noqa: ANN401 - the result
            result = function(*values)
            return result if include_return else None

        self._saved[saved_name] = call

    def time_evaluator(
        self,
        func_name: str,
        dev: str | tvm_ffi.Device = "cpu",
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """A function that measures calls: `repeat` times the mean of `number` calls, or of more in `min_repeat_ms`."""
        _require_cpu(dev)
        if number < 1 or repeat < 1:
            raise ArgumentError(f"time_evaluator: 'number' is {number} and 'repeat' {repeat}, expected at least 1")
        function = self._function(func_name)

        def measure(*args: Any) -> BenchmarkResult:  # noqa: ANN401 - tensors
            values = tuple(map(_unwrapped, args))
            function(*values)
            return BenchmarkResult(tuple(_mean(function, values, number, min_repeat_ms) for _ in range(repeat)))

        return measure

    def profile(self, func_name: str, *args: Value) -> Any:  # noqa: ANN401 - a profile
        """Call a function and return a profile; native code needs ``compile(mod, profile=True)``."""
        if not isinstance(self.module, BytecodeMachine | Executable):
            raise ArgumentError("profile: a loaded library has no profile; compile the module in this process")
        with self.module.profile() as profile:
            self[func_name](*args)
        return profile


def _mean(function: Callable[..., Any], values: tuple[Any, ...], number: int, least_ms: int) -> float:
    """The mean time of a call in seconds, over `number` calls or as many as take `least_ms`."""
    while True:
        begin = time.perf_counter()
        for _ in range(number):
            function(*values)
        seconds = time.perf_counter() - begin
        if seconds * 1e3 >= least_ms:
            return seconds / number
        number = max(number + 1, round(number * min(10.0, 1.2 * least_ms / max(seconds * 1e3, 1e-6))))


def _unwrapped(value: Value) -> Any:  # noqa: ANN401 - an argument
    if isinstance(value, Tensor):
        return value._tensor
    if isinstance(value, list | tuple):
        return tuple(map(_unwrapped, value))
    return value


def _wrapped(value: Any) -> Value:  # noqa: ANN401 - a result
    if isinstance(value, tuple | list | tvm_ffi.Array):
        return [_wrapped(item) for item in value]
    return Tensor(value) if hasattr(value, "__dlpack__") else value


def get_global_func(name: str, allow_missing: bool = False) -> Any:  # noqa: ANN401 - a function, or None
    """A function of the FFI's registry; raises `UnknownNameError`, or returns None, if it is missing."""
    found = tvm_ffi.get_global_func(name, allow_missing=True)
    if found is None and not allow_missing:
        raise UnknownNameError("registered function", name, ())
    return found


def register_func(name: str | Callable[..., Any], f: Callable[..., Any] | None = None, override: bool = False) -> Any:  # noqa: ANN401 - the function, or a decorator
    """Register a function with the FFI, also as a decorator."""
    return tvm_ffi.register_global_func(name, f, override)


register_global_func = register_func
