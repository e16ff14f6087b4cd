"""The one door that is open to the internet."""

from __future__ import annotations

from tests.stacks.templates import Templates


def test_there_is_one_route_and_it_takes_posts(templates: Templates) -> None:
    (route,) = templates.properties("AWS::ApiGatewayV2::Route")
    assert route["RouteKey"] == "POST /slack/interactions"
    (integration,) = templates.properties("AWS::ApiGatewayV2::Integration")
    assert integration["IntegrationUri"].endswith("function:roundhouse-test-answer-slack:live")
    assert integration["PayloadFormatVersion"] == "2.0"


def test_it_is_throttled_and_logged(templates: Templates) -> None:
    (stage,) = templates.properties("AWS::ApiGatewayV2::Stage")
    assert stage["DefaultRouteSettings"] == {"ThrottlingBurstLimit": 40, "ThrottlingRateLimit": 20}
    assert "$context.requestId" in stage["AccessLogSettings"]["Format"]
    assert stage["AccessLogSettings"]["DestinationArn"].endswith("/aws/vendedlogs/apis/roundhouse-test-slack:*")


def test_a_flood_cannot_take_the_accounts_concurrency(templates: Templates) -> None:
    (function,) = [
        each for each in templates.properties("AWS::Lambda::Function") if each["FunctionName"].endswith("answer-slack")
    ]
    assert function["ReservedConcurrentExecutions"] == 10


def test_secret_is_named_and_never_made_here(templates: Templates) -> None:
    assert list(templates.of_type("AWS::SecretsManager::Secret")) == []
    variables = {
        each["FunctionName"]: each["Environment"]["Variables"] for each in templates.properties("AWS::Lambda::Function")
    }
    for name in ("roundhouse-test-answer-slack", "roundhouse-test-post-slack"):
        assert variables[name]["SLACK_SECRET_ARN"].endswith(":secret:roundhouse/slack")
        assert variables[name]["SLACK_API_URL"] == "https://slack.com/api/"


def test_the_app_that_may_call_is_known_where_it_is_checked(templates: Templates) -> None:
    told = {
        each["FunctionName"]: each["Environment"]["Variables"].get("SLACK_APP_ID")
        for each in templates.properties("AWS::Lambda::Function")
    }
    assert {name for name, app in told.items() if app} == {"roundhouse-test-answer-slack"}
    assert told["roundhouse-test-answer-slack"] == "A0123ABCDEF"


def test_people_are_told_the_address(templates: Templates) -> None:
    outputs = templates.by_stack["Approvals"]["Outputs"]
    assert "/slack/interactions" in str(outputs["InteractionsUrl"]["Value"])
