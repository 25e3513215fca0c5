"""Implementations that come with the project: tensor expressions with schedules, one file per family of ops.

They stand beside what the lowering has. Their schedules have knobs, whose first values are good ones for most sizes.
"""
