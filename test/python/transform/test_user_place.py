"""Locations in users' files: of the exception, or of its cause; never of the project or a library."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from relax_mlir.error import ArgumentError
from relax_mlir.target import Target
from relax_mlir.transform.run import place_in, user_place


def line_of(function: Callable[..., Any], offset: int) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno + offset}:0"


def in_library() -> None:
    json.loads("{")


def in_project() -> None:
    Target.parse("toaster")


def caused() -> None:
    try:
        in_library()
    except ValueError as error:
        raise ArgumentError("outer") from error


def raised(function: Callable[[], None]) -> BaseException:
    with pytest.raises(Exception) as caught:
        function()
    return caught.value


@pytest.mark.parametrize("function", [in_library, in_project])
def test_the_innermost_line_of_the_user(function: Callable[[], None]) -> None:
    error = raised(function)
    assert user_place(error) == place_in(error, __file__) == line_of(function, 1)
    assert place_in(error, "/elsewhere.py") is None


def test_what_has_caused_an_error() -> None:
    error = raised(caused)
    assert user_place(error) == line_of(caused, 4)
    assert place_in(error, __file__) == line_of(in_library, 1)


def test_an_error_without_a_trace() -> None:
    assert user_place(ValueError()) is None
    assert place_in(ValueError(), __file__) is None
