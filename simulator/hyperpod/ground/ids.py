"""Identifiers and draws of a world, all from its seed. Standard library only."""

import ipaddress
import random
import uuid

_ALNUM = "abcdefghijklmnopqrstuvwxyz0123456789"


class Ids:
    """Ids in the patterns of the service model; `draw` gives durations that do not depend on call order."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(f"ids-{seed}")
        self._addresses: dict[str, int] = {}

    def cluster(self) -> str:
        """12 characters of [a-z0-9]."""
        return "".join(self.random.choices(_ALNUM, k=12))

    def hexadecimal(self, prefix: str, digits: int = 17) -> str:
        """`i-` + 17 hex and the like."""
        return f"{prefix}-{self.random.getrandbits(digits * 4):0{digits}x}"

    def uuid(self) -> str:
        """A version 4 UUID."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def address(self, cidr: str) -> str:
        """The next free IPv4 address of a subnet (AWS keeps the first four and the last one)."""
        network = ipaddress.ip_network(cidr)
        taken = self._addresses.get(cidr, 0)
        if taken >= network.num_addresses - 5:
            raise LookupError(f"no address is left in {cidr}")
        self._addresses[cidr] = taken + 1
        return str(network[4 + taken])

    def draw(self, low: float, high: float, *keys: object) -> float:
        """A number in [low, high] that is the same for the same seed and keys."""
        return random.Random("|".join(map(str, (self.seed, *keys)))).uniform(low, high)
