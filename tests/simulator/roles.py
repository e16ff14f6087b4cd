"""Clients that act as a role made for one test."""

import json
from typing import Any

from botocore.config import Config

from simulator.client import EmbeddedAws


def as_role(aws: EmbeddedAws, service: str, name: str, statements: list[dict[str, Any]]) -> Any:
    """Client of `service` as the new role `name`, which has these permissions and no others. It does not retry."""
    iam = aws.client("iam")
    trust = {"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}]}
    arn = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    policy = {"Version": "2012-10-17", "Statement": statements}
    iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=json.dumps(policy))
    given = aws.client("sts").assume_role(RoleArn=arn, RoleSessionName="test")["Credentials"]
    session: Any = aws.session(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
    return session.client(service, endpoint_url=aws.endpoint, config=Config(retries={"total_max_attempts": 1}))
