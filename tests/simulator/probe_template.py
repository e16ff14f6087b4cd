"""A small cloud assembly, as CDK would write it, that uses each resource type which the product's stacks use."""

import copy
import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("data")
ASSETS = "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"

Resource = dict[str, Any]

SHOWN = (
    *("Inbox", "Fifo", "DeadLetters", "FifoDeadLetters", "RuleDeadLetters", "FromTopic", "Machine", "Api", "Task"),
    *(
        "Bus",
        "Archive",
        "Parameter",
        "Secret",
        "Key",
        "Topic",
        "Alarm",
        "LettersAlarm",
        "Lonely",
        "Dashboard",
        "LogGroup",
    ),
)
"""Resources of the application whose Ref is an output."""


def ref(name: str) -> Resource:
    return {"Ref": name}


def att(name: str, attribute: str = "Arn") -> Resource:
    return {"Fn::GetAtt": [name, attribute]}


LOGGING = ["logs:CreateLogStream", "logs:PutLogEvents"]


def resource(kind: str, **properties: Any) -> Resource:
    return {"Type": kind, "Properties": properties}


def allow(actions: list[str], on: Any) -> Resource:
    return {"Effect": "Allow", "Action": actions, "Resource": on}


def role(service: str, *statements: Resource) -> Resource:
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": service}}
    return resource(
        "AWS::IAM::Role",
        AssumeRolePolicyDocument={"Version": "2012-10-17", "Statement": [trust]},
        Policies=[
            {
                "PolicyName": "own",
                "PolicyDocument": {"Version": "2012-10-17", "Statement": list(statements)},
            }
        ],
    )


def function(handler: str) -> Resource:
    return resource(
        "AWS::Lambda::Function",
        Runtime="python3.13",
        Architectures=["arm64"],
        Handler=f"probe.{handler}",
        Role=att("FunctionRole"),
        Code={"S3Bucket": {"Fn::Sub": ASSETS}, "S3Key": "function.zip"},
        Layers=[ref("Layer")],
        Timeout=20,
        MemorySize=256,
        Environment={"Variables": {"TABLE": {"Fn::ImportValue": "probe-table"}, "STACK": ref("AWS::StackName")}},
    )


def permission(name: str, service: str, source: Any) -> Resource:
    return resource(
        "AWS::Lambda::Permission",
        Action="lambda:InvokeFunction",
        FunctionName=att(name),
        Principal=service,
        SourceArn=source,
    )


def queue(dead_letters: str | None = None, **properties: Any) -> Resource:
    if dead_letters:
        properties["RedrivePolicy"] = {"deadLetterTargetArn": att(dead_letters), "maxReceiveCount": 2}
    return resource("AWS::SQS::Queue", VisibilityTimeout=1, **properties)


def queue_policy(*queues: str) -> Resource:
    return resource(
        "AWS::SQS::QueuePolicy",
        Queues=[ref(name) for name in queues],
        PolicyDocument={
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": "sqs:SendMessage",
                    "Principal": {"Service": service},
                    "Resource": att(name),
                }
                for name in queues
                for service in ("events.amazonaws.com", "sns.amazonaws.com")
            ]
        },
    )


def source_mapping(queue_name: str) -> Resource:
    return resource(
        "AWS::Lambda::EventSourceMapping",
        EventSourceArn=att(queue_name),
        FunctionName=ref("FromQueue"),
        BatchSize=10,
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )


def state_template() -> Resource:
    return {
        "Resources": {
            "Table": {
                **resource(
                    "AWS::DynamoDB::Table",
                    AttributeDefinitions=[
                        {"AttributeName": "pk", "AttributeType": "S"},
                        {"AttributeName": "sk", "AttributeType": "S"},
                    ],
                    KeySchema=[
                        {"AttributeName": "pk", "KeyType": "HASH"},
                        {"AttributeName": "sk", "KeyType": "RANGE"},
                    ],
                    BillingMode="PAY_PER_REQUEST",
                    PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
                    DeletionProtectionEnabled=True,
                    StreamSpecification={"StreamViewType": "NEW_AND_OLD_IMAGES"},
                ),
                "DeletionPolicy": "Retain",
            }
        },
        "Outputs": {
            "TableName": {"Value": ref("Table"), "Export": {"Name": "probe-table"}},
            "TableArn": {"Value": att("Table"), "Export": {"Name": "probe-table-arn"}},
        },
    }


def application_template() -> Resource:
    cluster = {"Fn::Sub": "arn:aws:sagemaker:${AWS::Region}:${AWS::AccountId}:cluster/*"}
    api = {"Fn::Sub": "arn:aws:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/*/*/slack"}
    group = {"Fn::Sub": "arn:aws:logs:${AWS::Region}:${AWS::AccountId}:log-group:/probe/${AWS::StackName}:*"}
    logs = {"Fn::Sub": "arn:aws:logs:${AWS::Region}:${AWS::AccountId}:log-group:/aws/lambda/${AWS::StackName}-*"}
    resources = {
        "FunctionRole": role(
            "lambda.amazonaws.com",
            allow(LOGGING, logs),
            allow(["dynamodb:PutItem"], {"Fn::ImportValue": "probe-table-arn"}),
            allow(["sagemaker:DescribeCluster"], cluster),
            allow(
                ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
                [att("Inbox"), att("Fifo")],
            ),
        ),
        "Layer": resource(
            "AWS::Lambda::LayerVersion",
            Content={"S3Bucket": {"Fn::Sub": ASSETS}, "S3Key": "layer.zip"},
            CompatibleRuntimes=["python3.13"],
        ),
        "FromQueue": function("sqs"),
        "Scheduled": function("scheduled"),
        "FromLogs": function("logs"),
        "Web": function("web"),
        "Task": function("task"),
        "DeadLetters": queue(),
        "FifoDeadLetters": queue(FifoQueue=True),
        "Inbox": queue("DeadLetters"),
        "Fifo": queue("FifoDeadLetters", FifoQueue=True, ContentBasedDeduplication=True),
        "RuleDeadLetters": queue(),
        "ClosedQueue": queue(),
        "QueuePolicy": queue_policy("Inbox", "RuleDeadLetters", "FromTopic"),
        "FromTopic": queue(),
        "InboxMapping": source_mapping("Inbox"),
        "FifoMapping": source_mapping("Fifo"),
        "HealthRule": resource(
            "AWS::Events::Rule",
            EventPattern={"source": ["aws.sagemaker"], "detail-type": ["SageMaker HyperPod Cluster Node Health Event"]},
            Targets=[{"Id": "inbox", "Arn": att("Inbox"), "DeadLetterConfig": {"Arn": att("RuleDeadLetters")}}],
        ),
        "ClosedRule": resource(
            "AWS::Events::Rule",
            EventPattern={"source": ["aws.sagemaker"], "detail-type": ["Probe For A Closed Queue"]},
            Targets=[{"Id": "closed", "Arn": att("ClosedQueue"), "DeadLetterConfig": {"Arn": att("RuleDeadLetters")}}],
        ),
        "Minutely": resource(
            "AWS::Events::Rule",
            ScheduleExpression="rate(1 minute)",
            Targets=[{"Id": "function", "Arn": att("Scheduled")}],
        ),
        "MinutelyPermission": permission("Scheduled", "events.amazonaws.com", att("Minutely")),
        "Bus": resource("AWS::Events::EventBus", Name={"Fn::Sub": "${AWS::StackName}-bus"}),
        "BusRule": resource(
            "AWS::Events::Rule",
            EventBusName=ref("Bus"),
            EventPattern={"source": ["probe"]},
            Targets=[{"Id": "inbox", "Arn": att("Inbox"), "InputPath": "$.detail"}],
        ),
        "Archive": resource("AWS::Events::Archive", SourceArn=att("Bus"), RetentionDays=7),
        "Api": resource("AWS::ApiGatewayV2::Api", Name=ref("AWS::StackName"), ProtocolType="HTTP"),
        "Integration": resource(
            "AWS::ApiGatewayV2::Integration",
            ApiId=ref("Api"),
            IntegrationType="AWS_PROXY",
            IntegrationUri=att("Web"),
            PayloadFormatVersion="2.0",
        ),
        "Route": resource(
            "AWS::ApiGatewayV2::Route",
            ApiId=ref("Api"),
            RouteKey="POST /slack",
            Target={"Fn::Join": ["", ["integrations/", ref("Integration")]]},
        ),
        "Stage": resource("AWS::ApiGatewayV2::Stage", ApiId=ref("Api"), StageName="$default", AutoDeploy=True),
        "WebPermission": permission("Web", "apigateway.amazonaws.com", api),
        "MachineRole": role(
            "states.amazonaws.com",
            allow(["lambda:InvokeFunction"], [att("Task"), {"Fn::Join": ["", [att("Task"), ":*"]]}]),
            allow(["sagemaker:DescribeCluster"], cluster),
        ),
        "Machine": resource(
            "AWS::StepFunctions::StateMachine",
            RoleArn=att("MachineRole"),
            DefinitionString=(DATA / "probe.asl.json").read_text(),
            DefinitionSubstitutions={"TaskArn": att("Task")},
        ),
        "LogGroup": resource("AWS::Logs::LogGroup", LogGroupName={"Fn::Sub": "/probe/${AWS::StackName}"}),
        "Subscription": {
            **resource(
                "AWS::Logs::SubscriptionFilter",
                LogGroupName=ref("LogGroup"),
                FilterPattern="XID",
                DestinationArn=att("FromLogs"),
            ),
            "DependsOn": "LogsPermission",
        },
        "LogsPermission": permission("FromLogs", "logs.amazonaws.com", group),
        "Parameter": resource("AWS::SSM::Parameter", Type="String", Value="observe"),
        "Secret": resource("AWS::SecretsManager::Secret", GenerateSecretString={"PasswordLength": 32}),
        "Key": resource(
            "AWS::KMS::Key",
            EnableKeyRotation=True,
            KeyPolicy={
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Action": "kms:*",
                        "Resource": "*",
                        "Principal": {"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"}},
                    }
                ]
            },
        ),
        "Topic": resource("AWS::SNS::Topic"),
        "TopicSubscription": resource(
            "AWS::SNS::Subscription", TopicArn=ref("Topic"), Protocol="sqs", Endpoint=att("FromTopic")
        ),
        "Alarm": resource(
            "AWS::CloudWatch::Alarm",
            Namespace="Probe",
            MetricName="Failures",
            Dimensions=[{"Name": "Kind", "Value": "watched"}],
            TreatMissingData="notBreaching",
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=1,
            ComparisonOperator="GreaterThanOrEqualToThreshold",
            AlarmActions=[ref("Topic")],
        ),
        "LettersAlarm": resource(
            "AWS::CloudWatch::Alarm",
            Namespace="AWS/SQS",
            MetricName="ApproximateNumberOfMessagesVisible",
            Dimensions=[{"Name": "QueueName", "Value": att("Lonely", "QueueName")}],
            Statistic="Maximum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=1,
            ComparisonOperator="GreaterThanOrEqualToThreshold",
        ),
        "Lonely": queue(),
        "AlarmRule": resource(
            "AWS::Events::Rule",
            EventPattern={"source": ["aws.cloudwatch"], "detail": {"state": {"value": ["ALARM"]}}},
            Targets=[{"Id": "inbox", "Arn": att("Inbox")}],
        ),
        "Dashboard": resource("AWS::CloudWatch::Dashboard", DashboardBody='{"widgets":[]}'),
    }
    shown = {name: ref(name) for name in SHOWN}
    shown["ApiEndpoint"] = att("Api", "ApiEndpoint")
    return {"Resources": resources, "Outputs": {name: {"Value": value} for name, value in shown.items()}}


def changed_template() -> Resource:
    """The application with some things taken away: a pattern that matches, and permissions."""
    template = copy.deepcopy(application_template())
    resources = template["Resources"]
    resources["HealthRule"]["Properties"]["EventPattern"]["detail-type"] = ["Some Other Event"]
    del resources["Minutely"], resources["MinutelyPermission"]
    for name in ("FunctionRole", "MachineRole"):
        statements = resources[name]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
        statements[:] = [each for each in statements if each["Action"] not in (["sagemaker:DescribeCluster"], LOGGING)]
    resources["WebPermission"]["Properties"]["Principal"] = "events.amazonaws.com"
    return template


def write_assembly(directory: Path, templates: dict[str, Resource]) -> Path:
    """A cdk.out with the probe's assets and `templates` by stack name; each stack after the first depends on it."""
    artifacts: dict[str, Any] = {"assets": {"type": "cdk:asset-manifest", "properties": {"file": "probe.assets.json"}}}
    files = {}
    for name in ("function", "layer"):
        source = {"path": str(DATA / f"probe_{name}"), "packaging": "zip"}
        destination = {"bucketName": ASSETS, "objectKey": f"{name}.zip"}
        files[name] = {"source": source, "destinations": {"current": destination}}
    (directory / "probe.assets.json").write_text(json.dumps({"files": files}))
    first = next(iter(templates))
    for name, template in reversed(templates.items()):
        (directory / f"{name}.template.json").write_text(json.dumps(template))
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "properties": {"templateFile": f"{name}.template.json", "stackName": name},
            "dependencies": ["assets"] + ([first] if name != first else []),
        }
    (directory / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
    return directory
