"""Stepping: one entry point, with solvers, derivatives and stopping rules as independent choices.

`difsim` exports what a user writes. Whoever adds a solver, a derivative or a stopping rule finds their base classes in
`solvers`, `derivatives` and `stops`.
"""
