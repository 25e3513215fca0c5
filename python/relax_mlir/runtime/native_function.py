"""The base of executable and VM functions: direct calls of native code."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.arrays import holds_array, needs_help, numpy_results, to_ffi
from relax_mlir.error import ArgumentError
from relax_mlir.lowering.base.signature import Place
from relax_mlir.runtime.live_errors import live_error
from relax_mlir.runtime.torch_tensors import REFUSALS, may_convert, plain_torch_tensors


class NativeFunction:
    """A native function, called by generated code (`fast_call`) or through the FFI.

    Attributes:
        name: the function's name.
        ffi: the bare `tvm_ffi.Function`.
        inputs: the number of parameters without the outputs at the end.
        written: the parameters that it writes.
    """

    __slots__ = ("_entry", "ffi", "inputs", "name", "written")

    def __init__(
        self, name: str, ffi: tvm_ffi.Function, inputs: int, entry: int, written: tuple[Place, ...] = ()
    ) -> None:
        """`entry`: the address that direct calls use; `ffi` keeps it alive. See `ENTRY`."""
        from relax_mlir.runtime import fast_call

        self.name, self.ffi, self.inputs, self._entry = name, ffi, inputs, entry
        self.written = written
        fast_call.fast_calls()
        cls: type = type(self)
        fast_call.install_subclass(cls)

    def __call__(self, *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the function; see the class."""
        return self._call_any(*args)

    def _call_any(self, *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call through the FFI with any arguments."""
        args = plain_torch_tensors(self.name, args, self.inputs, self.written)
        try:
            result = self.ffi(*args)
            return numpy_results(result) if any(map(holds_array, args)) else result
        except BaseException as error:
            raised = error
        # Outside the handler, so that the error does not become the context of the exception raised below.
        return self._call_refused(raised, *args)

    def _call_refused(self, error: BaseException, *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call again with converted arguments if the FFI could not convert them; otherwise raise `error`.

        Torch tensors are converted such that memory holds their elements. Exceptions of packed functions are raised
        unchanged.
        """
        live = live_error(error)
        if live is not error:
            self._explain(live, error)
            raise live
        if not isinstance(error, REFUSALS) or not may_convert(error, self.name, args):
            self._explain(error, error)
            raise error
        self._check_written(args)
        try:
            result = self.ffi(*(to_ffi(arg) if needs_help(arg) else arg for arg in args))
            return numpy_results(result) if any(map(holds_array, args)) else result
        except BaseException as another:
            raised = another
        live = live_error(raised)
        self._explain(live, raised)
        raise live

    def _explain(self, raised: BaseException, told: BaseException) -> None:
        """Add notes to an error of a call; `told` is the error that the FFI has raised for it."""

    def _check_written(self, args: tuple[object, ...]) -> None:
        """Raise ArgumentError for a NumPy array that is an output but would be converted to a copy."""
        for place in self.written:
            if place.path[0] < self.inputs:
                self._require_writable(f"parameter '{place.name}'", _at(args, place.path))
        for i, out in enumerate(args[self.inputs :]):
            self._require_writable(f"the given result {i}", out)

    def _require_writable(self, role: str, value: object) -> None:
        if isinstance(value, np.ndarray) and not (value.flags.writeable and value.flags.c_contiguous):
            fault = "read-only" if not value.flags.writeable else "non-contiguous"
            raise ArgumentError(f"{self.name}: {role} is a {fault} array, so it cannot be written to")


def _at(args: object, path: tuple[int, ...]) -> object:
    """Return the argument at a path; None if there is none."""
    for number in path:
        if not isinstance(args, tuple | list) or number >= len(args):
            return None
        args = args[number]
    return args
