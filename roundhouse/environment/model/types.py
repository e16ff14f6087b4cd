"""Value types of an environment file: patterns with a reason and a remedy, durations, arrays. Imports pydantic.

Patterns and lengths are those of the services' own models (SageMaker, IAM, EC2, FSx, Slack ids).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

T = TypeVar("T")
Several = Annotated[tuple[T, ...], Field(strict=False)]
"""An array: TOML gives lists, the model keeps tuples."""

DURATION = re.compile(r"(?:(\d{1,5})d)?(?:(\d{1,6})h)?(?:(\d{1,7})m)?(?:(\d{1,8})s)?")
UNITS = (86400, 3600, 60, 1)
LONGEST_S = 400 * 86400


def wrong(reason: str, remedy: str) -> PydanticCustomError:
    """An error that carries its own remedy; problems.py shows both."""
    return PydanticCustomError("wrong", "{reason}", {"reason": reason, "remedy": remedy})


def matching(pattern: str, what: str, example: str) -> AfterValidator:
    """Accepts text that matches `pattern` as a whole; `what` names the thing, `example` is one."""
    compiled = re.compile(pattern, re.ASCII)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise wrong(f"this is not {what}", f"Write it like {example}")
        return value

    return AfterValidator(check)


def parse_duration(value: Any) -> int:
    """Seconds of a duration such as "90s", "10m", "1h30m" or "2d"."""
    parts = DURATION.fullmatch(value) if isinstance(value, str) else None
    if parts is None or not any(parts.groups()):
        raise wrong("this is not a duration", 'Write a number and a unit in quotes, like "90s", "10m", "1h30m" or "2d"')
    seconds = sum(int(part) * unit for part, unit in zip(parts.groups("0"), UNITS, strict=True))
    if not 0 < seconds <= LONGEST_S:
        raise wrong("a duration is at least a second and at most 400 days", "Choose one in between")
    return seconds


Duration = Annotated[int, BeforeValidator(parse_duration)]
"""Whole seconds; text with units in the file."""

EnvironmentName = Annotated[
    str, matching(r"[a-z][a-z0-9-]{0,18}[a-z0-9]", "2 to 20 small letters, digits and hyphens", '"prod-usw2"')
]
Account = Annotated[str, matching(r"\d{12}", "an account id of 12 digits, in quotes", '"111122223333"')]
Region = Annotated[str, matching(r"[a-z]{2}(-[a-z]+)+-\d", "a region", '"us-west-2"')]
AzId = Annotated[str, matching(r"[a-z]{2,4}[0-9a-z]*\d-az\d{1,2}", "an AZ id (not an AZ name)", '"usw2-az2"')]
ClusterName = Annotated[
    str,
    matching(r"(?=.{1,63}\Z)[a-zA-Z0-9](-*[a-zA-Z0-9])*", "1 to 63 letters, digits and inner hyphens", '"train-a"'),
]
VpcId = Annotated[str, matching(r"vpc-([0-9a-f]{8}|[0-9a-f]{17})", "a VPC id", '"vpc-0123456789abcdef0"')]
SubnetId = Annotated[str, matching(r"subnet-([0-9a-f]{8}|[0-9a-f]{17})", "a subnet id", '"subnet-0123456789abcdef0"')]
SecurityGroupId = Annotated[
    str, matching(r"sg-([0-9a-f]{8}|[0-9a-f]{17})", "a security group id", '"sg-0123456789abcdef0"')
]
FileSystemId = Annotated[str, matching(r"fs-[0-9a-f]{8,17}", "an FSx file system id", '"fs-0123456789abcdef0"')]
DnsName = Annotated[
    str,
    matching(
        r"(?=.{16,275}\Z)fs-[0-9a-f]{8,17}\.[A-Za-z0-9.-]+",
        "an FSx DNS name",
        '"fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"',
    ),
]
MountName = Annotated[str, matching(r"[A-Za-z0-9_-]{1,8}", "an FSx mount name", '"abcdefgh"')]
MountPath = Annotated[str, matching(r"/[a-zA-Z0-9._/-]{1,1023}", "an absolute path", '"/fsx"')]
RoleArn = Annotated[
    str,
    matching(
        r"arn:aws[a-z-]*:iam::\d{12}:role/[a-zA-Z_0-9+=,.@/-]{1,512}",
        "an IAM role ARN",
        '"arn:aws:iam::111122223333:role/hyperpod-instance-role"',
    ),
]
PlanArn = Annotated[
    str,
    matching(
        r"arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:\d{12}:training-plan/[a-zA-Z0-9](-*[a-zA-Z0-9]){0,63}",
        "a training plan ARN",
        '"arn:aws:sagemaker:us-west-2:111122223333:training-plan/my-plan"',
    ),
]
S3Uri = Annotated[
    str, matching(r"s3://[a-z0-9.-]{3,63}(/[^\s/]+)*/?", "an S3 URI", '"s3://sagemaker-my-bucket/lifecycle/"')
]
ScriptName = Annotated[str, matching(r"[A-Za-z0-9._-]{1,128}", "a file name", '"on_create.sh"')]
InstanceType = Annotated[str, matching(r"ml\.[a-z0-9-]+\.[a-z0-9]+", "a SageMaker instance type", '"ml.g6.48xlarge"')]
Partition = Annotated[str, matching(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}", "a Slurm partition name", '"gpu"')]
NodeName = Annotated[
    str, matching(r"[A-Za-z0-9-]{1,128}", "an instance id, logical id or Slurm node name", '"i-0123456789abcdef0"')
]
SlackChannel = Annotated[str, matching(r"[CG][A-Z0-9]{7,20}", "a Slack channel id (not its name)", '"C0123ABCDEF"')]
SlackTeam = Annotated[str, matching(r"[TE][A-Z0-9]{7,20}", "a Slack workspace id", '"T0123ABCDEF"')]
SlackApp = Annotated[str, matching(r"A[A-Z0-9]{7,20}", "a Slack app id", '"A0123ABCDEF"')]
SlackUser = Annotated[str, matching(r"[UW][A-Z0-9]{7,20}", "a Slack user id (not a name)", '"U0123ABCDEF"')]
SecretName = Annotated[
    str,
    matching(
        r"(?!xox)[A-Za-z0-9/_+=.@-]{1,512}", "the name of a secret (never the secret itself)", '"roundhouse-slack"'
    ),
]
ApiUrl = Annotated[
    str,
    matching(
        r"(https://[A-Za-z0-9.-]+(:\d+)?|http://(127\.0\.0\.1|localhost)(:\d+)?)(/[A-Za-z0-9._-]+)*/",
        "an https URL that ends in a slash (http only on this machine)",
        '"https://slack.com/api/"',
    ),
]
Usd = Annotated[float, Field(gt=0, le=1_000_000)]
Share = Annotated[float, Field(gt=0, le=1)]
Percent = Annotated[float, Field(gt=0, le=100)]
Positive = Annotated[int, Field(gt=0, le=100_000)]
TagKey = Annotated[str, matching(r"(?!aws:)[\w .:/=+@-]{1,128}", "a tag key (aws: is reserved)", '"team"')]
TagValue = Annotated[str, matching(r"[\w .:/=+@-]{0,256}", "a tag value", '"research"')]
