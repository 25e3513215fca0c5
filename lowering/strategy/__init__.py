"""Implementations of ops, the knobs of their schedules and tuned values, and the selection for a call."""
