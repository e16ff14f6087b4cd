"""The `roundhouse` command: typer and rich outside, the same ports as the functions inside.

Exit codes: 0 done · 1 a check found problems, or the demo's invariants failed · 2 wrong usage · 3 refused by a guard ·
4 AWS did not do what was asked · 5 a rehearsal came to no result.
"""
