"""The steps of the workflows: ports in, a plain result out. No SDK, no environment variables, no clock of their own.

A handler in `functions/` wires one step to AWS; tests wire it to in-memory ports. Every step may be run again at any
point: it reads what was done before it does anything.
"""
