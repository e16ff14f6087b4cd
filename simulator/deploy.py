"""Deploys a synthesized cloud assembly (cdk.out) to the embedded AWS: assets, then stacks in their order.

Runs in the product's environment, needs no CDK. Reads manifest.json, *.assets.json and the templates, uploads each file
asset to the bucket that it names, and creates or updates the stacks.
"""

import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from simulator.client import EmbeddedAws

STACK_SECONDS = 180.0

TEMPLATE_BODY_BYTES = 51_200
"""CloudFormation takes longer templates from S3 only."""

BOOTSTRAP_VERSION = "/cdk-bootstrap/hnb659fds/version"

Progress = Callable[[str], None]


class DeployError(RuntimeError):
    """A stack could not be deployed; names the stack, the resource and CloudFormation's reason."""


@dataclass(frozen=True)
class Deployment:
    """What was deployed: the outputs of each stack by stack name and output key."""

    outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    def output(self, key: str) -> str:
        """The output `key` of whichever stack has it; raises KeyError, also if several have it."""
        found = [outputs[key] for outputs in self.outputs.values() if key in outputs]
        if len(found) != 1:
            raise KeyError(f"output {key!r} is in {len(found)} stacks")
        return found[0]


def deploy(aws: EmbeddedAws, assembly: Path, progress: Progress = lambda text: None) -> Deployment:
    """Deploy every stack of the assembly directory. Raises DeployError, or FileNotFoundError without a manifest."""
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    stacks = {name: one for name, one in artifacts.items() if one["type"] == "aws:cloudformation:stack"}
    _bootstrap(aws)
    uploaded: set[tuple[str, str]] = set()
    for artifact in artifacts.values():
        if artifact["type"] == "cdk:asset-manifest":
            _upload(aws, assembly / artifact["properties"]["file"], uploaded, progress)
    outputs = {}
    for name in _in_order(stacks, artifacts):
        properties = stacks[name]["properties"]
        stack_name = properties.get("stackName") or stacks[name].get("displayName") or name
        progress(f"stack {stack_name}")
        outputs[stack_name] = deploy_template(
            aws, stack_name, (assembly / properties["templateFile"]).read_text(), properties.get("parameters")
        )
    return Deployment(outputs)


def deploy_template(
    aws: EmbeddedAws, name: str, template: str, parameters: dict[str, str] | None = None
) -> dict[str, str]:
    """Create or update one stack from the text of its template; returns its outputs. Raises DeployError."""
    cloudformation = aws.client("cloudformation")
    values = [{"ParameterKey": key, "ParameterValue": value} for key, value in (parameters or {}).items()]
    values = [each for each in values if each["ParameterKey"] in json.loads(template).get("Parameters", {})]
    request = {
        "StackName": name,
        **_template_argument(aws, template),
        "Parameters": values,
        "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
    }
    try:
        if _status(cloudformation, name) is None:
            cloudformation.create_stack(**request)
        else:
            cloudformation.update_stack(**request)
    except ClientError as error:
        if "No updates are to be performed" not in str(error):
            raise DeployError(f"stack {name}: {error.response['Error']['Message']}") from error
    return _wait(cloudformation, name)


def _template_argument(aws: EmbeddedAws, template: str) -> dict[str, str]:
    if len(template) <= TEMPLATE_BODY_BYTES:
        return {"TemplateBody": template}
    bucket, key = "roundhouse-templates", hashlib.sha256(template.encode()).hexdigest()
    _ensure_bucket(aws, bucket)
    aws.client("s3").put_object(Bucket=bucket, Key=key, Body=template.encode())
    return {"TemplateURL": f"https://s3.{aws.region}.amazonaws.com/{bucket}/{key}"}


def _status(cloudformation: Any, name: str) -> str | None:
    try:
        status: str = cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
    except ClientError:
        return None
    return None if status == "DELETE_COMPLETE" else status


def _wait(cloudformation: Any, name: str) -> dict[str, str]:
    deadline = time.monotonic() + STACK_SECONDS
    while True:
        stack = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        status = stack["StackStatus"]
        if status in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            return {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", [])}
        if not status.endswith("_IN_PROGRESS") or "ROLLBACK" in status:
            raise DeployError(f"stack {name} is {status}: {_reasons(cloudformation, name)}")
        if time.monotonic() > deadline:
            raise DeployError(f"stack {name} is still {status} after {STACK_SECONDS:g} s")
        time.sleep(0.1)


def _reasons(cloudformation: Any, name: str) -> str:
    events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
    failed = [each for each in events if each["ResourceStatus"].endswith("_FAILED")]
    lines = [f"{_name(each)}: {each.get('ResourceStatusReason', 'no reason')}" for each in reversed(failed)]
    return "; ".join(lines) or "no resource gave a reason"


def _name(event: dict[str, Any]) -> str:
    return f"{event['LogicalResourceId']} ({event.get('ResourceType', '?')})"


def _in_order(stacks: dict[str, Any], artifacts: dict[str, Any]) -> Iterator[str]:
    done: set[str] = set()

    def visit(name: str) -> Iterator[str]:
        if name in done:
            return
        done.add(name)
        for other in artifacts[name].get("dependencies", []):
            yield from visit(other)
        if name in stacks:
            yield name

    for name in stacks:
        yield from visit(name)


def _bootstrap(aws: EmbeddedAws) -> None:
    """What `cdk bootstrap` leaves for the templates to look at: the version of the bootstrap stack."""
    aws.client("ssm").put_parameter(Name=BOOTSTRAP_VERSION, Type="String", Value="30", Overwrite=True)


def _upload(aws: EmbeddedAws, manifest: Path, uploaded: set[tuple[str, str]], progress: Progress) -> None:
    """Upload the manifest's file assets, but none that is in `uploaded` (bucket, key) already."""
    for asset in json.loads(manifest.read_text()).get("files", {}).values():
        source = asset["source"]
        path = manifest.parent / source["path"]
        places = {
            (_resolve(aws, each["bucketName"]), _resolve(aws, each["objectKey"]))
            for each in asset["destinations"].values()
        } - uploaded
        if not places:
            continue
        if source.get("packaging") == "zip":
            progress(f"asset {asset.get('displayName') or path.name}")
        body = zip_directory(path) if source.get("packaging") == "zip" else path.read_bytes()
        for bucket, key in places:
            _ensure_bucket(aws, bucket)
            aws.client("s3").put_object(Bucket=bucket, Key=key, Body=body)
        uploaded |= places


def _resolve(aws: EmbeddedAws, text: str) -> str:
    values = {"AccountId": aws.account, "Region": aws.region, "Partition": "aws"}
    for name, value in values.items():
        text = text.replace(f"${{AWS::{name}}}", value)
    return text


def zip_directory(directory: Path) -> bytes:
    """Zip of a directory's files; equal content gives equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:  # stored: it travels within this machine only
        for path in sorted(directory.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                entry = zipfile.ZipInfo(str(path.relative_to(directory)))
                entry.external_attr = (0o755 if path.stat().st_mode & 0o100 else 0o644) << 16
                archive.writestr(entry, path.read_bytes())
    return buffer.getvalue()


def _ensure_bucket(aws: EmbeddedAws, bucket: str) -> None:
    try:
        aws.client("s3").create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": aws.region})
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):
            raise
