"""Mutations that change a symbol, a size or an element type everywhere in a module, so that types still agree."""

from __future__ import annotations

import re
from random import Random

from generic_text import Module, split_list
from tree_queries import map_texts
from vocabulary import DIMS, ELEMENT, ELEMENT_TYPES, HOSTILE_SYMBOLS, HUGE_DIMS, SYMBOLS

_TENSOR = re.compile(r"(?:tensor|memref)<((?:(?:\d+|\?)x)*)([^<>]*)(?:, (#relax\.shape<\[([^\]]*)\]>))?>")


def _change_dims(text: str, old: str, new: str) -> str:
    """Static size `old` as `new` in all types of tensors, encodings included."""

    def tensor(found: re.Match[str]) -> str:
        sizes, element, encoding, dims = found.groups()
        sizes = re.sub(rf"(?<![\d?]){old}x", f"{new}x", sizes)
        if encoding:
            items = [new if item == old else item for item in split_list(dims)]
            encoding = f", #relax.shape<[{', '.join(items)}]>"
        return f"{found.group(0).partition('<')[0]}<{sizes}{element}{encoding or ''}>"

    text = _TENSOR.sub(tensor, text)
    shapes = re.compile(r"(!relax\.shape_value<\[)([^\]]*)(\]>)")
    return shapes.sub(
        lambda m: m[1] + ", ".join(new if item == old else item for item in split_list(m[2])) + m[3], text
    )


def change_dim(module: Module, rng: Random) -> bool:
    """A static size, everywhere."""
    text = module.text()
    sizes = sorted({size for found in _TENSOR.finditer(text) for size in re.findall(r"\d+", found[1])})
    if not sizes:
        return False
    old, new = rng.choice(sizes), rng.choice(DIMS if rng.random() < 0.85 else HUGE_DIMS)

    def change(value: str) -> str:
        if value.startswith("dense"):  # only splats can have another number of elements
            head, colon, type_ = value.rpartition("> : ")
            return head + colon + (_change_dims(type_, old, new) if "[" not in head and '"' not in head else type_)
        if value.startswith("["):
            items = [re.sub(rf"^{old}( : i64)?$", rf"{new}\1", item) for item in split_list(value[1:-1])]
            return _change_dims(f"[{', '.join(items)}]", old, new)
        return _change_dims(value, old, new)

    map_texts(module.top, change)
    return True


def change_symbol(module: Module, rng: Random) -> bool:
    """A symbol replaced by an expression, everywhere in one function or in all."""
    names = sorted(
        {name for text in re.findall(r"\[([^\[\]]*)\]", module.text()) for name in re.findall(r'"(\w+)"', text)}
    )
    names = [name for name in names if re.fullmatch(r"[a-z]\w*", name)]
    if not names:
        return False
    old = rng.choice(names)
    new = rng.choice([*names, *SYMBOLS] if rng.random() < 0.75 else HOSTILE_SYMBOLS)

    def change(text: str) -> str:
        return re.sub(
            r'"([^"]*)"',
            lambda m: '"' + re.sub(rf"\b{old}\b", new if m[1] == old else f"({new})", m[1]) + '"',
            text,
        )

    where = module.top if rng.random() < 0.6 or not module.functions else rng.choice(module.functions)
    map_texts(where, change)
    return True


def change_element(module: Module, rng: Random) -> bool:
    """An element type, everywhere in one function or in all."""
    found = sorted(set(ELEMENT.findall(module.text())) & set(ELEMENT_TYPES))
    if not found:
        return False
    old, new = rng.choice(found), rng.choice(ELEMENT_TYPES)

    def change(text: str) -> str:
        if text.startswith("dense"):
            head, colon, type_ = text.rpartition(" : ")
            if new.startswith(("f", "b")) != old.startswith(("f", "b")) or "i1" in (old, new):
                head = "dense<1.0>" if new.startswith(("f", "b")) else "dense<1>"
            return f"{head}{colon}{ELEMENT.sub(lambda m: new if m[0] == old else m[0], type_)}"
        return ELEMENT.sub(lambda m: new if m[0] == old else m[0], text)

    where = module.top if rng.random() < 0.7 or not module.functions else rng.choice(module.functions)
    map_texts(where, change)
    return True
