"""The version of everything that one piece of our code writes and another may read. Standard library only.

Records, parameters, notices and workflow payloads carry `contract` from version 2 on; a document without it is of
version 1. Raise it when a member changes its meaning. A new member with a default needs no new version: code that does
not know it says so and waits (`errors.NewerContract`). docs/decisions/0018 has the rules.
"""

CONTRACT = 1
MEMBER = "contract"
