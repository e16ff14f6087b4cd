"""`pause` and `resume`: all automatic action off and on, with who and why, told in Slack."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Console

from roundhouse.cli.wiring import Deployment
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import Refused
from roundhouse.ports import Pause


def pause(deployment: Deployment, why: str, out: Console) -> None:
    """Set the switch. Raises Refused when it is set already (by whom and why is said)."""
    deployment.check_account()
    known = deployment.control.pause()
    if known is not None:
        raise Refused(f"paused already by {known.by} since {known.since:%Y-%m-%d %H:%M} UTC: {known.why}")
    switch = Pause(by=deployment.caller(), why=why, since=datetime.now(UTC))
    deployment.control.set_pause(switch)
    deployment.outbox.tell(_notice(deployment, switch, NoticeKind.PAUSED, "Automatic action is paused", why))
    out.print(f"paused {deployment.environment.name}: nothing acts until `roundhouse resume`", soft_wrap=True)


def resume(deployment: Deployment, why: str, out: Console) -> None:
    """Clear the switch. Raises Refused when it is not set."""
    deployment.check_account()
    known = deployment.control.pause()
    if known is None:
        raise Refused(f"{deployment.environment.name} is not paused")
    deployment.control.set_pause(None)
    switch = Pause(by=deployment.caller(), why=why, since=datetime.now(UTC))
    deployment.outbox.tell(_notice(deployment, switch, NoticeKind.RESUMED, "Automatic action goes on", why))
    since = f"{known.since:%Y-%m-%d %H:%M} UTC by {known.by}"
    out.print(f"resumed {deployment.environment.name}, paused since {since}", soft_wrap=True)


def _notice(deployment: Deployment, switch: Pause, kind: NoticeKind, title: str, why: str) -> Notice:
    return Notice(
        notice_id=f"{kind.value}:{deployment.environment.name}:{switch.since.isoformat()}",
        thread=f"switch:{deployment.environment.name}:{switch.since.isoformat()}",
        kind=kind,
        title=f"{title} on {deployment.cluster}",
        text=why,
        facts={"By": switch.by, "Since": f"{switch.since:%d %b %H:%M} UTC"},
    )
