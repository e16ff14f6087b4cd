"""Service Quotas for SageMaker, with the values of the scenario.

Imports the HyperPod core and the contract with the embedded AWS. Codes of the per-type quotas are this simulator's own;
the others are AWS's.
"""

import hashlib
from typing import Any

from simulator.hyperpod.answers.paging import page
from simulator.hyperpod.core import Core
from simulator.service import Caller, ServiceError

Params = dict[str, Any]


class Quotas:
    """ListServiceQuotas, GetServiceQuota."""

    name = "service-quotas"

    def __init__(self, core: Core) -> None:
        self.core = core

    def call(self, operation: str, params: Params, caller: Caller) -> Params:
        """Answer one call (`simulator.service.Service`)."""
        if operation not in ("ListServiceQuotas", "GetServiceQuota"):
            raise ServiceError("UnknownOperationException", f"This Service Quotas knows no operation {operation}.")
        if params["ServiceCode"] != "sagemaker" or not self.core.is_home(caller):
            raise ServiceError("NoSuchResourceException", f"The service {params['ServiceCode']} has no quotas here.")
        quotas = self._quotas()
        if operation == "GetServiceQuota":
            for quota in quotas:
                if quota["QuotaCode"] == params["QuotaCode"]:
                    return {"Quota": quota}
            raise ServiceError("NoSuchResourceException", f"There is no quota {params['QuotaCode']}.")
        if "QuotaCode" in params:
            quotas = [q for q in quotas if q["QuotaCode"] == params["QuotaCode"]]
        some, token = page(quotas, params, 100)
        return {"Quotas": some, **token}

    def _quotas(self) -> list[Params]:
        q = self.core.scenario.quotas
        values: list[tuple[str, str, float]] = [
            (
                "L-2CE978FC",
                "Maximum number instances allowed per SageMaker HyperPod cluster",
                q.max_instances_per_cluster,
            ),
            (
                "L-3308CCC7",
                "Total number of instances allowed across SageMaker HyperPod clusters",
                q.total_instances,
            ),
            (
                "L-E13DF72A",
                "Maximum size of EBS volume in GB for a SageMaker HyperPod cluster instance",
                q.max_ebs_gb,
            ),
            ("L-97A2C724", "Total number of spot instances allowed across SageMaker HyperPod clusters", 0),
        ]
        values += [(code(kind), f"{kind} for cluster usage", limit) for kind, limit in q.cluster_usage.items()]
        scenario = self.core.scenario
        return [
            {
                "ServiceCode": "sagemaker",
                "ServiceName": "Amazon SageMaker",
                "QuotaArn": f"arn:aws:servicequotas:{scenario.region}:{scenario.account}:sagemaker/{quota_code}",
                "QuotaCode": quota_code,
                "QuotaName": name,
                "Value": float(value),
                "Unit": "None",
                "Adjustable": True,
                "GlobalQuota": False,
            }
            for quota_code, name, value in values
        ]


def code(instance_type: str) -> str:
    """A stable quota code for a per-type quota, in AWS's pattern."""
    return "L-" + hashlib.sha256(instance_type.encode()).hexdigest()[:8].upper()
