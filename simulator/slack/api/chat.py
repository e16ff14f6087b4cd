"""chat.* methods: post, update, delete, postEphemeral, getPermalink.

Imports workspace, block_kit, arguments, shapes, errors.
"""

from __future__ import annotations

from simulator.slack.api.arguments import Arguments
from simulator.slack.api.block_kit import check_blocks, parse_blocks
from simulator.slack.api.shapes import message_json
from simulator.slack.errors import ApiError
from simulator.slack.model import Channel, Json, Message
from simulator.slack.workspace import Workspace

_POST_TEXT_LIMIT = 40_000  # characters; longer texts are cut with a warning
_UPDATE_TEXT_LIMIT = 4_000  # bytes of UTF-8; longer texts are refused


def post_message(workspace: Workspace, arguments: Arguments) -> Json:
    """chat.postMessage."""
    channel = _writable_channel(workspace, arguments)
    text, blocks = _content(arguments)
    message = workspace.post(
        channel,
        workspace.app.bot_user_id,
        text=text,
        blocks=blocks,
        thread_ts=_thread(workspace, channel, arguments),
        broadcast=arguments.flag("reply_broadcast") and arguments.given("thread_ts"),
        metadata=arguments.metadata(),
        username=arguments.text("username"),
    )
    answer: Json = {
        "channel": channel.id,
        "ts": message.ts,
        "message": message_json(workspace, message, metadata=True),
    }
    if len(text) > _POST_TEXT_LIMIT:
        answer["warning"] = "message_truncated"
        answer["response_metadata"] = {"warnings": ["message_truncated"]}
    return answer


def post_ephemeral(workspace: Workspace, arguments: Arguments) -> Json:
    """chat.postEphemeral: shown to one member of the channel only."""
    channel = _writable_channel(workspace, arguments)
    user = arguments.required("user")
    if user not in channel.members:
        raise ApiError("user_not_in_channel")
    text, blocks = _content(arguments)
    message = workspace.post(
        channel,
        workspace.app.bot_user_id,
        text=text,
        blocks=blocks,
        thread_ts=_thread(workspace, channel, arguments),
        visible_to=user,
    )
    return {"message_ts": message.ts}


def update(workspace: Workspace, arguments: Arguments) -> Json:
    """chat.update: what is not given stays; an empty `blocks` array takes the blocks away."""
    channel = workspace.channel(arguments.raw("channel"))
    message = _own(workspace, channel, arguments, refusal="cant_update_message")
    blocks = parse_blocks(arguments.raw("blocks")) if arguments.given("blocks") else None
    if blocks:
        check_blocks(blocks)
    text = arguments.text("text") if arguments.given("text") else None
    if text is None and not blocks:
        raise ApiError("no_text")
    if text is not None and len(text.encode()) > _UPDATE_TEXT_LIMIT:
        raise ApiError("msg_too_long")
    if arguments.flag("reply_broadcast") and message.is_reply:
        message.broadcast = True
    workspace.edit(message, workspace.app.bot_user_id, text=text, blocks=blocks, metadata=arguments.metadata())
    return {
        "channel": channel.id,
        "ts": message.ts,
        "text": message.text,
        "message": message_json(workspace, message, metadata=True),
    }


def delete(workspace: Workspace, arguments: Arguments) -> Json:
    """chat.delete: the app's own messages only."""
    channel = workspace.channel(arguments.raw("channel"))
    message = _own(workspace, channel, arguments, refusal="cant_delete_message")
    workspace.delete(message)
    return {"channel": channel.id, "ts": message.ts}


def get_permalink(workspace: Workspace, arguments: Arguments) -> Json:
    """chat.getPermalink; the link leads to the stand-in's own page (made absolute by the caller)."""
    channel = workspace.channel(arguments.raw("channel"))
    message = workspace.message(channel.id, arguments.raw("message_ts"))
    if message.visible_to is not None:
        raise ApiError("message_not_found")
    link = f"/archives/{channel.id}/p{message.ts.replace('.', '')}"
    if message.is_reply:
        link += f"?thread_ts={message.thread_ts}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


def _writable_channel(workspace: Workspace, arguments: Arguments) -> Channel:
    channel = workspace.channel(arguments.raw("channel"), by_name=True)
    if channel.is_archived:
        raise ApiError("is_archived")
    if not channel.bot_is_member:
        raise ApiError("not_in_channel")
    return channel


def _content(arguments: Arguments) -> tuple[str, list[Json]]:
    """Text and checked blocks; one of them must be there.

    Slack knows more kinds of content; what the stand-in cannot show is refused, never dropped in silence.
    """
    for kind in ("attachments", "markdown_text"):
        if arguments.raw(kind):
            raise ApiError("invalid_arguments", [f"{kind} is not part of the stand-in"])
    blocks = parse_blocks(arguments.raw("blocks")) if arguments.given("blocks") else []
    text = arguments.text("text") or ""
    if not blocks and not text.strip():
        raise ApiError("no_text")
    check_blocks(blocks)
    return text, blocks


def _thread(workspace: Workspace, channel: Channel, arguments: Arguments) -> str | None:
    """The parent's ts. Replying to a reply is refused, which Slack's documentation warns of."""
    if not arguments.given("thread_ts"):
        return None
    try:
        parent = workspace.message(channel.id, arguments.raw("thread_ts"))
    except ApiError as error:
        raise ApiError("thread_not_found") from error
    if parent.is_reply or parent.visible_to is not None:
        raise ApiError("cannot_reply_to_message")
    return parent.ts


def _own(workspace: Workspace, channel: Channel, arguments: Arguments, *, refusal: str) -> Message:
    message = workspace.message(channel.id, arguments.raw("ts"))
    if message.visible_to is not None:
        # Ephemeral messages cannot be reached by ts; only response_url can change them.
        raise ApiError("message_not_found")
    if message.user != workspace.app.bot_user_id:
        raise ApiError(refusal)
    return message
