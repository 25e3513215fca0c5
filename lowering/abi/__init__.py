"""The boundary of compiled code: TVM FFI wrappers, hooks (checks, packed calls, constants), error paths."""
