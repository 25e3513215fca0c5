"""`Attrs`: the attributes of a call, as Python values and as MLIR attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from relax_mlir.error import UnknownAttributeError, UnknownNameError
from relax_mlir.mlir import ir


class Attrs(Mapping[str, Any]):
    """Attributes of an op, by ``attrs.axis`` or ``attrs["axis"]``: numbers, strings, lists, or None if not given.

    Dtypes are given by name: ``"float32"``.
    """

    def __init__(self, attributes: Mapping[str, ir.Attribute]) -> None:
        self._raw = dict(attributes)

    @classmethod
    def of(cls, op: ir.Operation) -> Attrs:
        """The attributes of `op`."""
        named = map(op.attributes.__getitem__, range(len(op.attributes)))
        return cls({item.name: item.attr for item in named})

    @property
    def raw(self) -> Mapping[str, ir.Attribute]:
        """The MLIR attributes."""
        return self._raw

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - any attribute value
        from relax_mlir.expr.bindings import python_value

        if name not in self._raw:
            raise UnknownNameError("attribute of the op", name, self._raw)
        return python_value(self._raw[name])

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as `__getitem__`
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except UnknownNameError as error:
            raise UnknownAttributeError(str(error)) from None

    def __contains__(self, name: object) -> bool:
        return name in self._raw

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as `__getitem__`
        """The attribute `name`, or `default` if the op does not have it."""
        return self[name] if name in self._raw else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __repr__(self) -> str:
        return f"Attrs({', '.join(f'{name}={self[name]!r}' for name in self)})"
