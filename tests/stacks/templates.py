"""Reading synthesized templates: resources by kind, and intrinsic functions turned into the ARNs they will be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLACE = "us-west-2:111122223333"
_ARN = {
    "AWS::DynamoDB::Table": ("Arn", "TableName", f"arn:aws:dynamodb:{PLACE}:table/{{}}"),
    "AWS::SQS::Queue": ("Arn", "QueueName", f"arn:aws:sqs:{PLACE}:{{}}"),
    "AWS::Lambda::Function": ("Arn", "FunctionName", f"arn:aws:lambda:{PLACE}:function:{{}}"),
    "AWS::Logs::LogGroup": ("Arn", "LogGroupName", f"arn:aws:logs:{PLACE}:log-group:{{}}:*"),
    "AWS::StepFunctions::StateMachine": ("Ref", "StateMachineName", f"arn:aws:states:{PLACE}:stateMachine:{{}}"),
    "AWS::Events::EventBus": ("Arn", "Name", f"arn:aws:events:{PLACE}:event-bus/{{}}"),
    "AWS::SNS::Topic": ("Ref", "TopicName", f"arn:aws:sns:{PLACE}:{{}}"),
}


@dataclass(frozen=True)
class Templates:
    """Every template of an assembly, by the stack's last name (`State`, `Signals`, …)."""

    by_stack: Mapping[str, Any]

    @classmethod
    def read(cls, assembly: Path) -> Templates:
        return cls(
            {
                path.name.removesuffix(".template.json").rpartition("-")[2]: json.loads(path.read_text())
                for path in sorted(assembly.glob("*.template.json"))
            }
        )

    def of_type(self, kind: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """(stack, logical id, resource) of every resource of a type."""
        for stack, template in self.by_stack.items():
            for logical_id, resource in template["Resources"].items():
                if resource["Type"] == kind:
                    yield stack, logical_id, resource

    def properties(self, kind: str) -> list[Mapping[str, Any]]:
        """Properties of every resource of a type, with references resolved where they are ARNs."""
        return [self.resolve(stack, resource["Properties"]) for stack, _, resource in self.of_type(kind)]

    def resolve(self, stack: str, value: Any) -> Any:
        """`value` with its intrinsic functions replaced; what cannot be known stays as it is."""
        if isinstance(value, list):
            return [self.resolve(stack, each) for each in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            (function, argument) = next(iter(value.items()))
            if function == "Fn::Join":
                parts = [self.resolve(stack, part) for part in argument[1]]
                return argument[0].join(parts) if all(isinstance(part, str) for part in parts) else value
            if function == "Fn::GetAtt":
                return self._attribute(stack, argument[0], argument[1], value)
            if function == "Ref":
                return "aws" if argument == "AWS::Partition" else self._attribute(stack, argument, "Ref", value)
            if function == "Fn::Select":
                parts = self.resolve(stack, argument[1])
                return parts[int(argument[0])] if isinstance(parts, list) else value
            if function == "Fn::Split":
                whole = self.resolve(stack, argument[1])
                return whole.split(argument[0]) if isinstance(whole, str) else value
            if function == "Fn::ImportValue":
                return self._import(argument, value)
        return {key: self.resolve(stack, each) for key, each in value.items()}

    def _attribute(self, stack: str, logical_id: str, attribute: str, otherwise: Any) -> Any:
        resource = self.by_stack[stack]["Resources"].get(logical_id)
        if resource is not None and resource["Type"] == "AWS::Lambda::Alias" and attribute == "Ref":
            alias = self.resolve(stack, resource["Properties"])
            return f"arn:aws:lambda:{PLACE}:function:{alias['FunctionName']}:{alias['Name']}"
        if resource is None or resource["Type"] not in _ARN:
            return otherwise
        arn_attribute, name_property, pattern = _ARN[resource["Type"]]
        name = resource["Properties"].get(name_property)
        if attribute == arn_attribute:
            return pattern.format(name)
        if attribute == "Ref" and resource["Type"] == "AWS::SQS::Queue":
            region, account = PLACE.split(":")
            return f"https://sqs.{region}.amazonaws.com/{account}/{name}"
        return name if attribute in ("Ref", "QueueName", "Name") else otherwise

    def _import(self, name: str, otherwise: Any) -> Any:
        for stack, template in self.by_stack.items():
            for output in template.get("Outputs", {}).values():
                if output.get("Export", {}).get("Name") == name:
                    return self.resolve(stack, output["Value"])
        return otherwise
