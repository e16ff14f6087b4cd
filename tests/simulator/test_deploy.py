"""Deploying: outputs across stacks, updates, and the reason when a stack cannot be made."""

import copy
import json

import pytest

from simulator.deploy import DeployError, Deployment, deploy_template
from tests.simulator import probe_template
from tests.simulator.conftest import Probe


def test_every_resource_of_the_probe_is_there(probe: Probe) -> None:
    aws = probe.aws
    for stack, template in (
        ("state", probe_template.state_template()),
        ("probe", probe_template.application_template()),
    ):
        found = aws.client("cloudformation").describe_stack_resources(StackName=stack)["StackResources"]
        assert {each["LogicalResourceId"] for each in found} == set(template["Resources"])
        assert {each["ResourceStatus"] for each in found} == {"CREATE_COMPLETE"}


def test_the_small_resources_answer(probe: Probe) -> None:
    aws = probe.aws
    assert aws.client("ssm").get_parameter(Name=probe.output("Parameter"))["Parameter"]["Value"] == "observe"
    secret = aws.client("secretsmanager").get_secret_value(SecretId=probe.output("Secret"))
    assert len(secret["SecretString"]) == 32
    sealed = aws.client("kms").encrypt(KeyId=probe.output("Key"), Plaintext=b"x")["CiphertextBlob"]
    assert aws.client("kms").decrypt(CiphertextBlob=sealed)["Plaintext"] == b"x"
    assert aws.client("cloudwatch").get_dashboard(DashboardName=probe.output("Dashboard"))["DashboardBody"]
    table = aws.client("dynamodb").describe_table(TableName=probe.output("TableName", "state"))["Table"]
    assert table["DeletionProtectionEnabled"] is True
    assert table["StreamSpecification"]["StreamEnabled"] is True
    backups = aws.client("dynamodb").describe_continuous_backups(TableName=table["TableName"])
    status = backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    assert status == "ENABLED"
    subnets = aws.client("ec2").describe_subnets(SubnetIds=["subnet-0123456789abcdef0"])["Subnets"]
    assert [(each["AvailabilityZoneId"], each["VpcId"]) for each in subnets] == [("usw2-az4", "vpc-0123456789abcdef0")]


def test_a_stack_can_be_deployed_again_and_changed(probe: Probe) -> None:
    template = {"Resources": {"P": probe_template.resource("AWS::SSM::Parameter", Type="String", Value="one")}}
    template["Outputs"] = {"Name": {"Value": {"Ref": "P"}}}
    name = deploy_template(probe.aws, "twice", json.dumps(template))["Name"]
    assert deploy_template(probe.aws, "twice", json.dumps(template))["Name"] == name
    template["Resources"]["P"]["Properties"]["Value"] = "two"
    deploy_template(probe.aws, "twice", json.dumps(template))
    assert probe.aws.client("ssm").get_parameter(Name=name)["Parameter"]["Value"] == "two"


def test_a_long_template_goes_by_way_of_s3(probe: Probe) -> None:
    parameter = probe_template.resource("AWS::SSM::Parameter", Type="String", Value="x", Description="y" * 900)
    template = {"Resources": {f"P{n}": parameter for n in range(60)}, "Outputs": {"One": {"Value": {"Ref": "P1"}}}}
    assert len(json.dumps(template)) > 51_200
    name = deploy_template(probe.aws, "long", json.dumps(template))["One"]
    assert probe.aws.client("ssm").get_parameter(Name=name)["Parameter"]["Value"] == "x"


def test_a_type_that_nobody_provides_is_refused_by_name(probe: Probe) -> None:
    template = {"Resources": {"X": probe_template.resource("AWS::SageMaker::Cluster", InstanceGroups=[])}}
    with pytest.raises(DeployError, match="AWS::SageMaker::Cluster"):
        deploy_template(probe.aws, "unknown", json.dumps(template))


def test_a_missing_export_is_the_reason(probe: Probe) -> None:
    template = {
        "Resources": {
            "P": probe_template.resource("AWS::SSM::Parameter", Type="String", Value={"Fn::ImportValue": "no-such-one"})
        }
    }
    with pytest.raises(DeployError, match="no-such-one"):
        deploy_template(probe.aws, "importing", json.dumps(template))


def test_a_function_whose_role_cannot_read_the_queue_is_refused(probe: Probe) -> None:
    template = probe_template.application_template()
    statements = template["Resources"]["FunctionRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
    statements[:] = [each for each in statements if "sqs:ReceiveMessage" not in each["Action"]]
    with pytest.raises(DeployError, match=r"\(AWS::Lambda::EventSourceMapping\).*sqs:ReceiveMessage"):
        deploy_template(probe.aws, "unread", json.dumps(template))


def test_a_failure_destination_that_the_role_cannot_send_to_is_refused(probe: Probe) -> None:
    template = probe_template.application_template()
    template["Resources"]["OnFailure"] = probe_template.resource(
        "AWS::Lambda::EventInvokeConfig",
        FunctionName=probe_template.ref("Task"),
        Qualifier="$LATEST",
        DestinationConfig={"OnFailure": {"Destination": probe_template.att("DeadLetters")}},
    )
    with pytest.raises(DeployError, match=r"\(AWS::Lambda::EventInvokeConfig\).*sqs:SendMessage"):
        deploy_template(probe.aws, "undelivered", json.dumps(template))


def test_a_failing_resource_is_named_with_its_reason(probe: Probe) -> None:
    broken = copy.deepcopy(probe_template.resource("AWS::Events::Archive", SourceArn="arn", EventPattern="{"))
    with pytest.raises(DeployError, match=r"stack broken .*Broken \(AWS::Events::Archive\)"):
        deploy_template(probe.aws, "broken", json.dumps({"Resources": {"Broken": broken}}))


def test_an_output_is_found_in_its_stack() -> None:
    deployment = Deployment({"a": {"X": "1", "Y": "2"}, "b": {"Y": "3"}})
    assert deployment.output("X") == "1"
    with pytest.raises(KeyError, match="2 stacks"):
        deployment.output("Y")
    with pytest.raises(KeyError, match="0 stacks"):
        deployment.output("Z")
