"""Names of fused prim funcs: readable, and of bounded length."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

MAX_NAME_LENGTH = 80
"""Maximum length; longer names are truncated and get a hash of the whole name (TVM's kMaxFuncNameLength)."""


def joined_name(parts: Iterable[str]) -> str:
    """The name ``a_b_c`` for the parts of a fused function."""
    name = "_".join(parts)
    if len(name) <= MAX_NAME_LENGTH:
        return name
    return f"{name[:MAX_NAME_LENGTH]}_{hashlib.sha256(name.encode()).hexdigest()[:16]}"
