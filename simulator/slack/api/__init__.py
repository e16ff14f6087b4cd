"""The Web API of the stand-in: arguments, Block Kit rules, methods.

Imports workspace, model, text, errors; only `routes` imports aiohttp.
"""
