"""Built-in implementations: tensor expressions with schedules, one file per family of ops.

They complement the rules of the lowering. The first values of the knobs of their schedules suit most sizes.
"""
