"""The base of all rooms of the lowering: compilation units, signatures, support code, errors of generated code."""
