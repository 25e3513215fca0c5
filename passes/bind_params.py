"""Pass ``bind-params``: bind parameters to constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from relax_mlir import symbolic
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects import constants, dtypes
from relax_mlir.dialects.structure import ConstantOp
from relax_mlir.dialects.types import Tensor, struct_info
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, UnknownNameError, expect
from relax_mlir.files import load_arrays
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.passes.bind_symbolic_vars import bind, check_calls
from relax_mlir.passes.normalize import Normalize
from relax_mlir.rewrite.function_editing import arguments_of, calls_of, remove_parameters, set_arguments
from relax_mlir.transform import ModulePass, PassContext, relax_functions

Array = np.ndarray[Any, Any]


def checked(params: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays by name; raises `ArgumentError` for other keys and values."""
    expect("BindParams: 'params'", params, Mapping, "a dictionary of arrays by the parameters' names")
    for name, value in params.items():
        expect("BindParams: a key of 'params'", name, str, "the name of a parameter")
        if not hasattr(value, "__array__"):
            raise ArgumentError(
                f"BindParams: params[{name!r}] is of type {type(value).__name__}, expected an array"
            )
    return dict(params)


@dataclass(frozen=True)
class BindParams(ModulePass):
    """Bind parameters of `function` to constants: the arrays of the ``.npz`` file `file`, by parameter name.

    In Python, a dictionary of arrays may replace the file, ``BindParams("main", {"w": w})``; large C-contiguous arrays
    are referenced, not copied. A symbol that is a whole dimension of a bound parameter is bound to the size of the
    array. Calls of the function in the module lose the argument. Follows TVM's BindParams.

    Raises:
        UnknownNameError: no such function or parameter.
        ArgumentError: a parameter that is not a tensor; an unreadable file.
        DTypeError, ShapeError: an array that does not match the parameter.
    """

    name: ClassVar[str] = "bind-params"
    function: str = "main"
    file: str = ""
    params: Mapping[str, Array] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        given: object = self.file
        if isinstance(given, Mapping):
            object.__setattr__(self, "file", "")
            object.__setattr__(self, "params", checked(given))

    @classmethod
    def of(cls, params: Mapping[str, Array], function: str = "main") -> BindParams:
        """The pass that binds the parameters of `function` named in `params` to constants."""
        made = cls(function)
        object.__setattr__(made, "params", checked(params))
        return made

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        functions = {op.name.value: op for op in relax_functions(module)}
        if self.function not in functions:
            raise UnknownNameError("Relax function", self.function, functions)
        target, arrays = functions[self.function], self._arrays()
        names = parameter_names(target)
        for name in arrays:
            if name not in names:
                raise UnknownNameError(f"parameter of function '{self.function}'", name, names)
        positions = {names.index(name): np.asarray(array) for name, array in arrays.items()}
        bind(target, self._sizes(target, names, positions))
        block = entry_block(target)
        with ir.InsertionPoint.at_block_begin(block):
            for index, array in positions.items():
                argument = block.arguments[index]
                constant = ir.Operation.create(
                    ConstantOp.OPERATION_NAME,
                    results=[Tensor(array.shape, dtypes.dtype(array.dtype)).to_type()],
                    attributes={"value": constants.to_attribute(array)},
                    loc=ir.Location.name(names[index], target.location),
                )
                argument.replace_all_uses_with(constant.results[0])
        for call in calls_of(module).get(self.function, ()):
            kept = [value for i, value in enumerate(arguments_of(call)) if i not in positions]
            set_arguments(call, kept)
        remove_parameters(target, list(positions))
        check_calls(module, [self.function])
        Normalize().transform(module, ctx)

    def _arrays(self) -> Mapping[str, Array]:
        if self.params is not None:
            return self.params
        if not self.file:
            raise ArgumentError("bind-params: give 'file', an .npz file of arrays by the parameters' names")
        try:
            stored = load_arrays(self.file)
        except (OSError, ValueError) as error:
            raise ArgumentError(f"bind-params: cannot read '{self.file}': {error}") from None
        if isinstance(stored, np.ndarray):
            raise ArgumentError(f"bind-params: '{self.file}' is one array, expected arrays by name (.npz)")
        return stored

    def _sizes(self, target: func.FuncOp, names: list[str], positions: Mapping[int, Array]) -> dict[str, int]:
        """The values of symbols that the arrays determine; raises if an array does not match its parameter."""
        found: dict[str, tuple[int, str]] = {}
        tensors = {i: self._tensor(target, names[i], i, array) for i, array in positions.items()}
        for index, info in tensors.items():
            for axis, dim in enumerate(info.shape or ()):
                symbol = None if dim is None else symbolic.linear_definition(dim)
                size = positions[index].shape[axis]
                if symbol is None:
                    continue
                known, source = found.setdefault(symbol, (size, f"'{names[index]}' dimension {axis}"))
                if known != size:
                    raise ShapeError(
                        f"bind-params: function '{self.function}': '{names[index]}' dimension {axis} is {size}, but "
                        f"{symbol} = {known}, taken from {source}"
                    )
        values = {symbol: size for symbol, (size, _) in found.items()}
        for index, info in tensors.items():
            for axis, dim in enumerate(info.shape or ()):
                if dim is not None:
                    self._check_size(names[index], info, axis, positions[index].shape[axis], values)
        return values

    def _check_size(self, name: str, info: Tensor, axis: int, size: int, values: dict[str, int]) -> None:
        """Raise `ShapeError` unless dimension `axis` of the parameter is `size`, given the values of symbols."""
        dim = (info.shape or ())[axis]
        assert dim is not None
        wanted = symbolic.substitute(dim, dict(values))
        if wanted == size:
            return
        what = f"bind-params: function '{self.function}': '{name}' dimension {axis} is {size}"
        if isinstance(wanted, int):
            raise ShapeError(f"{what}, but the parameter is {info} ({dim} = {wanted})")
        raise ShapeError(f"{what}; whether that is {wanted} is not known: bind-symbolic-vars first")

    def _tensor(self, target: func.FuncOp, name: str, index: int, array: Array) -> Tensor:
        what = f"bind-params: function '{self.function}': parameter '{name}'"
        info = struct_info(target.type.inputs[index])
        if not isinstance(info, Tensor):
            raise ArgumentError(f"{what} is {info}; only tensors can be bound")
        dtype = dtypes.dtype(array.dtype)
        if info.dtype is not None and info.dtype != dtype:
            raise DTypeError(f"{what} is {info}, but the array has dtype {dtype}")
        if info.shape is not None and len(info.shape) != array.ndim:
            raise ShapeError(f"{what} is {info}, but the array has rank {array.ndim}: {array.shape}")
        return info
