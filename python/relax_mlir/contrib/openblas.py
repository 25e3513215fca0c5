"""Matrix multiplication with OpenBLAS: patterns, a code generator, and the packed function that calls the library.

The library comes with ``pip install relax-mlir[openblas]`` (the package scipy-openblas64). `patterns` matches the
matmuls that it can compute; the passes ``fuse-ops-by-pattern`` and ``run-codegen`` know them as ``openblas``, and
`use_openblas` runs these:

>>> mod = use_openblas(mod)  # all matmuls that the library supports
>>> mod = use_openblas(mod, choose=lambda product: product.work is None or product.work > 2**24)
>>> rx.build(mod)

The library itself runs single-threaded. Large matmuls are split here across the thread pool of compiled code, so that
two thread pools do not compete for the same CPUs.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm_ffi

from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.dialects.types import StructInfo, Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.dpl import DFPattern, is_op, wildcard
from relax_mlir.dpl.fusion import FusionPattern, PatternCheckContext, register_patterns
from relax_mlir.dpl.patterns import definition_of
from relax_mlir.error import ArgumentError, UnsupportedError, expect
from relax_mlir.expr import Attrs
from relax_mlir.expr.bindings import definition
from relax_mlir.expr.compound import Call
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.runtime_lib.blas_products import ADDRESS, ENTRY, wrapper_text
from relax_mlir.lowering.strategy.op_strategy import Strategy
from relax_mlir.passes.patterns import FuseOpsByPattern
from relax_mlir.runtime import threads
from relax_mlir.runtime.process_code import load_code, pointer_from
from relax_mlir.strategy import OpStrategy, SpecializedCondition
from relax_mlir.symbolic import Dim, prove_equal
from relax_mlir.symbolic.expr import product
from relax_mlir.target import MAX_THREADS, Target
from relax_mlir.transform import Sequential
from relax_mlir.transform.codegen_region import CodegenRegion, CompositeCall
from relax_mlir.transform.codegens import register_codegen
from relax_mlir.transform.pipeline import create_pass

NAME = "openblas"
FUNCTION = "relax_mlir.openblas.matmul"
"""The name of the packed function in the registry of the FFI: ``(a, b, trans_a, trans_b, threads, out)``."""

INSTALL = "pip install relax-mlir[openblas] installs it"
DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Product:
    """A matmul that the library can compute."""

    dtype: str
    batch: Dim
    """The number of matrices in the batch."""
    m: Dim
    n: Dim
    k: Dim

    @property
    def work(self) -> int | None:
        """The number of multiplications; None if it is only known at run time."""
        found = product([self.batch, self.m, self.n, self.k])
        return found if isinstance(found, int) else None


Choose = Callable[[Product], bool]
"""A predicate that returns true if the library is to compute the matmul."""


def patterns(choose: Choose | None = None) -> list[FusionPattern]:
    """The matmuls that the library can compute, for ``FuseOpsByPattern``.

    These are `matmul`s of float32 or float64 matrices of known rank. An operand may be a `permute_dims` that transposes
    the last two dimensions; the library then reads the operand of the `permute_dims` in place. The batch dimensions are
    the same in both operands, or only one operand has some.

    Args:
        choose: selects matmuls; None: all. A `Product` has dtype, batch, m, n and k.
    """
    if choose is not None and not callable(choose):
        raise ArgumentError(f"openblas.patterns: 'choose' is {choose!r}, expected a function of a Product, or None")
    a, b = wildcard(), wildcard()
    turned_a, turned_b = is_op("relax.permute_dims")(a), is_op("relax.permute_dims")(b)
    forms: dict[str, tuple[DFPattern, DFPattern]] = {
        "matmul_transposed_both": (turned_a, turned_b),
        "matmul_transposed_a": (turned_a, b),
        "matmul_transposed_b": (a, turned_b),
        "matmul": (a, b),
    }
    return [
        FusionPattern(
            f"{NAME}.{kind}",
            is_op("relax.matmul")(left, right),
            {"a": a, "b": b, "left": left, "right": right},
            functools.partial(_check, choose),
        )
        for kind, (left, right) in forms.items()
    ]


def _check(choose: Choose | None, found: PatternCheckContext) -> bool:
    """True if the library supports the matmul and `choose` accepts it."""
    given = _product_of(found)
    if given is None:
        return False
    if choose is None:
        return True
    verdict = choose(given)
    expect("openblas: what 'choose' gives", verdict, bool, "True or False")
    return verdict


def _product_of(found: PatternCheckContext) -> Product | None:
    """The matmul that was matched; None if the library does not support it."""
    parts = found.annotated_expr
    infos = [item.struct_info for item in (parts["left"], parts["right"], found.matched_expr)]
    left, right, result = (info if isinstance(info, Tensor) else Tensor(None, None) for info in infos)
    shapes = [info.known_shape for info in (left, right, result)]
    if left.dtype is None or not left.dtype == right.dtype == result.dtype or left.dtype.name not in DTYPES:
        return None
    if not all(_is_turned(parts[outer], parts[inner]) for outer, inner in (("left", "a"), ("right", "b"))):
        return None
    known = [shape for shape in shapes if shape is not None and len(shape) >= 2]
    if len(known) < 3 or not _fit(known[0][:-2], known[1][:-2]):
        return None
    (*batch, m, n), k = known[2], known[0][-1]
    return Product(left.dtype.name, product(batch), m, n, k)


def _fit(left: Sequence[Dim], right: Sequence[Dim]) -> bool:
    """True if the batch dimensions are the same, or one operand has none."""
    return not left or not right or (len(left) == len(right) and all(map(prove_equal, left, right)))


def _is_turned(outer: Any, inner: Any) -> bool:  # noqa: ANN401 - expressions
    """True if `outer` is `inner` itself, or transposes its last two dimensions."""
    if outer.same_as(inner):
        return True
    call = definition_of(outer)
    assert isinstance(call, Call), "the pattern is of a permute_dims"
    axes, rank = call.attrs["axes"], len(inner.struct_info.shape or ())
    given = list(reversed(range(rank))) if axes is None else [axis % rank for axis in axes]
    return given == [*range(rank - 2), rank - 1, rank - 2]


@register_codegen(NAME)
def generate(region: CodegenRegion) -> Value:
    """The code generator ``openblas``: each matmul becomes a call of the packed function.

    Raises:
        ArgumentError: the library is not installed.
        UnsupportedError: a composite function does not match `patterns`.
    """
    load()
    return region.each(_call)


def _call(call: CompositeCall) -> Value:
    """The call of the packed function that computes the matmul, on views of rank 2 or 3."""
    body = {binding.op: binding for binding in call.bindings}
    if "matmul" not in body or not set(body) <= {"matmul", "permute_dims"}:
        raise call.refuse("it is no product of patterns()")
    (a, trans_a), (b, trans_b) = (_operand(call, value) for value in body["matmul"].operands)
    result = call.result
    if not isinstance(result, Tensor) or result.known_shape is None or result.dtype is None:
        raise call.refuse(f"nothing is known of the size of its result, {result}")
    if result.dtype.name not in DTYPES:
        raise call.refuse(f"its dtype is {result.dtype}, the library has {' and '.join(DTYPES)}")
    batches = [value.tensor_info.known_shape for value in (a, b)]
    if any(shape is None or len(shape) < 2 for shape in batches):
        raise call.refuse("an operand is no matrix of known rank")
    left, right = (shape[:-2] for shape in batches if shape is not None)
    if not _fit(left, right):
        raise call.refuse("its operands have dimensions in front of the matrices that differ")
    *batch, m, n = result.known_shape
    shape: tuple[Dim, ...]
    if batch and not right and not trans_a:  # fold the batch into the rows
        a, shape = R.reshape(a, (product([*batch, m]), a.shape[-1])), (product([*batch, m]), n)
    else:
        a, b = _stacked(a), _stacked(b)
        shape = (product(batch), m, n) if batch else (m, n)
    given = (a, b, trans_a, trans_b, _limit.get())
    made = R.call_dps_packed(FUNCTION, given, out=Tensor(shape, result.dtype))
    return made if len(shape) == len(result.known_shape) else R.reshape(made, result.known_shape)


def _operand(call: CompositeCall, value: Value) -> tuple[Value, bool]:
    """An argument of the call, and true if the matmul transposes it."""
    made = definition(value)
    is_turned = made is not None and made.op == "permute_dims"
    found = call.argument_of(made.operands[0] if made is not None and is_turned else value)
    if found is None:
        raise call.refuse("an operand is computed inside the composite function")
    return found, is_turned


def _stacked(value: Value) -> Value:
    """Matrices with any number of batch dimensions as a tensor of rank 2 or 3."""
    *batch, rows, columns = value.shape
    return value if len(batch) < 2 else R.reshape(value, (product(batch), rows, columns))


@dataclass(frozen=True)
class _Loaded:
    """The library in this process: the packed function, and its function table (see `blas_products`)."""

    function: tvm_ffi.Function
    table: ctypes.Array[ctypes.c_int64]
    library: ctypes.CDLL


def load() -> tvm_ffi.Function:
    """Load the library, register the packed function and return it.

    `rx.build` does this for modules that call it. Where only executables of bytecode or exported libraries are loaded,
    call this before they run.

    Raises:
        ArgumentError: the library is not installed.
        UnsupportedError: the library lacks a function.
    """
    return _loaded().function


@functools.cache
def _loaded() -> _Loaded:
    library = _library()
    code = load_code(wrapper_text(), (ADDRESS, ENTRY), has_checks=True)
    address = pointer_from(code, ADDRESS)
    table = (ctypes.c_int64 * 4).from_address(address)
    for index, name in enumerate(("scipy_cblas_sgemm64_", "scipy_cblas_dgemm64_")):
        table[index] = ctypes.cast(_symbol(library, name), ctypes.c_void_p).value or 0
    table[3] = Target.host().num_threads
    if table[3] > 1:
        threads.bind(address + 16)
    _symbol(library, "scipy_openblas_set_num_threads64_")(1)
    function = tvm_ffi.Function.__from_extern_c__(code.address(ENTRY))
    tvm_ffi.register_global_func(FUNCTION, function, override=True)
    return _Loaded(function, table, library)


def _library() -> ctypes.CDLL:
    try:
        import scipy_openblas64 as package
    except ImportError:
        raise ArgumentError(f"openblas: the package scipy-openblas64 is not installed; {INSTALL}") from None
    path = Path(package.get_lib_dir()) / f"lib{package.get_library()}.so"
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ArgumentError(f"openblas: the library {path} cannot be loaded: {error}") from None


def _symbol(library: ctypes.CDLL, name: str) -> Any:  # noqa: ANN401 - a function of ctypes
    try:
        return getattr(library, name)
    except AttributeError:
        raise UnsupportedError(
            f"openblas: the library {library._name} has no function {name}: it is another one than scipy-openblas64 "
            "brings; install that anew"
        ) from None


def set_num_threads(count: int) -> None:
    """Set the maximum number of threads of compiled code per matmul; initially that of `Target.host`.

    Raises:
        ArgumentError: `count` is not an integer from 1 to 256; also the errors of `load`.
        UnsupportedError: compiled code runs on one thread on this system.
    """
    expect("openblas.set_num_threads: 'count'", count, int, "a number")
    if not 1 <= count <= MAX_THREADS:
        raise ArgumentError(f"openblas.set_num_threads: 'count' is {count}, expected 1 to {MAX_THREADS}")
    threads.require_threads(count, "openblas.set_num_threads")
    loaded = _loaded()
    if count > 1:
        threads.bind(ctypes.addressof(loaded.table) + 16)
    loaded.table[3] = count


_limit: ContextVar[int] = ContextVar("openblas_threads", default=0)
"""The number of threads of the matmuls that `generate` emits; 0: the value of `set_num_threads`."""


def use_openblas(mod: IRModule, choose: Choose | None = None, target: str | Target | None = None) -> IRModule:
    """Return a copy of `mod` in which the library computes the matmuls that it supports.

    `target`: the target for which `mod` will be built; its `num_threads` is the maximum. None: that of
        `set_num_threads`.

    Runs ``fuse-ops-by-pattern`` with `patterns(choose)`, ``merge-composite-functions`` and ``run-codegen``.

    Raises:
        ArgumentError: the library is not installed.
    """
    expect("use_openblas: 'mod'", mod, IRModule, "an IRModule")
    load()
    merge, generate_code = (create_pass(name) for name in ("merge-composite-functions", "run-codegen"))
    token = _limit.set(0 if target is None else Target.parse(target).num_threads)
    try:
        return Sequential([FuseOpsByPattern(tuple(patterns(choose))), merge, generate_code], name="use-openblas")(mod)
    finally:
        _limit.reset(token)


def strategy(min_work: int = 0, plevel: int = 20) -> Strategy:
    """A strategy of `matmul`: the library computes matmuls of `min_work` or more multiplications.

    They use at most `num_threads` threads of the target. If the size is only known at run time, the program also
    contains generated kernels, for the smaller sizes. The strategy takes matrices and equal-sized batches of float32 or
    float64; use `patterns` for transposed operands.

    >>> register_strategy("relax.matmul")(openblas.strategy(min_work=2**24))

    Raises:
        ArgumentError: the library is not installed, or a negative number.
    """
    expect("openblas.strategy: 'min_work'", min_work, int, "a number")
    expect("openblas.strategy: 'plevel'", plevel, int, "a number")
    if min_work < 0:
        raise ArgumentError(f"openblas.strategy: 'min_work' is {min_work}, expected a number that is not negative")
    load()

    def products(attrs: Attrs, inputs: Sequence[te.Tensor], out_type: StructInfo, target: Target) -> OpStrategy:
        found = OpStrategy()
        a, b = inputs
        unless = _against(a, b, out_type)
        work = product([*a.shape, b.shape[-1]]) if not unless else 0
        with SpecializedCondition(work >= min_work):
            compute = functools.partial(_compute, target.num_threads)
            found.add_implementation(compute, name=NAME, plevel=plevel, unless=unless)
        return found

    return products


def _against(a: te.Tensor, b: te.Tensor, out_type: StructInfo) -> str:
    """The reason that the library does not support a matmul; "" if it does."""
    if a.dtype != b.dtype or a.dtype not in DTYPES or not isinstance(out_type, Tensor):
        return f"it takes {' and '.join(DTYPES)}, not {a.dtype}"
    if out_type.dtype is None or out_type.dtype.name != a.dtype:
        return f"it gives {a.dtype}, not {out_type.dtype}"
    if a.ndim not in (2, 3) or a.ndim != b.ndim or not _fit(a.shape[:-2], b.shape[:-2]):
        return "it takes two matrices, or as many on both sides"
    return ""


def _compute(threads: int, attrs: Attrs, inputs: Sequence[te.Tensor], out_type: StructInfo) -> te.Tensor:
    assert isinstance(out_type, Tensor)
    made: te.Tensor = te.extern(
        list(out_type.known_shape or ()),
        list(inputs),
        lambda ins, outs: te.call_packed(FUNCTION, *ins, False, False, threads, *outs),
        NAME,
    )
    return made


register_patterns(patterns()[::-1])
