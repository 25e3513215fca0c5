"""Read and check ONNX models from files, bytes or objects."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import onnx
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]  # it has no types
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]  # it has no types
from onnx import ModelProto

from relax_mlir import files
from relax_mlir.error import ArgumentError, OutOfMemoryError, ParseError, UnsupportedError
from relax_mlir.frontend.onnx.registry import normal_domain

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
        raise ParseError(f"{name} is not as ONNX defines models: {_first(error)}") from error
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


def _first(error: Exception) -> str:
    return " ".join(str(error).split())[:400]
