"""The `onnx.backend` interface, through which ONNX's own tests run models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnx import ModelProto
from onnx.backend.base import Backend, BackendRep

from relax_mlir.error import ArgumentError
from relax_mlir.frontend.onnx.session import InferenceSession


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
            raise ArgumentError(
                f"run: {len(inputs)} inputs for a model that has {len(names)}: {', '.join(names)}"
            )
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
