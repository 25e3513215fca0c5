"""`from_onnx`: read and check a model, and import it as a module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]  # it has no types
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]  # it has no types
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

from relax_mlir import files, symbolic
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.random import STATE
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Var
from relax_mlir.error import (
    ArgumentError,
    OutOfMemoryError,
    ParseError,
    RelaxError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
    expect,
)
from relax_mlir.frontend.common import UnsupportedOps, importing
from relax_mlir.frontend.onnx.converter import NAME as GENERATOR
from relax_mlir.frontend.onnx.converter import (
    Converter,
    NumbersDrawnError,
    distinct,
    has_function,
    identifier,
    parsed_dim,
    subgraphs,
)
from relax_mlir.frontend.onnx.dtypes import NARROW, dtype_name, numpy_dtype, storage_of
from relax_mlir.frontend.onnx.folding import has_folding
from relax_mlir.frontend.onnx.items import (
    Arrays,
    Item,
    OptionalItem,
    Scope,
    SequenceItem,
    TensorItem,
    of_array,
    of_value,
)
from relax_mlir.frontend.onnx.registry import ValueNeededError, find_rule, normal_domain, place_of
from relax_mlir.ir_module import IRModule
from relax_mlir.symbolic import Dim

# Read and check ONNX models from files, bytes or objects.


ModelLike: TypeAlias = Any
"""A path, the bytes of a file, or an ``onnx.ModelProto``."""


def load_model(model: ModelLike) -> tuple[ModelProto, Path | None]:
    """Load and check a model; also return the folder of its external data if it comes from a file.

    Raises:
        ParseError: the file does not exist, or is no valid model.
        ArgumentError: `model` is neither a path, nor bytes, nor a model.
        UnsupportedError: the installed `onnx` does not support an opset of the model.
    """
    proto, folder, name = _read(model)
    if not proto.HasField("graph") or not proto.graph.output:
        raise ParseError(f"{name} is no ONNX model: it has no graph with outputs")
    check_opsets(proto, name)
    outline = _outline(proto)
    for field, data in _undecoded(outline):
        raise ParseError(f"{name} is no ONNX model: {field} is {data[:60]!r}, which is not UTF-8")
    try:
        onnx.checker.check_model(outline)
    except (onnx.checker.ValidationError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:400]
        raise ParseError(f"{name} is not as ONNX defines models: {reason}") from error
    return proto, folder


def _read(model: ModelLike) -> tuple[ModelProto, Path | None, str]:
    if isinstance(model, ModelProto):
        return model, None, "the model"
    if isinstance(model, bytes):
        return _parsed(model, "the model"), None, "the model"
    if not isinstance(model, str | os.PathLike):
        raise ArgumentError(
            f"from_onnx: the model is a {type(model).__name__}, expected a path, bytes, or an onnx.ModelProto"
        )
    path = Path(model)
    return _parsed(_contents(path), str(path)), path.parent, str(path)


def _contents(path: Path) -> bytes:
    try:
        return files.read_bytes(path)
    except FileNotFoundError as error:
        raise ParseError(f"cannot open the model {str(path)!r}: there is no such file") from error
    except OSError as error:
        raise ParseError(f"cannot open the model {str(path)!r}: {error.strerror or error}") from error
    except MemoryError as error:
        raise OutOfMemoryError(
            f"there is no memory for the {path.stat().st_size} bytes of {path}: "
            "save it with external data, which is mapped into memory"
        ) from error


def _parsed(data: bytes, name: str) -> ModelProto:
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise ParseError(f"{name} is no ONNX model: {error}") from error
    return proto


def check_opsets(proto: ModelProto, name: str) -> None:
    """Raise for unknown opsets of ONNX."""
    newest = onnx.defs.onnx_opset_version()
    versions = {normal_domain(opset.domain): opset.version for opset in proto.opset_import}
    if versions.get("", newest) > newest:
        raise UnsupportedError(
            f"{name} is of opset {versions['']}, but onnx {onnx.__version__} knows opsets up to {newest}: "
            "install a newer onnx"
        )
    if versions.get("", 1) < 1:
        raise ParseError(f"{name} is of opset {versions['']}; expected 1 or more")


def _outline(proto: ModelProto) -> ModelProto:
    """Return the model for the checker: without data, which may be large or external, and without shapes."""
    light = ModelProto()
    light.ir_version = proto.ir_version
    light.opset_import.extend(proto.opset_import)
    light.functions.extend(proto.functions)
    graph = light.graph
    graph.name = proto.graph.name
    graph.node.extend(proto.graph.node)
    graph.input.extend(proto.graph.input)
    graph.output.extend(proto.graph.output)
    graph.sparse_initializer.extend(proto.graph.sparse_initializer)
    for info in (*graph.input, *graph.output):
        if info.type.HasField("tensor_type") and not info.type.tensor_type.HasField("shape"):
            info.type.tensor_type.shape.SetInParent()
    for tensor in proto.graph.initializer:
        graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=[0])
    return light


def _undecoded(message: Any) -> Iterator[tuple[str, bytes]]:  # noqa: ANN401 - a message without types
    """Yield the strings that are not UTF-8, which protobuf returns as bytes, with the names of their fields."""
    for field, value in message.ListFields():
        if field.type not in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE):
            continue
        for item in (value,) if isinstance(value, str | bytes | Message) else value:
            if isinstance(item, bytes):
                yield field.full_name, item
            elif isinstance(item, Message):
                yield from _undecoded(item)


# Find all nodes of a model without a rule, before conversion.


Functions = Mapping[tuple[str, str], FunctionProto]


def check_nodes(proto: ModelProto, opsets: Mapping[str, int], functions: Functions) -> None:
    """Raise an `UnsupportedError` that lists each op without a rule, its count and its nodes."""
    found = UnsupportedOps("the model")
    for node, versions in _all_nodes(proto, opsets):
        domain = normal_domain(node.domain)
        if (domain, node.op_type) in functions:
            continue
        opset = versions.get(domain, 0)
        if find_rule(domain, node.op_type, opset) or has_folding(domain, node.op_type):
            continue
        if has_function(domain, node.op_type, opset):
            continue
        op = f"{domain + '.' if domain else ''}{node.op_type} of opset {opset}"
        found.add(op, "no rule", place_of(node))
    if found:
        raise found.error()


def _all_nodes(proto: ModelProto, opsets: Mapping[str, int]) -> Iterator[tuple[NodeProto, Mapping[str, int]]]:
    yield from ((node, opsets) for node in _nested(proto.graph.node))
    for function in proto.functions:
        own = dict(opsets) | {normal_domain(o.domain): o.version for o in function.opset_import}
        yield from ((node, own) for node in _nested(function.node))


def _nested(nodes: Sequence[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for graph in subgraphs(node):
            yield from _nested(graph.node)


# `from_onnx`: import a model as a module.


Shape = Sequence[int | str]


def from_onnx(
    model: ModelLike,
    *,
    name: str = "main",
    shapes: Mapping[str, Shape] | None = None,
    fixed: Mapping[str, Any] | None = None,
    sequences: Mapping[str, Sequence[Shape]] | None = None,
    bounds: Mapping[str, tuple[int, int | None]] | None = None,
) -> IRModule:
    """Import an ONNX model as a module; the parameters of its function `name` are the model's inputs.

    `model` is a path, the bytes of a file, or an `onnx.ModelProto`. Dimensions with a ``dim_param`` are symbols of that
    name; the names of other dimensions are derived from the inputs. Constants share the memory of `model`; external
    data files are memory-mapped. One output is the result, several outputs are a tuple.

    `shapes` overrides the shapes of inputs, ``{"x": ("n", 3, 224, 224)}``. `fixed` gives values to inputs, which are
    then no parameters; some ops need such values at import, for example the axes of a reduction. `sequences` gives the
    element shapes of sequence inputs; each element is a parameter. `bounds` are bounds of symbols, as in
    `BlockBuilder.function`.

    If the model draws random numbers, the function has an additional last parameter ``generator``, the state of a
    `relax_mlir.random.Generator`, and returns the next state after its results; ``Generator(7).draw(function, x)``
    calls it. Nodes with a seed use that seed and the counter of the state, all others the generator's key and counter.
    The numbers have ONNX's distributions, but differ from those of other implementations.

    Raises:
        ParseError: the file does not exist or contains no valid model, or external data is missing.
        UnsupportedError: ops, dtypes or opsets are not supported; lists all ops with their nodes.
        ShapeError, DTypeError: operands of a node do not match.
        ArgumentError, UnknownNameError: wrong arguments, such as names in `shapes` that are no inputs.
        ValueNeededError: an input whose value must be in `fixed`.
    """
    expect("from_onnx: 'name'", name, str, "a string")
    return import_model(model, name, shapes or {}, fixed or {}, sequences or {}, bounds).module


@dataclass(frozen=True)
class Imported:
    """A module imported from a model; `draws` is True if its function takes and returns a state of random numbers."""

    module: IRModule
    draws: bool


def import_model(
    model: ModelLike,
    name: str,
    shapes: Mapping[str, Shape],
    fixed: Mapping[str, Any],
    sequences: Mapping[str, Sequence[Shape]],
    bounds: Mapping[str, tuple[int, int | None]] | None = None,
) -> Imported:
    """Import a model like `from_onnx`. If a node draws random numbers, start again with a generator parameter."""
    proto, folder = load_model(model)
    title = Path(model).name if isinstance(model, str | os.PathLike) else "the model"
    declare = partial(_Inputs, proto.graph, shapes, fixed, sequences)
    try:
        return Imported(_converted(proto, folder, title, name, declare, bounds), draws=False)
    except NumbersDrawnError:
        return Imported(_converted(proto, folder, title, name, declare, bounds, draws=True), draws=True)


def _converted(
    proto: onnx.ModelProto,
    folder: Path | None,
    title: str,
    name: str,
    declare: Callable[[], _Inputs],
    bounds: Mapping[str, tuple[int, int | None]] | None,
    draws: bool = False,
) -> IRModule:
    opsets = {normal_domain(o.domain): o.version for o in proto.opset_import}
    functions = {(normal_domain(f.domain), f.name): f for f in proto.functions}
    check_nodes(proto, opsets, functions)
    inputs = declare()
    bb = BlockBuilder()
    state = [Var(distinct(GENERATOR, inputs.taken), STATE)] if draws else []
    converter = Converter(bb, Arrays(folder), functions, *state)
    with bb.function(name, [*inputs.params, *state], bounds=bounds):
        converter.reserve({s for p in inputs.params for s in p.struct_info.symbols()} | inputs.symbols)
        scope = Scope()
        inputs.bind(scope)
        converter.bind_initializers(proto.graph, scope)
        names = [output.name for output in proto.graph.output]
        try:
            with importing(title, len(proto.graph.node)) as done:
                converter.convert_nodes(proto.graph.node, names, scope, opsets, done)
        except RelaxError as error:
            raise _explained(error, converter, inputs) from error
        results = [_result(converter, scope.find(output), output) for output in names]
        results += converter.states()
        bb.emit_func_output(results[0] if len(results) == 1 else results)
    return bb.get()


def _explained(error: RelaxError, converter: Converter, inputs: _Inputs) -> RelaxError:
    """Add to an error the inputs whose values might help, if the model does not support symbolic sizes."""
    names = [name for name in inputs.may_be_fixed() if name in converter.open_inputs]
    if isinstance(error, ValueNeededError) or not names:
        return error
    shown = ", ".join(map(repr, names))
    return ValueNeededError(
        f"{error}\nThis depends on the value of {shown}: from_onnx(..., fixed={{name: value}}) makes a program for one",
        names,
    )


def _result(converter: Converter, item: Item | None, name: str) -> Any:  # noqa: ANN401 - a value or a list of them
    if isinstance(item, OptionalItem):
        item = item.item
    if item is None:
        raise UnsupportedError(f"the output '{name}' is an empty optional, which no function can return")
    if isinstance(item, SequenceItem):
        return [_result(converter, part, name) for part in item.items]
    assert isinstance(item, TensorItem)
    return converter.value_of(item)


class _Inputs:
    """The inputs of a graph as parameters."""

    def __init__(
        self,
        graph: GraphProto,
        shapes: Mapping[str, Shape],
        fixed: Mapping[str, Any],
        sequences: Mapping[str, Sequence[Shape]],
    ) -> None:
        constants = {tensor.name for tensor in graph.initializer}
        constants.update(sparse.values.name for sparse in graph.sparse_initializer)
        self._infos = [info for info in graph.input if info.name not in constants]
        known = [info.name for info in self._infos]
        for what, names in (("shapes", shapes), ("fixed", fixed), ("sequences", sequences)):
            for given in names:
                if given not in known:
                    raise UnknownNameError(f"input of the model in '{what}'", given, known)
        self.params: list[Var] = []
        self.symbols: set[str] = set()
        self._items: dict[str, Item] = {}
        self.taken: set[str] = set()
        """Names of parameters in use."""
        self._plain = _plain_symbols(self._infos, shapes)
        for info in self._infos:
            if info.name in fixed:
                self._items[info.name] = _fixed(info, fixed[info.name])
            else:
                self._items[info.name] = self._declare(info, shapes.get(info.name), sequences.get(info.name))

    def may_be_fixed(self) -> list[str]:
        """Return the inputs whose values a program may reasonably depend on."""
        return [info.name for info in self._infos if may_be_fixed(info.type)]

    def bind(self, scope: Scope) -> None:
        """Bind the input names to the parameters, within the function."""
        for name, item in self._items.items():
            scope.bind(name, _bound(item), (name,))

    def _declare(self, info: ValueInfoProto, shape: Shape | None, parts: Sequence[Shape] | None) -> Item:
        type_ = info.type
        if type_.HasField("optional_type"):
            return OptionalItem(self._of_type(info.name, type_.optional_type.elem_type, shape, parts))
        return self._of_type(info.name, type_, shape, parts)

    def _of_type(self, name: str, type_: onnx.TypeProto, shape: Shape | None, parts: Sequence[Shape] | None) -> Item:
        what = f"the input '{name}'"
        if type_.HasField("sequence_type"):
            if parts is None:
                raise ValueNeededError(
                    f"{what} is a sequence: give the shapes of its elements, from_onnx(..., sequences="
                    f'{{"{name}": [shape, …]}})',
                    [name],
                )
            element = type_.sequence_type.elem_type
            return SequenceItem(
                tuple(self._of_type(f"{name}_{i}", element, part, None) for i, part in enumerate(parts))
            )
        if not type_.HasField("tensor_type"):
            raise UnsupportedError(f"{what} is no tensor, which is not supported")
        dtype = dtype_name(type_.tensor_type.elem_type, what)
        dims = self._dims(name, type_.tensor_type, shape)
        param = Var(distinct(name, self.taken), Tensor(dims, storage_of(dtype)))
        self.params.append(param)
        return TensorItem(dtype, param)

    def _dims(self, name: str, type_: onnx.TypeProto.Tensor, shape: Shape | None) -> list[Dim]:
        if shape is not None:
            return [dim if isinstance(dim, int) else self._symbol(str(dim)) for dim in shape]
        if not type_.HasField("shape"):
            raise ShapeError(
                f"the rank of the input '{name}' is not known: give its shape, "
                f'from_onnx(..., shapes={{"{name}": ("n", 4)}})'
            )
        found: list[Dim] = []
        for number, dim in enumerate(type_.shape.dim):
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                found.append(dim.dim_value)
                continue
            named = any(character.isalnum() for character in dim.dim_param)  # "?", "" and -1 are no names
            found.append(self._symbol(dim.dim_param if named else f"{identifier(name)}_dim{number}"))
        return found

    def _symbol(self, text: str) -> Dim:
        """Parse a `dim_param`: an expression of symbols that other dimensions define, else one symbol."""
        parsed = parsed_dim(text)
        if parsed is not None and all(s in self._plain for s in symbolic.symbols(parsed)):
            self.symbols.update(symbolic.symbols(parsed))
            return parsed
        self.symbols.add(identifier(text))
        return symbolic.symbol(identifier(text))


def may_be_fixed(type_: onnx.TypeProto) -> bool:
    """True if programs may depend on the value of an input: integers, small vectors, sequences, optionals."""
    if not type_.HasField("tensor_type"):
        return True
    floats = (
        onnx.TensorProto.FLOAT,
        onnx.TensorProto.DOUBLE,
        onnx.TensorProto.FLOAT16,
        onnx.TensorProto.BFLOAT16,
    )
    return type_.tensor_type.elem_type not in floats or len(type_.tensor_type.shape.dim) <= 1


def _plain_symbols(infos: Sequence[ValueInfoProto], shapes: Mapping[str, Shape]) -> set[str]:
    """Return the dimensions that are identifiers: the symbols that expressions may use."""
    texts = {
        dim.dim_param
        for info in infos
        if info.name not in shapes
        for dim in info.type.tensor_type.shape.dim
        if dim.dim_param
    }
    texts.update(str(dim) for shape in shapes.values() for dim in shape)
    return {text for text in texts if symbolic.is_identifier(text)}


def _fixed(info: ValueInfoProto, value: Any) -> Item:  # noqa: ANN401 - what a user gives
    if value is None and info.type.HasField("optional_type"):
        return OptionalItem(None)
    if not info.type.HasField("tensor_type"):
        raise ArgumentError(f"fixed: the input '{info.name}' is no tensor")
    name = dtype_name(info.type.tensor_type.elem_type, f"the input '{info.name}'")
    dtype = numpy_dtype(name)
    array = np.asarray(value)
    if array.dtype != dtype and not (isinstance(value, int | float | list | tuple | bool)):
        raise ArgumentError(f"fixed: the input '{info.name}' is of {dtype}, but the value of {array.dtype}")
    array = array.astype(dtype)
    return of_array(NARROW[name].stored(array) if name in NARROW else array, name)


def _bound(item: Item) -> Item:
    """Return the item within the function, where parameters have values."""
    if isinstance(item, SequenceItem):
        return SequenceItem(tuple(_bound(part) for part in item.items))
    if isinstance(item, OptionalItem):
        return OptionalItem(None if item.item is None else _bound(item.item))
    return TensorItem(item.dtype, of_value(item.value).value) if item.value is not None else item
