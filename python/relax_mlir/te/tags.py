"""`tag_scope`: set a tag for all computes in a scope."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from relax_mlir.error import ArgumentError


class _Current(threading.local):
    tag: str = ""


_current = _Current()


@contextlib.contextmanager
def tag_scope(tag: str) -> Iterator[None]:
    """Tag the computes in the scope: ``with te.tag_scope("conv2d"):``, or as a decorator of a function.

    Raises:
        ArgumentError: a nested scope, or a compute in the scope that already has a tag.
    """
    if not isinstance(tag, str) or not tag:
        raise ArgumentError(f"tag_scope: 'tag' is {tag!r}, expected text")
    if _current.tag:
        raise ArgumentError(
            f"tag_scope '{tag}': inside tag_scope '{_current.tag}', but a compute has one tag"
        )
    _current.tag = tag
    try:
        yield
    finally:
        _current.tag = ""


def with_scope(what: str, tag: str) -> str:
    """The tag of a compute whose argument is `tag`."""
    if tag and _current.tag:
        raise ArgumentError(
            f"{what}: the tag '{tag}' inside tag_scope '{_current.tag}', but a compute has one tag"
        )
    return tag or _current.tag
