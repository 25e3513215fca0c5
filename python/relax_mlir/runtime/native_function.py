"""What functions of executables and of virtual machines share: calls that go to the native code directly."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.arrays import holds_array, needs_help, numpy_results, to_ffi
from relax_mlir.error import ArgumentError
from relax_mlir.runtime.live_errors import live_error
from relax_mlir.runtime.torch_tensors import REFUSALS, may_convert, plain_torch_tensors


class NativeFunction:
    """A function in native code, which is called by generated code (`fast_call`) or through the FFI.

    Attributes:
        name: the function's name.
        ffi: the bare `tvm_ffi.Function`.
        inputs: how many parameters it has.
    """

    __slots__ = ("_entry", "ffi", "inputs", "name")

    def __init__(self, name: str, ffi: tvm_ffi.Function, inputs: int, entry: int) -> None:
        """`entry`: where calls go that do not go through `ffi`, which keeps it alive; see `ENTRY`."""
        from relax_mlir.runtime import fast_call

        self.name, self.ffi, self.inputs, self._entry = name, ffi, inputs, entry
        fast_call.fast_calls()
        cls: type = type(self)
        fast_call.install_subclass(cls)

    def __call__(self, *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the function; see the class."""
        return self._call_any(*args)

    def _call_any(self, *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call through the FFI with any arguments."""
        args = plain_torch_tensors(self.name, args, self.inputs)
        try:
            result = self.ffi(*args)
            return numpy_results(result) if any(map(holds_array, args)) else result
        except BaseException as error:
            raised = error
        # Outside of the handler, so that the error does not become the context of what is raised.
        return self._call_refused(raised, *args)

    def _call_refused(self, error: BaseException, *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call again if the FFI has raised `error` for arguments that it cannot convert; else raise it.

        Elements of torch tensors are what memory says. Exceptions of packed functions are raised as they are.
        """
        live = live_error(error)
        if live is not error:
            self._explain(live, error)
            raise live
        if not isinstance(error, REFUSALS) or not may_convert(error, self.name, args):
            self._explain(error, error)
            raise error
        self._check_results(args[self.inputs :])
        try:
            result = self.ffi(*(to_ffi(arg) if needs_help(arg) else arg for arg in args))
            return numpy_results(result) if any(map(holds_array, args)) else result
        except BaseException as another:
            raised = another
        live = live_error(raised)
        self._explain(live, raised)
        raise live

    def _explain(self, raised: BaseException, told: BaseException) -> None:
        """Add to an error of a call what can be said of it; `told` is what the FFI has raised for it."""

    def _check_results(self, results: tuple[object, ...]) -> None:
        """Raise for given results that a conversion would replace."""


def require_writable(name: str, results: tuple[object, ...]) -> None:
    """Raise ArgumentError for a NumPy array among what the function `name` is given to write, unless it can."""
    for i, out in enumerate(results):
        if isinstance(out, np.ndarray) and not (out.flags.writeable and out.flags.c_contiguous):
            fault = "read-only" if not out.flags.writeable else "non-contiguous"
            raise ArgumentError(
                f"{name}: the given result {i} is a {fault} array, so it cannot be written to"
            )
