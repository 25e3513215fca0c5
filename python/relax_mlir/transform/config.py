"""Registered options of `PassContext.config`: each has a type, a default and one line of help."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relax_mlir.error import (
    ArgumentError,
    UnknownNameError,
    expect,
)


@dataclass(frozen=True)
class ConfigOption:
    """A valid key of `PassContext.config`."""

    key: str
    type: type
    default: object
    help: str

    def check(self, value: object) -> object:
        """The value, converted if the conversion is exact (an int for a float).

        Raises:
            ArgumentError: the value has another type.
        """
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, self.type) and (self.type is bool or not isinstance(value, bool)):
            return value
        raise ArgumentError(
            f"config option '{self.key}' takes {self.type.__name__}, got {type(value).__name__}: {value!r}"
        )


_OPTIONS: dict[str, ConfigOption] = {}


def register_config_option(key: str, type: type, default: object, help: str = "") -> ConfigOption:
    """Register `key` as an option of every `PassContext`.

    Raises:
        ArgumentError: the key is taken, or the default does not have the type.
    """
    what = "register_config_option"
    expect(f"{what}: 'key'", key, str, "the name of an option")
    expect(f"{what}: 'type'", type, builtins.type, "a class, such as int")
    expect(f"{what}: 'help'", help, str, "a text")
    if key in _OPTIONS:
        raise ArgumentError(f"config option '{key}' is registered already")
    option = ConfigOption(key, type, default, help)
    option.check(default)
    _OPTIONS[key] = option
    return option


def config_option(key: str) -> ConfigOption:
    """The option of that key; raises UnknownNameError, which lists near matches."""
    if key not in _OPTIONS:
        raise UnknownNameError("config option", key, _OPTIONS)
    return _OPTIONS[key]


def config_options() -> tuple[ConfigOption, ...]:
    """All registered options, sorted by key."""
    return tuple(_OPTIONS[key] for key in sorted(_OPTIONS))


def check_config(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of `config`, after checking that every key is registered and every value has its option's type."""
    return {key: config_option(key).check(value) for key, value in (config or {}).items()}


VERIFY_EACH = register_config_option("pass.verify_each", bool, True, "verify the module after every pass").key
REPRODUCERS = register_config_option(
    "pass.reproducers", bool, True, "leave a module and a command that reproduce the failure of a pass"
).key
DUMP_DIR = register_config_option(
    "pass.dump_dir", str, "", "directory for the module as it was before a pass that failed"
).key
BOUNDS_CHECK = register_config_option(
    "tir.bounds_check",
    str,
    "auto",
    "run-time checks in prim funcs: auto (where nothing is proved), all (of all prim funcs), none (nothing is safe)",
).key
SHIPPED_VALUES = register_config_option(
    "strategy.shipped_values",
    bool,
    True,
    "give the project's own schedules the values of knobs that come with the package for classes of CPUs",
).key
MATH_FAST = register_config_option(
    "math.fast",
    bool,
    False,
    "exp, exp2, tanh and erf, and what is made of them, but for f64, by shorter polynomials: to 1e-5, not some ulp",
).key
