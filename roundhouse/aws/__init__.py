"""Adapters of `roundhouse.ports` to AWS: the only package that imports botocore. No decisions are made here.

Every method raises only exceptions of `roundhouse.errors`. Modules are imported where they are used, so that a Lambda
pays only for the clients that it needs.
"""
