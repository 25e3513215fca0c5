"""The boundary of compiled code: TVM FFI wrappers, declarations (checks, packed calls, constants), error paths."""
