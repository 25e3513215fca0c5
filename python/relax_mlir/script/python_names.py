"""Python builtins and methods that a script does not support, with their replacements."""

from __future__ import annotations

INSTEAD = {
    "max": "R.max is that of the elements of one tensor, R.maximum that of two",
    "min": "R.min is that of the elements of one tensor, R.minimum that of two",
    "sum": "R.sum adds the elements of one tensor, + adds tensors",
    "any": "R.max of a bool tensor says whether any is true",
    "all": "R.min of a bool tensor says whether all are true",
    "len": "write x.shape[0]",
    "int": 'write R.astype(x, "int64")',
    "bool": 'write R.astype(x, "bool")',
    "divmod": "write x // y and x % y",
    "pow": "write x ** y",
    "range": "loops run over it: `for i in range(n):`",
    "str": "R.print shows values when the program runs",
    "repr": "R.print shows values when the program runs",
}
"""Replacements by function name."""

ATTRIBUTES = {
    "T": "R.permute_dims({0})",
    "mT": "R.permute_dims({0}, axes)",
    "transpose": "R.permute_dims({0})",
    "view": "R.reshape({0}, …)",
    "to": "R.astype({0}, …)",
    "float": 'R.astype({0}, "float32")',
    "int": 'R.astype({0}, "int32")',
    "size": "R.prod(R.shape_to_tensor(R.shape_of({0})))",
    "item": "{0}",
    "numpy": "{0}",
    "tolist": "{0}",
}
"""Replacements of methods and attributes of NumPy and PyTorch."""
