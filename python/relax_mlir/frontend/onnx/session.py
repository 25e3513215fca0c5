"""`InferenceSession`: run models through ONNX Runtime's interface; `RelaxBackend`: through ONNX's."""

from __future__ import annotations

import secrets
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TypeProto, ValueInfoProto
from onnx.backend.base import Backend, BackendRep

from relax_mlir.error import ArgumentError, DTypeError, UnknownNameError, expect
from relax_mlir.ffi import to_numpy
from relax_mlir.fork_safety import RenewedLock
from relax_mlir.frontend.common import compiling
from relax_mlir.frontend.onnx.dtypes import NAMES, NARROW, NARROW_NAMES, dtype_name, numpy_dtype
from relax_mlir.frontend.onnx.importer import ModelLike, import_model, load_model, may_be_fixed
from relax_mlir.frontend.onnx.items import MAX_FOLDED
from relax_mlir.frontend.onnx.registry import ValueNeededError
from relax_mlir.random import Generator
from relax_mlir.runtime.build import build
from relax_mlir.runtime.executable import CompiledFunction
from relax_mlir.target import Target

MAX_PROGRAMS = 16
"""The maximum number of programs that a session caches for different values of inputs."""


@dataclass(frozen=True)
class NodeArg:
    """An input or output of a model: name, type as text, and shape with numbers, names and None."""

    name: str
    type: str
    shape: list[int | str | None]


@dataclass(frozen=True)
class _Program:
    main: CompiledFunction
    draws: bool


class InferenceSession:
    """A model ready to run: ``InferenceSession("model.onnx").run(None, {"x": x})``.

    The methods are those of ``onnxruntime.InferenceSession``. There is one program for all sizes. If a program depends
    on the values of inputs, such as the axes of a reduction, one is compiled for each of their values on first use.
    `target` and `opt_level` are those of `relax_mlir.build`; `providers` and session options are ignored, with a
    warning.

    Random numbers come from `generator`, by default one with a seed chosen when the session is created; its state is
    kept between runs. Nodes with a seed draw the same numbers in the first run of every session, in the second run, and
    so on.
    """

    def __init__(
        self,
        path_or_bytes: ModelLike,
        sess_options: Any = None,  # noqa: ANN401 - as in onnxruntime
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Any] | None = None,
        *,
        target: Target | str | None = None,
        opt_level: int | None = None,
        generator: Generator | None = None,
        **kwargs: object,
    ) -> None:
        for what, given in (("sess_options", sess_options), ("provider_options", provider_options)):
            if given is not None:
                warnings.warn(f"InferenceSession: '{what}' has no meaning here", stacklevel=2)
        if providers and any(_provider_name(p) != "CPUExecutionProvider" for p in providers):
            warnings.warn(
                f"InferenceSession: 'providers' {list(map(_provider_name, providers))} are ignored: programs run "
                "on the CPU",
                stacklevel=2,
            )
        if kwargs:
            warnings.warn(f"InferenceSession: {', '.join(kwargs)} have no meaning here", stacklevel=2)
        self._model = path_or_bytes
        self._target = target
        self._opt_level = opt_level
        expect("InferenceSession: 'generator'", generator, Generator | None, "a relax_mlir.random.Generator")
        self.generator = Generator(secrets.randbits(64)) if generator is None else generator
        """The source of random numbers, in models that draw any."""
        self._drawing = RenewedLock()
        proto, _ = load_model(path_or_bytes)
        constants = {tensor.name for tensor in proto.graph.initializer}
        constants.update(sparse.values.name for sparse in proto.graph.sparse_initializer)
        self._inputs = [info for info in proto.graph.input if info.name not in constants]
        self._outputs = list(proto.graph.output)
        self._plain = {info.name: _plain_dtype(info.type) for info in [*self._inputs, *self._outputs]}
        self._input_names = [info.name for info in self._inputs]
        self._output_names = [info.name for info in self._outputs]
        self._nodes = len(proto.graph.node)
        self._special: list[str] = []
        self._programs: OrderedDict[Any, _Program] = OrderedDict()
        self._prepare()

    def _prepare(self) -> None:
        """Build the program, unless it depends on input values, which are unknown before the first call."""
        while True:
            if self._special:
                return
            try:
                self._programs[()] = self._build({}, {})
            except ValueNeededError as error:
                self._note(error)
            else:
                return

    def _note(self, error: ValueNeededError) -> None:
        """Make the program depend on the values of the inputs that an error names."""
        infos = {info.name: info for info in self._inputs}
        fresh = [name for name in error.inputs if name not in self._special]
        if not fresh or not all(may_be_fixed(infos[name].type) for name in fresh):
            raise error
        self._special += fresh

    def _build(self, fixed: Mapping[str, Any], sequences: Mapping[str, Any]) -> _Program:
        imported = import_model(self._model, "main", {}, fixed, sequences)
        target = "cpu" if self._target is None else self._target
        with compiling(self._nodes):
            executable = build(imported.module, target, opt_level=self._opt_level)
        return _Program(executable["main"], imported.draws)

    # -- the interface of onnxruntime

    def get_inputs(self) -> list[NodeArg]:
        """Return name, type and shape of each input."""
        return [_node_arg(info) for info in self._inputs]

    def get_outputs(self) -> list[NodeArg]:
        """Return name, type and shape of each output."""
        return [_node_arg(info) for info in self._outputs]

    def get_providers(self) -> list[str]:
        return ["CPUExecutionProvider"]

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,  # noqa: ANN401 - as in onnxruntime
    ) -> list[Any]:
        """Return the outputs `output_names` (None: all) for inputs given by name, as NumPy arrays."""
        names = self._output_names
        wanted = names if output_names is None else list(output_names)
        for name in wanted:
            if name not in names:
                raise UnknownNameError("output of the model", name, names)
        for name in input_feed:
            if name not in self._input_names:
                raise UnknownNameError("input of the model", name, self._input_names)
        feeds = {name: self._feed(info, input_feed) for name, info in zip(self._input_names, self._inputs, strict=True)}
        program = self._program(feeds)
        main = program.main
        arguments = [
            part if self._plain[name] is not None else _stored(part)
            for name, feed in feeds.items()
            if name not in self._special or isinstance(feed, list)
            for part in (feed if isinstance(feed, list) else [feed])
        ]
        if program.draws:
            with self._drawing.held():  # concurrent runs draw different numbers
                result = self.generator.draw(main, *arguments)
        else:
            result = main(*arguments)
        results = [result] if len(names) == 1 else list(result)
        found = {
            name: result
            if self._plain[name] is not None and isinstance(result, np.ndarray)
            else _as_numpy(result, info.type)
            for name, info, result in zip(names, self._outputs, results, strict=True)
        }
        return [found[name] for name in wanted]

    def _feed(self, info: ValueInfoProto, feeds: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an array or a list
        given, plain = feeds.get(info.name), self._plain[info.name]
        if plain is not None and isinstance(given, np.ndarray) and given.dtype == plain:
            return given
        type_ = info.type.optional_type.elem_type if info.type.HasField("optional_type") else info.type
        value = feeds.get(info.name)
        if value is None:
            if info.type.HasField("optional_type"):
                return None
            raise ArgumentError(f"run: the input '{info.name}' is missing")
        what = f"run: the input '{info.name}'"
        if type_.HasField("sequence_type"):
            element = type_.sequence_type.elem_type
            return [_array(part, element, f"{what}, element {i}") for i, part in enumerate(value)]
        return _array(value, type_, what)

    def _program(self, feeds: Mapping[str, Any]) -> _Program:
        """Return the program for the values of the inputs that it depends on."""
        while True:
            empty = [name for name, feed in feeds.items() if feed is None]  # empty optionals
            self._special += [name for name in empty if name not in self._special]
            key = tuple((name, _key(feeds[name])) for name in self._special)
            if key in self._programs:
                self._programs.move_to_end(key)
                return self._programs[key]
            lists = {name: feeds[name] for name in self._special if isinstance(feeds[name], list)}
            fixed = {name: feeds[name] for name in self._special if name not in lists}
            shapes = {name: [part.shape for part in parts] for name, parts in lists.items()}
            try:
                self._programs[key] = self._build(fixed, shapes)
            except ValueNeededError as error:
                self._note(error)
                continue
            if len(self._programs) > MAX_PROGRAMS:
                self._programs.popitem(last=False)


def _plain_dtype(type_: TypeProto) -> np.dtype[Any] | None:
    """Return the dtype of a tensor that programs use unconverted; None for everything else."""
    if not type_.HasField("tensor_type"):
        return None
    code = type_.tensor_type.elem_type
    return None if code in NARROW_NAMES or code not in NAMES else numpy_dtype(NAMES[code])


def _key(feed: Any) -> Any:  # noqa: ANN401 - an array, a list of them, or None
    if isinstance(feed, list):
        return tuple(part.shape for part in feed)
    if feed is None:
        return None
    if feed.size > MAX_FOLDED:
        raise ArgumentError(f"run: the program depends on the values of an input of {feed.size} elements")
    return (feed.shape, feed.tobytes())


def _array(value: Any, type_: TypeProto, what: str) -> np.ndarray[Any, Any]:  # noqa: ANN401 - what users give
    wanted = numpy_dtype(dtype_name(type_.tensor_type.elem_type, what))
    array = np.asarray(value)
    if array.dtype != wanted:
        raise DTypeError(f"{what} is of {array.dtype}, expected {wanted}")
    return array


def _stored(feed: Any) -> Any:  # noqa: ANN401 - an array
    """Convert an argument to the program's form."""
    name = feed.dtype.name
    return NARROW[name].stored(feed) if name in NARROW else feed


def _as_numpy(result: Any, type_: TypeProto) -> Any:  # noqa: ANN401 - arrays, tensors, or tuples of them
    """Convert a result to an array of the model's dtype, or a list of arrays."""
    if type_.HasField("optional_type"):
        return _as_numpy(result, type_.optional_type.elem_type)
    if type_.HasField("sequence_type"):
        return [_as_numpy(part, type_.sequence_type.elem_type) for part in result]
    array = result if isinstance(result, np.ndarray) else to_numpy(result)
    name = NARROW_NAMES.get(type_.tensor_type.elem_type)
    return array if name is None else NARROW[name].loaded(array)


def _provider_name(provider: Any) -> str:  # noqa: ANN401 - a name, or a name with options
    return str(provider[0]) if isinstance(provider, tuple | list) else str(provider)


def _node_arg(info: ValueInfoProto) -> NodeArg:
    type_ = info.type
    if not type_.HasField("tensor_type"):
        return NodeArg(info.name, _type_text(type_), [])
    dims: list[int | str | None] = [
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in type_.tensor_type.shape.dim
    ]
    return NodeArg(info.name, _type_text(type_), dims)


def _type_text(type_: TypeProto) -> str:
    """Return the type in onnxruntime's notation, such as ``tensor(float)``."""
    if type_.HasField("sequence_type"):
        return f"seq({_type_text(type_.sequence_type.elem_type)})"
    if type_.HasField("optional_type"):
        return f"optional({_type_text(type_.optional_type.elem_type)})"
    return f"tensor({onnx.TensorProto.DataType.Name(type_.tensor_type.elem_type).lower()})"


class RelaxBackendRep(BackendRep):  # type: ignore[misc]  # onnx's class is not typed
    """A compiled model."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session

    def run(self, inputs: Sequence[Any] | Mapping[str, Any], **kwargs: object) -> tuple[Any, ...]:
        """Return the outputs for inputs given by name or in the order of the model."""
        names = [info.name for info in self._session.get_inputs()]
        if isinstance(inputs, Mapping):
            return tuple(self._session.run(None, inputs))
        if len(inputs) > len(names):
            raise ArgumentError(f"run: {len(inputs)} inputs for a model that has {len(names)}: {', '.join(names)}")
        return tuple(self._session.run(None, dict(zip(names, inputs, strict=False))))


class RelaxBackend(Backend):  # type: ignore[misc]  # onnx's class is not typed
    """Compiles models for the CPU."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: object) -> RelaxBackendRep:
        if not cls.supports_device(device):
            raise ArgumentError(f"prepare: the device is {device!r}, expected CPU")
        return RelaxBackendRep(InferenceSession(model))

    @classmethod
    def run_model(
        cls,
        model: ModelProto,
        inputs: Sequence[Any] | Mapping[str, Any],
        device: str = "CPU",
        **kwargs: object,
    ) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.split(":")[0] == "CPU"
