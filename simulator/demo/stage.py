"""What an act gets: the running house, the checks, a voice, and people who answer. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from simulator.demo.checks import Checks
from simulator.demo.house import House

ALICE, BOB, EVE = "U0OPSALICE", "U0OPSBOB", "U0GUESTEVE"
NAMES = {ALICE: "Alice", BOB: "Bob", EVE: "Eve"}
Json = dict[str, Any]


def approval_id(question: Json) -> str:
    """The approval that a question's buttons are for."""
    found = re.search(r"apr-[0-9a-f]{16}", str(question["blocks"]))
    return found[0] if found else ""


@dataclass
class Stage:
    """One play. `say` tells the audience; `interactive` leaves the answers to the person at the Slack page."""

    house: House
    checks: Checks
    say: Callable[[str], None]
    interactive: bool
    patience: float  # real seconds for one wait, by the clock's scale

    def question(self, containing: str, after: float = 0.0) -> Json:
        """The question in Slack whose text holds `containing`, once it is there."""
        found: Json = self.house.wait(
            f"a question about {containing!r} in Slack",
            lambda: self.house.question(containing, after),
            self.patience,
            lambda: [m["text"][:300] for m in self.house.messages(after=after)][-5:],
        )
        return found

    def answer(self, question: Json, choice: str, user: str) -> None:
        """Let `user` click; with `interactive` wait for the person instead."""
        if self.interactive:
            left = f"; {self._seconds_left(question):.0f} s are left" if approval_id(question) else ""
            script = f"the script would choose {choice!r} as {NAMES[user]}{left}"
            self.say(f"your turn: {self.house.slack.page_url}  ({script})")
            self.house.wait(
                "your answer",
                lambda: not self.house.question(question["text"][:40], float(question["ts"]) - 0.001),
                3600,
            )
            return
        delivery = self.house.click(question, choice, user)
        self.say(f"{user} clicks {choice!r}: answered {delivery['status']} in {delivery['elapsed']:.2f} s")

    def _seconds_left(self, question: Json) -> float:
        """Real seconds until a question expires."""
        found = (each.approvals.get(approval_id(question)) for each in self.house.deployed.values())
        ends = [approval.expires_at for approval in found if approval]
        left = (ends[0] - self.now()).total_seconds() if ends else 0.0
        return max(0.0, left) / self.house.aws.clock.scale

    def newest_message(self) -> float:
        """Slack time of the newest message, to look only at later ones."""
        return max((float(m["ts"]) for m in self.house.slack.messages()), default=0.0)

    def pass_time(self, minutes: float) -> None:
        """Let virtual minutes pass."""
        self.house.idle(timedelta(minutes=minutes))

    def now(self) -> datetime:
        """Virtual time."""
        return self.house.aws.now()
