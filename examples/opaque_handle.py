"""A handle of a C library as a value of a program: created by a packed function, passed to calls, freed once.

Libraries such as cuDNN or cuRAND return handles: pointers to opaque state, which are passed to each call and freed at
the end. Here the library is the C library, and the state is that of its random number generator: ``srand48_r`` seeds
it, ``drand48_r`` draws from it and changes it. In a program the handle is an object of the FFI (``rx.Object()``) with a
reference count. The library's own function frees it with the last reference, which is held by the frame of the call
that created it, by a caller that received it as a result, or by a tuple; also if the program raises an error.

Run it with ``python examples/opaque_handle.py``.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from numpy.typing import NDArray
from relax_mlir import op as R

LIBC = ctypes.CDLL(None)
LIBC.malloc.restype, LIBC.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
LIBC.free.restype, LIBC.free.argtypes = None, (ctypes.c_void_p,)
LIBC.srand48_r.argtypes = (ctypes.c_long, ctypes.c_void_p)
LIBC.drand48_r.argtypes = (ctypes.c_void_p, ctypes.POINTER(ctypes.c_double))

STATE_BYTES = 64
"""Bytes for a ``struct drand48_data``, which has 24."""


class Generator:
    """The handle: the address of the library's state, which is freed with this object."""

    made, freed = 0, 0

    def __init__(self, seed: int) -> None:
        self.address = LIBC.malloc(STATE_BYTES)
        if not self.address:
            raise MemoryError(f"no memory for a state of {STATE_BYTES} bytes")
        LIBC.srand48_r(seed, self.address)
        Generator.made += 1

    def draw(self) -> float:
        """The next value in [0, 1)."""
        number = ctypes.c_double()
        LIBC.drand48_r(self.address, ctypes.byref(number))
        return number.value

    def __del__(self) -> None:
        address, self.address = getattr(self, "address", None), None
        if address:
            LIBC.free(address)
            Generator.freed += 1


def create(seed: int) -> Generator:
    """A handle; the result becomes an object of the FFI, which holds it."""
    return Generator(seed)


def fill(generator: Generator, out: Any) -> None:  # noqa: ANN401 - a tensor of the FFI
    """Fill a tensor with values in [0, 1)."""
    if not isinstance(generator, Generator):
        raise TypeError(f"'generator' is {generator!r}, expected a handle that rand48.create gives")
    array = np.from_dlpack(out)
    array[...] = np.reshape([generator.draw() for _ in range(array.size)], array.shape)


def register() -> None:
    """Register the library's functions for programs."""
    tvm_ffi.register_global_func("rand48.create", create, override=True)
    tvm_ffi.register_global_func("rand48.fill", fill, override=True)


def program() -> rx.IRModule:
    """``main(x, seed)``: noise from a local handle, twice, on `x`; ``make`` and ``noise``: with the caller's handle."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m"), "float64"))
    seed = rx.Var("seed", rx.Prim("int64"))
    with bb.function("main", [x, seed]):
        handle = bb.emit(R.call_packed("rand48.create", seed, out=rx.Object()), "handle")
        bb.emit_func_output(_noisy(bb, _noisy(bb, x, handle), handle))
    seed = rx.Var("seed", rx.Prim("int64"))
    with bb.function("make", [seed]):
        bb.emit_func_output(bb.emit(R.call_packed("rand48.create", seed, out=rx.Object()), "handle"))
    x, generator = rx.Var("x", rx.Tensor(("n", "m"), "float64")), rx.Var("generator", rx.Object())
    with bb.function("noise", [x, generator]):
        bb.emit_func_output(_noisy(bb, x, generator))
    return bb.get()


def _noisy(bb: rx.BlockBuilder, x: rx.Value, handle: rx.Value) -> Any:  # noqa: ANN401 - a value
    """`x` plus values from the handle; drawing changes the handle, so calls keep their order."""
    zeros = bb.emit(R.zeros(x.shape, "float64"))
    R.call_packed("rand48.fill", handle, zeros)
    return bb.emit(R.add(x, zeros))


def expected(x: NDArray[np.float64], seed: int, times: int) -> NDArray[np.float64]:
    """The same computed by the library alone."""
    generator = Generator(seed)
    for _ in range(times):
        x = x + np.reshape([generator.draw() for _ in range(x.size)], x.shape)
    return x


def main() -> None:
    register()
    executable = rx.build(program())
    x = np.zeros((2, 3))
    found = np.from_dlpack(executable["main"](x, 7))
    np.testing.assert_array_equal(found, expected(x, 7, times=2))
    print(f"noise: {found.ravel().round(3)}; handles made and freed: {Generator.made}, {Generator.freed}")
    handle = executable["make"](7)
    first, second = (np.from_dlpack(executable["noise"](x, handle)) for _ in range(2))
    np.testing.assert_array_equal(np.add(first, second), expected(x, 7, times=2))
    print(f"while the caller holds one: {Generator.made}, {Generator.freed}")
    del handle
    print(f"at the end: {Generator.made}, {Generator.freed}")


if __name__ == "__main__":
    main()
