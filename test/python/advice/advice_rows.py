"""Tables of advice: the mistake, its message, and the code that follows the message, with the right result."""

from __future__ import annotations

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from interpreted import interpreted
from relax_mlir import op
from relax_mlir.error import RelaxError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse


class Table(ABC):
    """Rows by name; those of `followed` have code that follows the message."""

    names: Sequence[str]
    followed: Sequence[str] = ()

    @functools.cache  # noqa: B019 - tables live as long as the process
    def error(self, name: str) -> str:
        """The text of the error of a row, which is provoked once."""
        return self.provoke(name)

    @abstractmethod
    def provoke(self, name: str) -> str:
        """Make the mistake of a row; return the text of the error, which must match the row."""

    def follow(self, name: str) -> None:
        """Do what the error advises, and compare the result with NumPy's."""
        raise NotImplementedError(name)


def error_of(wrong: Callable[[], object], message: str, kind: type[Exception] = RelaxError) -> str:
    """The text of the error that `wrong` raises, which must match `message` (a pattern)."""
    try:
        given = wrong()
    except kind as error:
        assert re.search(message, str(error), re.DOTALL), f"expected {message!r}:\n{error}"
        return str(error)
    raise AssertionError(f"this was done, though it is wrong ({message}): {given}")


def same(found: object, expected: object) -> None:
    """Assert that results (also tuples of them) equal these arrays and numbers, up to rounding."""
    have, want = _flat(found), _flat(expected)
    assert len(have) == len(want), f"{len(have)} results, expected {len(want)}"
    for one, other in zip(have, want, strict=True):
        assert one.shape == other.shape
        if one.dtype.kind in "iub":
            np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_allclose(one.astype("f8"), other.astype("f8"), rtol=1e-5, atol=1e-6)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tvm_ffi.Array | tuple | list):
        return [array for item in value for array in _flat(item)]
    if isinstance(value, tvm_ffi.Shape):
        return [np.array(list(value))]
    return [to_numpy(value) if hasattr(value, "__dlpack__") else np.asarray(value)]


Row = tuple[Callable[[], object], str]
"""A mistake and its message."""


class Rows(Table):
    """Rows that share nothing."""

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self.rows, self.names = rows, list(rows)

    def provoke(self, name: str) -> str:
        return error_of(*self.rows[name])


ScriptCase = tuple[str, str] | tuple[str, str, str] | tuple[str, str, str, Callable[..., Any]]
"""The wrong line and its message; a right line, with the expected result if it consists of more than ops."""


def _followed(cases: Mapping[str, tuple[Any, ...]]) -> list[str]:
    """The rows that have code which follows the message."""
    return [name for name, case in cases.items() if len(case) > 2]


class ScriptRows(Table):
    """Lines of scripts, in a `module` with ``{functions}``, each in a `function` with ``{name}`` and ``{line}``.

    ``{parameters}`` are those that the line uses, always including the first; ``{result}`` is `z` if the line binds it,
    else the first parameter. All right lines are built as one module.
    """

    def __init__(
        self,
        module: str,
        function: str,
        parameters: Mapping[str, str],
        cases: Mapping[str, ScriptCase],
        arguments: Callable[[str], Mapping[str, Any]],
        reads: Callable[[rx.IRModule], object] = rx.build,
    ) -> None:
        self.module, self.function, self.parameters = module, function, parameters
        self.cases, self.names, self.arguments, self.reads = cases, list(cases), arguments, reads
        self.followed = _followed(cases)

    def used(self, line: str) -> list[str]:
        """The parameters that a line uses."""
        first = next(iter(self.parameters))
        return [name for name in self.parameters if name == first or re.search(rf"\b{name}\b", line)]

    def text(self, lines: Mapping[str, str]) -> str:
        """The script with one function per name, each of these lines."""
        functions = [
            self.function.replace("{line}", line)
            .replace("{name}", name)
            .replace("{parameters}", ", ".join(f"{n}: {self.parameters[n]}" for n in self.used(line)))
            .replace("{result}", "z" if re.search(r"^ *z\b[^=\n]*=", line, re.M) else next(iter(self.parameters)))
            for name, line in lines.items()
        ]
        return self.module.replace("{functions}", "".join(functions))

    @cached_property
    def right(self) -> rx.IRModule:
        return parse(self.text({f"case_{name}": self.cases[name][2] for name in self.followed}))

    @cached_property
    def built(self) -> rx.Executable:
        return rx.build(self.right, opt_level=0)

    def provoke(self, name: str) -> str:
        wrong, message = self.cases[name][:2]
        text = error_of(lambda: self.reads(parse(self.text({"main": wrong}))), message)
        assert re.search(r"<script>:\d+:\d+: ", text), text
        return text

    def follow(self, name: str) -> None:
        case = self.cases[name]
        given = {key: value for key, value in self.arguments(name).items() if key in self.used(case[2])}
        found = self.built[f"case_{name}"](*given.values())
        same(found, case[3](**given) if len(case) == 4 else self.expected(name, given))

    def expected(self, name: str, given: Mapping[str, Any]) -> object:
        """The result of the right line in NumPy."""
        return interpreted(self.right, f"case_{name}", list(given.values()))


Body = Callable[[rx.BlockBuilder, dict[str, Any]], object]
BuilderCase = tuple[Body, str] | tuple[Body, str, Body] | tuple[Body, str, Body, Callable[..., Any]]


class _Used(dict[str, Any]):
    """Parameters by name, which records those that are used."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.used.add(name)
        return super().__getitem__(name)


class BuilderRows(Table):
    """Bodies of functions with those of these parameters that they use, always including the first.

    The returned value of a body (one or several) is the result; without one, the first parameter is.
    """

    def __init__(
        self,
        infos: Mapping[str, rx.StructInfo],
        cases: Mapping[str, BuilderCase],
        arguments: Callable[[str], Mapping[str, Any]],
        prims: str = "",
    ) -> None:
        self.prims = prims
        self.infos, self.cases, self.names, self.arguments = infos, cases, list(cases), arguments
        self.followed = _followed(cases)
        self.used: dict[str, list[str]] = {}

    @cached_property
    def right(self) -> rx.IRModule:
        bb = self._builder()
        for name in self.followed:
            right = self.cases[name][2]
            self.used[name] = self._add(self._builder(), name, right, list(self.infos))
            self._add(bb, f"case_{name}", right, self.used[name])
        module = bb.get()
        module.verify()
        return module

    @cached_property
    def built(self) -> rx.Executable:
        return rx.build(self.right, opt_level=0)

    @cached_property
    def _prims(self) -> rx.IRModule:
        return rx.IRModule.parse(self.prims, trusted=True)

    def _builder(self) -> rx.BlockBuilder:
        """A new module with the prim funcs; a table has one context."""
        return rx.BlockBuilder(self._prims.clone())

    def _add(self, bb: rx.BlockBuilder, name: str, body: Body, parameters: Sequence[str]) -> list[str]:
        """Add a function; return those of the parameters that it uses."""
        params = _Used({key: rx.Var(key, self.infos[key]) for key in parameters})
        with bb.function(name, list(params.values())):
            first = params[parameters[0]]
            given = body(bb, params)
            values = [v for v in (given if isinstance(given, tuple) else (given,)) if isinstance(v, rx.Value)]
            bb.emit_func_output(op.make_tuple(*values) if len(values) > 1 else (values or [first])[0])
        return [key for key in parameters if key in params.used]

    def provoke(self, name: str) -> str:
        wrong, message = self.cases[name][:2]
        return error_of(lambda: self._add(self._builder(), "main", wrong, list(self.infos)), message)

    def follow(self, name: str) -> None:
        case, module = self.cases[name], self.right
        given = {key: value for key, value in self.arguments(name).items() if key in self.used[name]}
        found = self.built[f"case_{name}"](*given.values())
        same(
            found,
            case[3](**given) if len(case) == 4 else interpreted(module, f"case_{name}", [*given.values()]),
        )
