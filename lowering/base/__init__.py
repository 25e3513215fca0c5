"""What all rooms of the lowering build on: compilation units, signatures, support code, errors of generated code."""
