"""The Lambda code of the probe template: one small handler for each way in which a function is called."""

import base64
import gzip
import json
import os
import time
import uuid

import boto3
from probe_layer import LAYER

CLIENTS = {}


class ProbeFailure(Exception):
    pass


def client(name):
    if name not in CLIENTS:
        CLIENTS[name] = boto3.client(name)
    return CLIENTS[name]


def record(kind, body):
    client("dynamodb").put_item(
        TableName=os.environ["TABLE"],
        Item={
            "pk": {"S": f"{os.environ['STACK']}#{kind}"},
            "sk": {"S": uuid.uuid4().hex},
            "body": {"S": json.dumps(body)},
        },
    )


def sqs(event, context):
    failed = []
    for each in event["Records"]:
        body = json.loads(each["body"])
        if body.get("fail"):
            failed.append({"itemIdentifier": each["messageId"]})
        else:
            record("sqs", body)
    return {"batchItemFailures": failed}


def scheduled(event, context):
    record("scheduled", event)


def logs(event, context):
    record("logs", json.loads(gzip.decompress(base64.b64decode(event["awslogs"]["data"]))))


def web(event, context):
    raw = base64.b64decode(event["body"]) if event["isBase64Encoded"] else event["body"].encode()
    return {
        "statusCode": 200,
        "headers": {"content-type": "application/json"},
        "body": json.dumps(
            {
                "raw": base64.b64encode(raw).decode(),
                "base64": event["isBase64Encoded"],
                "header": event["headers"].get("x-probe"),
                "path": event["rawPath"],
            }
        ),
    }


def task(event, context):
    action = event.get("action")
    if action == "fail":
        raise ProbeFailure("as asked")
    if action == "describe":
        return client("sagemaker").describe_cluster(ClusterName="probe")["ClusterStatus"]
    if action == "token":
        record("token", {"token": event["token"]})
        return None
    if action == "metric":
        directive = {
            "Namespace": "Probe",
            "Dimensions": [["Kind"]],
            "Metrics": [{"Name": "Failures", "Unit": "Count"}],
        }
        line = {"_aws": {"Timestamp": 0, "CloudWatchMetrics": [directive]}, "Kind": event["kind"], "Failures": [1.0]}
        print(json.dumps(line))  # noqa: T201  this is how metrics leave a function
    if action == "sleep":
        time.sleep(event["seconds"])
    print(json.dumps({"probe": "line", "layer": LAYER}))  # noqa: T201  the log line is what is tested
    return {
        "echo": event,
        "layer": LAYER,
        "pid": os.getpid(),
        "clock": os.environ["ROUNDHOUSE_CLOCK"],
        "endpoint": os.environ["AWS_ENDPOINT_URL"],
        "function": context.function_name,
        "remaining": context.get_remaining_time_in_millis(),
    }
