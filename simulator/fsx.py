"""FSx file systems that the scenario seeds: describe and delete. Deletion is at once and for good.

Imports the HyperPod core (clock, ids, scenario) and the contract with the embedded AWS.
"""

from copy import deepcopy
from typing import Any

from simulator.hyperpod.core import Core
from simulator.hyperpod.service import CallLog
from simulator.service import Caller, ServiceError

Params = dict[str, Any]


class Fsx:
    """DescribeFileSystems, DeleteFileSystem."""

    name = "fsx"
    GONE_AFTER = 300.0
    """Seconds that a deleted file system is still shown as DELETING."""

    def __init__(self, core: Core, log: CallLog) -> None:
        self.core = core
        self.log = log
        self.file_systems: dict[str, Params] = {}
        self.backups: dict[str, str] = {}
        """Final backups: id to file system."""
        self._linked = {f.id for f in core.scenario.file_system if f.s3_linked}
        for f in core.scenario.file_system:
            self.file_systems[f.id] = self._seed(f.id)

    def call(self, operation: str, params: Params, caller: Caller) -> Params:
        """Answer one call (`simulator.service.Service`)."""
        self.log.counts[operation] = self.log.counts.get(operation, 0) + 1
        if operation == "DescribeFileSystems":
            return self._describe(params, caller)
        if operation != "DeleteFileSystem":
            raise ServiceError("UnknownOperationException", f"This FSx knows no operation {operation}.")
        entry = self.log.record(self.core, self.name, operation, params, caller)
        try:
            answer = self._delete(params, caller)
        except ServiceError as error:
            entry["error"] = {"code": error.code, "message": error.message}
            raise
        entry["result"] = deepcopy(answer)
        return answer

    def _describe(self, p: Params, caller: Caller) -> Params:
        wanted = p.get("FileSystemIds") or list(self.file_systems if self.core.is_home(caller) else ())
        return {"FileSystems": [deepcopy(self._find(i, caller)) for i in wanted]}

    def _delete(self, p: Params, caller: Caller) -> Params:
        fs = self._find(p["FileSystemId"], caller)
        if fs["Lifecycle"] == "DELETING":
            raise ServiceError("BadRequest", f"File system {fs['FileSystemId']} is already being deleted.")
        options = p.get("LustreConfiguration", {})
        answer: Params = {"FileSystemId": fs["FileSystemId"], "Lifecycle": "DELETING"}
        # The default loses the data: a final backup is made only when it is asked for.
        if not options.get("SkipFinalBackup", True):
            if fs["FileSystemId"] in self._linked:
                raise ServiceError("BadRequest", "A file system that is linked to S3 cannot be backed up.")
            backup = self.core.ids.hexadecimal("backup")
            self.backups[backup] = fs["FileSystemId"]
            answer["LustreResponse"] = {"FinalBackupId": backup}
            if "FinalBackupTags" in options:
                answer["LustreResponse"]["FinalBackupTags"] = options["FinalBackupTags"]
        fs["Lifecycle"] = "DELETING"
        self.core.timeline.after(self.GONE_AFTER, lambda: self._forget(fs["FileSystemId"]))
        return answer

    def _forget(self, identifier: str) -> None:
        self.file_systems.pop(identifier, None)

    def _find(self, identifier: str, caller: Caller) -> Params:
        if self.core.is_home(caller) and identifier in self.file_systems:
            return self.file_systems[identifier]
        raise ServiceError("FileSystemNotFound", f"File system '{identifier}' does not exist.")

    def _seed(self, identifier: str) -> Params:
        scenario = self.core.scenario
        f = next(f for f in scenario.file_system if f.id == identifier)
        region, account = scenario.region, scenario.account
        view: Params = {
            "OwnerId": account,
            "CreationTime": self.core.now,
            "FileSystemId": f.id,
            "FileSystemType": f.type,
            "Lifecycle": f.lifecycle,
            "StorageCapacity": f.storage_gib,
            "StorageType": "SSD",
            "VpcId": self.core.subnets[f.subnet].vpc,
            "SubnetIds": [f.subnet],
            "DNSName": f"{f.id}.fsx.{region}.amazonaws.com",
            "ResourceARN": f"arn:aws:fsx:{region}:{account}:file-system/{f.id}",
        }
        if f.tags:
            view["Tags"] = [{"Key": k, "Value": v} for k, v in f.tags.items()]
        if f.type == "LUSTRE":
            view["LustreConfiguration"] = {
                "DeploymentType": "PERSISTENT_2",
                "PerUnitStorageThroughput": f.throughput,
                "MountName": f.mount_name,
                "DataCompressionType": "LZ4",
            }
        return view
