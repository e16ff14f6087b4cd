"""The infrastructure, one file per stack. Imports aws_cdk and what an environment is; makes no AWS call.

Functions are referred to by path, never imported. jsii needs a supported Node: the one beside this Python is taken
unless JSII_NODE names another.
"""

import os
import sys
from pathlib import Path

_node = Path(sys.executable).with_name("node")
if _node.exists():
    os.environ.setdefault("JSII_NODE", str(_node))
