"""Environments: one TOML file describes one deployment. Imports pydantic; used at synth and by the command line."""

from roundhouse.environment.load import load, parse
from roundhouse.environment.model import Environment
from roundhouse.environment.render import cluster_spec, parameters, policy
from roundhouse.environment.show import sections

__all__ = ["Environment", "cluster_spec", "load", "parameters", "parse", "policy", "sections"]
