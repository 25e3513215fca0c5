"""Modules, parameters and tensors of `relax_mlir.frontend.nn`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from relax_mlir import op as R
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects import dtypes
from relax_mlir.dialects import types as infos
from relax_mlir.dialects.types import DimLike
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
from relax_mlir.runtime import to_numpy
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.frontend.nn.jit import CompiledModule
    from relax_mlir.frontend.nn.spec import ModuleSpec
    from relax_mlir.ir_module import IRModule

T = TypeVar("T")
Nested: TypeAlias = Any
"""A tensor, or a (nested) tuple or list of tensors; in arguments also numbers and symbols."""

_default_dtype = "float32"
_current: ContextVar[Export | None] = ContextVar("nn_export", default=None)


def get_default_dtype() -> str:
    """The dtype of parameters that are created without one; ``float32`` at first."""
    return _default_dtype


def set_default_dtype(dtype: str) -> None:
    """Set the dtype of parameters that are created without one."""
    global _default_dtype
    _default_dtype = dtypes.dtype(dtype).name


@dataclass(frozen=True)
class Export:
    """The export that is under way: the builder of the current function, and the subroutines by signature."""

    builder: BlockBuilder
    subroutines: dict[tuple[Any, str], str]


def current_export(what: str) -> Export:
    """The export that is under way; raises `ArgumentError` outside of `Module.export_tvm`."""
    export = _current.get()
    if export is None:
        raise ArgumentError(f"{what}: ops of nn are called in methods that Module.export_tvm traces")
    return export


def current_builder(what: str) -> BlockBuilder:
    """The builder of the function that is being exported; raises `ArgumentError` outside of `Module.export_tvm`."""
    return current_export(what).builder


@contextmanager
def exporting(export: Export) -> Iterator[None]:
    """In the context, ops of nn emit into the function that the builder of `export` builds."""
    token = _current.set(export)
    try:
        yield
    finally:
        _current.reset(token)


class Tensor:
    """A tensor in the method of a module: `_expr` is its value in Relax."""

    def __init__(self, *, _expr: Value) -> None:
        expect("nn.Tensor: '_expr'", _expr, Value, "a Relax value")
        expect("nn.Tensor: the struct info of '_expr'", _expr.struct_info, infos.Tensor, "that of a tensor")
        self._expr = _expr

    @staticmethod
    def from_const(data: Any) -> Tensor:  # noqa: ANN401 - what NumPy or DLPack takes
        """A constant: a NumPy array, a tensor, or a (nested) list of numbers."""
        return Tensor(_expr=R.const(_array(data)))

    @staticmethod
    def from_scalar(data: float, dtype: str) -> Tensor:
        """A constant of rank 0."""
        return Tensor(_expr=R.const(data, dtype))

    @staticmethod
    def from_struct_info(struct_info: infos.Tensor, name: str = "tensor") -> Tensor:
        """A tensor that has no value: an output of `extern` or `tensor_ir_op`."""
        return Tensor(_expr=Var(name, struct_info))

    from_ty = from_struct_info

    @staticmethod
    def placeholder(shape: Sequence[DimLike], dtype: str, name: str = "tensor") -> Tensor:
        """As `from_struct_info`, by shape and dtype."""
        return Tensor.from_struct_info(infos.Tensor(shape, dtype), name)

    @property
    def struct_info(self) -> infos.Tensor:
        """The shape and dtype as a struct info."""
        info = self._expr.struct_info
        assert isinstance(info, infos.Tensor)
        return info

    @property
    def shape(self) -> list[Dim]:
        """The dimensions: integers and symbolic expressions; raises `ShapeError` if one is unknown."""
        shape = self.struct_info.known_shape
        if shape is None:
            raise ShapeError(f"nn.Tensor: the shape of {self!r} is not known")
        return list(shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions; raises `ShapeError` if it is unknown."""
        rank = self.struct_info.ndim
        if rank is None:
            raise ShapeError(f"nn.Tensor: the rank of {self!r} is not known")
        return rank

    @property
    def dtype(self) -> str:
        """The name of the dtype; raises `DTypeError` if it is unknown."""
        dtype = self.struct_info.dtype
        if dtype is None:
            raise DTypeError(f"nn.Tensor: the dtype of {self!r} is not known")
        return str(dtype)

    def __repr__(self) -> str:
        return f"Tensor({self.struct_info})"

    def __add__(self, other: Tensor | float) -> Tensor:
        return emitted(R.add, "add", self, other)

    def __radd__(self, other: float) -> Tensor:
        return emitted(R.add, "add", other, self)

    def __sub__(self, other: Tensor | float) -> Tensor:
        return emitted(R.subtract, "subtract", self, other)

    def __rsub__(self, other: float) -> Tensor:
        return emitted(R.subtract, "subtract", other, self)

    def __mul__(self, other: Tensor | float) -> Tensor:
        return emitted(R.multiply, "mul", self, other)

    def __rmul__(self, other: float) -> Tensor:
        return emitted(R.multiply, "mul", other, self)

    def __truediv__(self, other: Tensor | float) -> Tensor:
        return emitted(R.divide, "divide", self, other)

    def __lt__(self, other: Tensor | float) -> Tensor:
        return emitted(R.less, "less", self, other)

    def __le__(self, other: Tensor | float) -> Tensor:
        return emitted(R.less_equal, "less_equal", self, other)

    def __gt__(self, other: Tensor | float) -> Tensor:
        return emitted(R.greater, "greater", self, other)

    def __ge__(self, other: Tensor | float) -> Tensor:
        return emitted(R.greater_equal, "greater_equal", self, other)

    def astype(self, dtype: str) -> Tensor:
        """See `nn.op.astype`."""
        return emitted(R.astype, "astype", self, dtype)

    def maximum(self, other: Tensor) -> Tensor:
        """See `nn.op.maximum`."""
        return emitted(R.maximum, "maximum", self, other)

    def minimum(self, other: Tensor) -> Tensor:
        """See `nn.op.minimum`."""
        return emitted(R.minimum, "minimum", self, other)

    def reshape(self, *shape: Any) -> Tensor:  # noqa: ANN401 - dimensions, or one sequence of them
        """See `nn.op.reshape`."""
        return emitted(R.reshape, "reshape", self, _flat(shape))

    def permute_dims(self, *axes: Any) -> Tensor:  # noqa: ANN401 - axes, or one sequence of them
        """See `nn.op.permute_dims`."""
        return emitted(R.permute_dims, "permute_dims", self, _flat(axes) or None)

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        """See `nn.op.repeat`."""
        return emitted(R.repeat, "repeat", self, repeats, axis)


def _flat(values: tuple[Any, ...]) -> list[Any]:
    return list(values[0]) if len(values) == 1 and isinstance(values[0], list | tuple) else list(values)


def _array(data: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 - what NumPy or DLPack takes
    return to_numpy(data) if hasattr(data, "__dlpack__") and not isinstance(data, np.ndarray) else np.asarray(data)


def value_of(item: Nested) -> Nested:
    """The Relax value of a tensor, also in lists and tuples; anything else unchanged."""
    if isinstance(item, Tensor | Object):
        return item._expr
    if isinstance(item, list | tuple):
        return type(item)(map(value_of, item))
    return item


def wrap_nested(expr: Value, name: str) -> Nested:
    """Bind a value to a name; return it as a `Tensor`, a tuple as a tuple of those."""
    bound = current_builder(name).emit(expr, name)
    return _wrapped(bound)


def _wrapped(value: Value) -> Nested:
    info = value.struct_info
    if isinstance(info, infos.Tensor):
        return Tensor(_expr=value)
    if isinstance(info, infos.Tuple):
        return tuple(_wrapped(value[index]) for index in range(len(info.fields)))
    raise ArgumentError(f"wrap_nested: the value is {info}, expected a tensor or a tuple of tensors")


def emitted(build: Callable[..., Value], name: str, *args: Nested, **kwargs: Any) -> Tensor:  # noqa: ANN401 - attributes
    """Emit an op of Relax with the values of `args`, and return its result, a tensor, which gets the given name."""
    current_builder(name)
    tensor = wrap_nested(build(*map(value_of, args), **kwargs), name)
    assert isinstance(tensor, Tensor)
    return tensor


class Parameter(Tensor):
    """A weight of a module: a parameter of the functions that `export_tvm` creates."""

    def __init__(self, shape: Sequence[DimLike], dtype: str | None = None) -> None:
        """`dtype`: that of the weight; None: `get_default_dtype`."""
        super().__init__(_expr=Var("param", infos.Tensor(shape, dtype or get_default_dtype())))
        self._data: np.ndarray[Any, Any] | None = None

    @property
    def data(self) -> np.ndarray[Any, Any] | None:
        """The values; None if they have not been set."""
        return self._data

    @data.setter
    def data(self, data: Any) -> None:  # noqa: ANN401 - what NumPy or DLPack takes
        """Set the values: a NumPy array or a tensor.

        Raises:
            ShapeError: of another shape. DTypeError: of another dtype.
        """
        if data is None:
            self._data = None
            return
        array = _array(data)
        dtype = str(dtypes.dtype(array.dtype).name)
        if len(array.shape) != self.ndim or any(
            isinstance(dim, int) and dim != size for dim, size in zip(self.shape, array.shape, strict=True)
        ):
            raise ShapeError(f"nn.Parameter: 'data' has shape {array.shape}, expected {tuple(self.shape)}")
        if dtype != self.dtype:
            raise DTypeError(f"nn.Parameter: 'data' has dtype {dtype}, expected {self.dtype}")
        self._data = array

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype, and convert the values."""
        if dtype is not None:
            self._expr = Var("param", infos.Tensor(self.shape, dtype))
            if self._data is not None:
                self._data = self._data.astype(dtypes.dtype(dtype).numpy)

    def bind(self, value: Value | None) -> None:
        """Use `value` as the value in the function that is being built; None: no value."""
        self._expr = Var("param", self.struct_info) if value is None else value


class Object:
    """An opaque value in the method of a module, such as a cache."""

    def __init__(self, *, _expr: Value, _name: str = "object") -> None:
        self._expr = current_builder("nn.Object").emit(_expr, _name)


class Effect:
    """State that functions take and return: a subclass is an attribute of a module."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Value]:
        """Emit the initial state, in the function ``_initialize_effect``."""
        raise NotImplementedError

    def create(self, name_hint: str) -> list[Var]:
        """The parameters that hold the state."""
        raise NotImplementedError

    def set_state(self, state_vars: Sequence[Value]) -> None:
        """Use these values as the state."""
        raise NotImplementedError

    def finalize(self) -> list[Value]:
        """The state at the end of a function; forget it."""
        raise NotImplementedError

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the state, if it has one."""


class Module:
    """A part of a model: parameters and modules as attributes, and methods on tensors.

    >>> from relax_mlir.frontend import nn
    >>> class Layer(nn.Module):
    ...     def __init__(self):
    ...         self.dense = nn.Linear(4, 2)
    ...
    ...     def forward(self, x):
    ...         return nn.relu(self.dense(x))
    >>> mod, params = Layer().export_tvm({"forward": {"x": nn.spec.Tensor(("n", 4), "float32")}})
    >>> [(name, param.shape) for name, param in params]
    [('dense.weight', [2, 4]), ('dense.bias', [2])]

    With ``define_subroutine = True`` in a class, its calls become calls of a private function, one for each signature.
    """

    define_subroutine: ClassVar[bool] = False

    def forward(self, *args: Nested, **kwargs: Nested) -> Nested:
        """The computation of the module; defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} has no method 'forward'")

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        if self.define_subroutine:
            from relax_mlir.frontend.nn.exporter import call_subroutine

            return call_subroutine(self, *args, **kwargs)
        return self.forward(*args, **kwargs)

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters and their names, such as ``layers.0.weight``; one that is used twice, once."""
        yield from _named(self, prefix, Parameter, set())

    def named_effects(self) -> Iterator[tuple[str, Effect]]:
        """Yield the effects and their names, as `named_parameters`."""
        yield from _named(self, "", Effect, set())

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def state_dict(self, *, prefix: str = "", destination: dict[str, Parameter] | None = None) -> dict[str, Parameter]:
        """The parameters by name, added to `destination` if there is one."""
        found = {} if destination is None else destination
        found.update(self.named_parameters(prefix))
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Set the values of parameters.

        Args:
            state_dict: parameters with values, or arrays, by name.
            strict: raise an error for missing and unknown names.

        Returns:
            The missing and the unknown names.

        Raises:
            ArgumentError: names are missing or unknown. ShapeError, DTypeError: values of another shape or dtype.
        """
        own = self.state_dict()
        missing = [name for name in own if name not in state_dict]
        unknown = [name for name in state_dict if name not in own]
        if strict and (missing or unknown):
            absent, other = (", ".join(names) or "none" for names in (missing, unknown))
            raise ArgumentError(f"load_state_dict: missing are {absent}; unknown are {other}")
        for name, item in state_dict.items():
            if name in own:
                own[name].data = item.data if isinstance(item, Parameter) else item
        return missing, unknown

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all parameters and effects."""
        for item in self.__dict__.values():
            if isinstance(item, Module | Parameter | Effect):
                item.to(dtype)

    def export_tvm(self, spec: Mapping[str, Any] | ModuleSpec, debug: bool = False, allow_extern: bool = False) -> Any:  # noqa: ANN401 - see Returns
        """Export methods as functions of a module.

        The parameters of a function are the arguments of the method, then the state of effects, then the parameters of
        the module. ``num_input`` is the number of those that are not parameters of the module.

        Args:
            spec: for each method its arguments: ``{"forward": {"x": nn.spec.Tensor(("n", 4), "float32")}}``. The
                argument ``"$"`` holds options: ``{"param_mode": "plain" | "packed" | "none", "effect_mode": …}``.
            debug: add an effect for `nn.print_` and `nn.debug_func`.
            allow_extern: return the external modules, too: there are none.

        Returns:
            The module, and the names and parameters; with `allow_extern` also an empty list.

        Raises:
            ArgumentError: a method or an argument that does not exist, or one without a spec.
        """
        from relax_mlir.frontend.nn.exporter import export

        mod, params = export(self, spec, debug)
        return (mod, params, []) if allow_extern else (mod, params)

    def jit(
        self,
        spec: Mapping[str, Any] | ModuleSpec,
        device: Any = "cpu",  # noqa: ANN401 - the text or a device
        pipeline: str | Callable[[IRModule], IRModule] | None = None,
        out_format: str = "torch",
        debug: bool = False,
    ) -> CompiledModule:
        """Compile methods; all parameters need values.

        Args:
            spec, debug: as for `export_tvm`.
            device: the CPU, ``"cpu"``.
            pipeline: a function of the exported module, or the name of a pipeline of `relax_mlir.tvm`.
            out_format: the form of results, ``"torch"`` or ``"numpy"``.

        Returns:
            An object with the methods: ``model["forward"](x)`` takes arrays and tensors.

        Raises:
            ArgumentError: a parameter without values; another device or format.
        """
        from relax_mlir.frontend.nn.jit import compiled

        return compiled(self, spec, device, pipeline, out_format, debug)


def _named(item: Any, name: str, kind: type[T], seen: set[int]) -> Iterator[tuple[str, T]]:  # noqa: ANN401
    """Yield the items of a class in a module, by depth, in the order of attributes."""
    if isinstance(item, kind):
        if id(item) not in seen:
            seen.add(id(item))
            yield name, item
        return
    for key, inner in _children(item):
        if isinstance(inner, Module | Parameter | Effect):
            yield from _named(inner, f"{name}.{key}" if name else str(key), kind, seen)


def _children(item: Any) -> Iterable[tuple[str | int, Any]]:  # noqa: ANN401 - a module
    if isinstance(item, _List):
        return enumerate(item)
    if isinstance(item, _Dict):
        return item.items()
    return vars(item).items() if isinstance(item, Module) else ()


class _List(Module, list):  # type: ignore[type-arg]  # the subclasses give the type of the items
    def __init__(self, items: Iterable[Any] = ()) -> None:
        list.__init__(self, items)

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all items."""
        for item in self:
            item.to(dtype)


class _Dict(Module, dict):  # type: ignore[type-arg]  # the subclasses give the type of the items
    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        dict.__init__(self, items or {})

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all items."""
        for item in self.values():
            item.to(dtype)


class ModuleList(_List):
    """A list of modules; called, it applies them one after the other."""

    def forward(self, x: Nested) -> Nested:
        """Apply each module to the result of the one before."""
        for module in self:
            x = module(x)
        return x


class ModuleDict(_Dict):
    """A dictionary of modules."""


class ParameterList(_List):
    """A list of parameters."""


class ParameterDict(_Dict):
    """A dictionary of parameters."""
