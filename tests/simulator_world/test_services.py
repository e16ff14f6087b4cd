"""Cost Explorer over the meter, FSx and its irreversible delete, Service Quotas."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.simulator_world.harness import AZ2, CPU, ELSEWHERE, GPU, START, Bench, controller, group

FS = {"id": "fs-0123456789abcdef0", "subnet": AZ2, "mount_name": "abcdefgh", "tags": {"keep": "yes"}}
USAGE = [{"Type": "DIMENSION", "Key": "USAGE_TYPE"}]


def hour(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:00:00Z")


class TestCost:
    """Hours and dollars by usage type; nothing younger than the lag."""

    def ask(self, bench: Bench, **changes: Any) -> list[dict[str, Any]]:
        params: dict[str, Any] = {
            "TimePeriod": {"Start": hour(START), "End": hour(START + timedelta(hours=4))},
            "Granularity": "HOURLY",
            "Metrics": ["UnblendedCost", "UsageQuantity"],
            "GroupBy": USAGE,
        } | changes
        params = {k: v for k, v in params.items() if v is not None}
        found: list[dict[str, Any]] = bench.call("GetCostAndUsage", params, service="ce")["ResultsByTime"]
        return found

    def table(self, result: dict[str, Any]) -> dict[str, Any]:
        return {
            g["Keys"][0]: (
                float(g["Metrics"]["UnblendedCost"]["Amount"]),
                float(g["Metrics"]["UsageQuantity"]["Amount"]),
            )
            for g in result["Groups"]
        }

    def mixed(self, bench_with: Callable[..., Bench], hours: float) -> Bench:
        """Two reserved and one on-demand worker that have run for `hours`."""
        bench = bench_with()
        groups = [controller(), group("workers", 2), group("extra", 1, TrainingPlanArn=None)]
        bench.create(InstanceGroups=groups, minutes=hours * 60, Tags=[{"Key": "env", "Value": "demo"}])
        return bench

    def test_reserved_and_on_demand_hours_are_apart(self, bench_with: Callable[..., Bench]) -> None:
        bench = self.mixed(bench_with, 14)
        results = self.ask(bench)
        assert len(results) == 4
        third = self.table(results[2])
        assert third == {
            f"USW2-Cluster-Reserved:{GPU}": (pytest.approx(16.0), pytest.approx(2.0)),
            f"USW2-Cluster:{GPU}": (pytest.approx(16.6), pytest.approx(1.0)),
            f"USW2-Cluster:{CPU}": (pytest.approx(0.46), pytest.approx(1.0)),
        }
        first = self.table(results[0])
        # Workers' scripts start 13 minutes after the call: 8 for the controller, 8 to launch, less 3 of script.
        assert first[f"USW2-Cluster-Reserved:{GPU}"][1] == pytest.approx(2 * 47 / 60)

    def test_the_last_hours_are_not_known_yet(self, bench_with: Callable[..., Bench]) -> None:
        bench = self.mixed(bench_with, 9.5)
        known, partly, *unknown = self.ask(bench)
        assert self.table(known)
        assert self.table(partly)[f"USW2-Cluster:{CPU}"][1] == pytest.approx(0.5)
        assert [r["Groups"] for r in unknown] == [[], []]
        assert all(r["Estimated"] for r in (known, partly))

    def test_the_latch_shows_in_the_bill_alone(self, bench_with: Callable[..., Bench]) -> None:
        bench = bench_with(first_call_latch=True)
        bench.create(0)
        spec = {"InstanceGroupName": "workers", "IncrementTargetCountBy": 2}
        bench.call("BatchAddClusterNodes", {"ClusterName": "train", "NodesToAdd": [spec]})
        bench.run(13 * 60)
        last = self.table(self.ask(bench)[3])
        assert last[f"USW2-Cluster:{GPU}"] == (pytest.approx(33.2), pytest.approx(2.0))
        assert f"USW2-Cluster-Reserved:{GPU}" not in last

    def test_totals_filters_and_days(self, bench_with: Callable[..., Bench]) -> None:
        bench = self.mixed(bench_with, 40)
        day = {"Start": "2026-10-02", "End": "2026-10-03"}

        def total(expression: dict[str, Any] | None) -> float:
            (result,) = self.ask(bench, TimePeriod=day, Granularity="DAILY", GroupBy=None, Filter=expression)
            return float(result["Total"]["UnblendedCost"]["Amount"])

        def dimension(key: str, value: str) -> dict[str, Any]:
            return {"Dimensions": {"Key": key, "Values": [value]}}

        # 40 h after noon of the first, less 8 h of lag: 20 h of the second are known.
        everything = total(None)
        assert everything == pytest.approx(20 * (16.0 + 16.6 + 0.46))
        sagemaker, region = dimension("SERVICE", "Amazon SageMaker"), dimension("REGION", "us-west-2")
        assert total({"And": [sagemaker, region]}) == pytest.approx(everything)
        assert total(dimension("SERVICE", "Amazon EC2")) == 0
        assert total({"Not": region}) == 0
        assert total({"Tags": {"Key": "env", "Values": ["demo"]}}) == pytest.approx(everything)
        assert total({"Or": [dimension("USAGE_TYPE", f"USW2-Cluster:{GPU}")]}) == pytest.approx(20 * 16.6)
        (by_service,) = self.ask(
            bench, TimePeriod=day, Granularity="DAILY", GroupBy=[{"Type": "DIMENSION", "Key": "SERVICE"}]
        )
        assert self.table(by_service)["Amazon SageMaker"][0] == pytest.approx(everything)
        (by_tag,) = self.ask(bench, TimePeriod=day, Granularity="DAILY", GroupBy=[{"Type": "TAG", "Key": "env"}])
        assert list(self.table(by_tag)) == ["env$demo"]

    def test_what_is_refused(self, bench: Bench) -> None:
        period = {"Start": "2026-10-02", "End": "2026-10-01"}
        base: dict[str, Any] = {"TimePeriod": period, "Granularity": "DAILY", "Metrics": ["UnblendedCost"]}
        good = {"Start": "2026-10-01", "End": "2026-10-02"}
        assert bench.refused("GetCostAndUsage", base, service="ce").code == "ValidationException"
        wrong = base | {"TimePeriod": good, "Metrics": ["Happiness"]}
        assert bench.refused("GetCostAndUsage", wrong, service="ce").code == "ValidationException"


class TestFsx:
    def test_seeded_file_systems(self, bench_with: Callable[..., Bench]) -> None:
        bench = bench_with(file_system=[FS])
        (fs,) = bench.call("DescribeFileSystems", {"FileSystemIds": [FS["id"]]}, service="fsx")["FileSystems"]
        assert (fs["Lifecycle"], fs["SubnetIds"], fs["FileSystemType"]) == ("AVAILABLE", [AZ2], "LUSTRE")
        assert fs["LustreConfiguration"]["MountName"] == "abcdefgh"
        assert fs["Tags"] == [{"Key": "keep", "Value": "yes"}]
        absent = {"FileSystemIds": ["fs-00000000000000000"]}
        assert bench.refused("DescribeFileSystems", absent, service="fsx").code == "FileSystemNotFound"
        elsewhere = bench.call("DescribeFileSystems", {}, service="fsx", caller=ELSEWHERE)
        assert elsewhere["FileSystems"] == []

    def test_delete_is_at_once_for_good_and_without_a_backup(self, bench_with: Callable[..., Bench]) -> None:
        bench = bench_with(file_system=[FS])
        answer = bench.call("DeleteFileSystem", {"FileSystemId": FS["id"]}, service="fsx")
        assert answer == {"FileSystemId": FS["id"], "Lifecycle": "DELETING"}
        assert bench.refused("DeleteFileSystem", {"FileSystemId": FS["id"]}, service="fsx").code == "BadRequest"
        bench.run(6)
        assert bench.call("DescribeFileSystems", {}, service="fsx")["FileSystems"] == []
        calls = bench.control("calls")["calls"]
        assert [(c["service"], c["operation"], "error" in c) for c in calls] == [
            ("fsx", "DeleteFileSystem", False),
            ("fsx", "DeleteFileSystem", True),
        ]

    @pytest.mark.parametrize("linked", [False, True])
    def test_a_final_backup_must_be_asked_for_and_needs_no_s3_link(
        self, bench_with: Callable[..., Bench], linked: bool
    ) -> None:
        bench = bench_with(file_system=[FS | {"s3_linked": linked}])
        request = {"FileSystemId": FS["id"], "LustreConfiguration": {"SkipFinalBackup": False}}
        if linked:
            assert bench.refused("DeleteFileSystem", request, service="fsx").code == "BadRequest"
            assert bench.call("DescribeFileSystems", {}, service="fsx")["FileSystems"][0]["Lifecycle"] == "AVAILABLE"
        else:
            answer = bench.call("DeleteFileSystem", request, service="fsx")
            assert answer["LustreResponse"]["FinalBackupId"].startswith("backup-")

    def test_not_in_the_path_of_a_cluster_delete(self, bench_with: Callable[..., Bench]) -> None:
        bench = bench_with(file_system=[FS])
        bench.create(1)
        bench.call("DeleteCluster", {"ClusterName": "train"})
        bench.run(10)
        assert bench.call("DescribeFileSystems", {}, service="fsx")["FileSystems"][0]["Lifecycle"] == "AVAILABLE"


def test_quotas(bench: Bench) -> None:
    listed = bench.call("ListServiceQuotas", {"ServiceCode": "sagemaker"}, service="service-quotas")["Quotas"]
    values = {q["QuotaName"]: q["Value"] for q in listed}
    assert values[f"{GPU} for cluster usage"] == 64
    assert values["Maximum number instances allowed per SageMaker HyperPod cluster"] == 100
    assert values["Total number of instances allowed across SageMaker HyperPod clusters"] == 200
    for quota in listed:
        asked = {"ServiceCode": "sagemaker", "QuotaCode": quota["QuotaCode"]}
        assert bench.call("GetServiceQuota", asked, service="service-quotas")["Quota"] == quota
    code = {"ServiceCode": "sagemaker", "QuotaCode": "L-2CE978FC"}
    assert bench.call("GetServiceQuota", code, service="service-quotas")["Quota"]["Value"] == 100
    for wrong in ({"ServiceCode": "ec2", "QuotaCode": "L-1"}, {"ServiceCode": "sagemaker", "QuotaCode": "L-00000000"}):
        assert bench.refused("GetServiceQuota", wrong, service="service-quotas").code == "NoSuchResourceException"
    paged = bench.call("ListServiceQuotas", {"ServiceCode": "sagemaker", "MaxResults": 2}, service="service-quotas")
    assert len(paged["Quotas"]) == 2
    assert "NextToken" in paged


@pytest.mark.parametrize("service", ["sagemaker", "fsx", "ce", "service-quotas"])
def test_unknown_operations_are_named(bench: Bench, service: str) -> None:
    operation: str = {"sagemaker": "CreateModel", "fsx": "CreateBackup", "ce": "GetAnomalies"}.get(
        service, "ListServices"
    )
    requests: dict[str, dict[str, Any]] = {
        "sagemaker": {"ModelName": "m"},
        "ce": {"DateInterval": {"StartDate": "2026-10-01"}},
    }
    error = bench.refused(operation, requests.get(service, {}), service=service)
    assert error.code == "UnknownOperationException"
