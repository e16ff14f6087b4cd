"""CloudFormation resource types that MiniStack lacks and the templates use.

A type that neither MiniStack nor this table provides makes CreateStack fail with its name: nothing is skipped unseen.
"""

import json
from collections.abc import Callable
from typing import Any

from simulator.aws import policies
from simulator.aws.settings import Settings

Created = tuple[str, dict[str, Any]]


def _archive_name(properties: dict[str, Any], stack: str, logical_id: str) -> str:
    return str(properties.get("ArchiveName") or f"{stack}-{logical_id}"[:48])


def _create_archive(logical_id: str, properties: dict[str, Any], stack: str) -> Created:
    from ministack.services import eventbridge

    name = _archive_name(properties, stack, logical_id)
    pattern = properties.get("EventPattern") or ""
    status, _, body = eventbridge._create_archive(
        {
            "ArchiveName": name,
            "EventSourceArn": properties["SourceArn"],
            "Description": properties.get("Description", ""),
            "EventPattern": pattern if isinstance(pattern, str) else json.dumps(pattern),
            "RetentionDays": int(properties.get("RetentionDays") or 0),
            "KmsKeyIdentifier": properties.get("KmsKeyIdentifier", ""),
        }
    )
    answer = json.loads(body)
    if status != 200:
        raise ValueError(f"AWS::Events::Archive {logical_id}: {answer}")
    return name, {"Arn": answer["ArchiveArn"], "ArchiveName": name}


def _delete_archive(physical_id: str, properties: dict[str, Any]) -> None:
    from ministack.services import eventbridge

    eventbridge._delete_archive({"ArchiveName": physical_id})


def _set_point_in_time_recovery(table: str, properties: dict[str, Any]) -> None:
    from ministack.services import dynamodb

    replicas = properties.get("Replicas") or [{}]
    wanted = properties.get("PointInTimeRecoverySpecification") or replicas[0].get("PointInTimeRecoverySpecification")
    dynamodb._update_continuous_backups(
        {"TableName": table, "PointInTimeRecoverySpecification": wanted or {"PointInTimeRecoveryEnabled": False}}
    )


def _with_recovery(handlers: dict[str, Any]) -> dict[str, Any]:
    """MiniStack's table handlers, that also apply the property which it overlooks."""
    create, update = handlers["create"], handlers["update"]

    def create_table(logical_id: str, properties: dict[str, Any], stack: str) -> Any:
        made = create(logical_id, properties, stack)
        _set_point_in_time_recovery(made[0], properties)
        return made

    def update_table(physical_id: str, old: dict[str, Any], new: dict[str, Any], *rest: Any) -> Any:
        changed = update(physical_id, old, new, *rest)
        _set_point_in_time_recovery(changed[0], new)
        return changed

    return {**handlers, "create": create_table, "update": update_table}


def _with_role_check(handlers: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """MiniStack's event source mapping, that checks first whether the function's role may read the queue."""
    create = handlers["create"]

    def create_mapping(logical_id: str, properties: dict[str, Any], stack: str) -> Any:
        from ministack.services import lambda_svc

        source = str(properties.get("EventSourceArn", ""))
        _, config, name = lambda_svc._get_func_record_for_ref(properties["FunctionName"])
        if config and ":sqs:" in source:
            for action in ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"):
                if refusal := policies.role_refusal(config["Role"], action, source, settings):
                    raise ValueError(f"the execution role of {name} cannot serve the queue: {refusal}")
        return create(logical_id, properties, stack)

    return {**handlers, "create": create_mapping}


PROVIDED: dict[str, dict[str, Callable[..., Any]]] = {
    "AWS::Events::Archive": {"create": _create_archive, "delete": _delete_archive},
}
"""Types that work: what they make can be called."""


def install(settings: Settings) -> None:
    """Add the types to MiniStack's table; refuses to replace one that MiniStack itself provides."""
    from ministack.services.cloudformation import provisioners

    for kind, handlers in PROVIDED.items():
        if kind in provisioners._RESOURCE_HANDLERS:
            raise RuntimeError(f"MiniStack now provides {kind} itself: remove it from simulator/aws/resources.py")
        provisioners._RESOURCE_HANDLERS[kind] = handlers
    for kind in ("AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"):
        provisioners._RESOURCE_HANDLERS[kind] = _with_recovery(provisioners._RESOURCE_HANDLERS[kind])
    kind = "AWS::Lambda::EventSourceMapping"
    provisioners._RESOURCE_HANDLERS[kind] = _with_role_check(provisioners._RESOURCE_HANDLERS[kind], settings)
