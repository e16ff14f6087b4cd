"""The channel in a real browser: clicking, confirming, live changes, the timeout warning, foreign text."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Browser, Dialog, Page, Request, expect, sync_playwright
from slack_sdk import WebClient
from slack_sdk.signature import SignatureVerifier

from simulator.slack.client import SlackStandIn
from tests.simulator_slack.conftest import (
    ALICE,
    APPROVAL,
    BOB,
    CHANNEL,
    EVE,
    Receiver,
    actions,
    button,
    mrkdwn,
    plain,
)

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="skipped, needs chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def slack(tmp_path: Path, receiver: Receiver) -> Iterator[SlackStandIn]:
    with SlackStandIn.start(tmp_path, interactivity_url=receiver.url) as standin:
        yield standin


@pytest.fixture
def page(browser: Browser, slack: SlackStandIn) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    tab = context.new_page()
    troubles: list[str] = []
    tab.on("pageerror", lambda error: troubles.append(str(error)))

    def alert(dialog: Dialog) -> None:
        troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def request(asked: Request) -> None:
        if not asked.url.startswith((slack.url, "data:")):
            troubles.append(f"asked {asked.url}")

    tab.on("dialog", alert)
    tab.on("request", request)
    yield tab
    context.close()
    assert troubles == []


def confirming(**more: Any) -> dict[str, Any]:
    return {
        "title": plain("Replace this instance?"),
        "text": mrkdwn("`i-0d1c2b3a4f5e6a7b8` goes, *ip-10-1-4-17* stays."),
        "confirm": plain("Replace"),
        "deny": plain("Not now"),
        "style": "danger",
        **more,
    }


def test_approve_with_confirmation(page: Page, slack: SlackStandIn, web: WebClient, receiver: Receiver) -> None:
    page.goto(f"{slack.page_url}?as={ALICE}")
    expect(page.get_by_role("heading", name="gpu-ops")).to_be_visible()
    blocks = [
        APPROVAL[0],
        actions(button("approve", value="apr_7f3c", style="primary", confirm=confirming()), button("deny", value="n")),
    ]
    ts = web.chat_postMessage(channel=CHANNEL, text="Replace?", blocks=blocks)["ts"]
    approve = page.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()  # without a reload
    expect(page.locator("article .badge")).to_have_text("APP")

    approve.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("i-0d1c2b3a4f5e6a7b8 goes, ip-10-1-4-17 stays.")
    dialog.get_by_role("button", name="Not now").click()
    expect(dialog).to_be_hidden()
    assert receiver.requests == []

    approve.click()
    dialog.get_by_role("button", name="Replace").click()
    received = receiver.first()
    expect(approve).not_to_have_attribute("aria-busy", "true")
    assert len(receiver.requests) == 1
    assert SignatureVerifier(slack.signing_secret).is_valid_request(received.body, received.headers)
    payload = json.loads(parse_qs(received.body.decode())["payload"][0])
    assert (payload["user"]["id"], payload["message"]["ts"]) == (ALICE, ts)
    assert payload["actions"][0]["value"] == "apr_7f3c"

    done = [{"type": "section", "text": mrkdwn(f":white_check_mark: Approved by <@{ALICE}>")}]
    web.chat_update(channel=CHANNEL, ts=ts, text="Approved", blocks=done)
    expect(page.locator("article")).to_contain_text("Approved by @Alice")
    expect(approve).to_have_count(0)
    expect(page.locator("article .edited")).to_have_text("(edited)")


def test_an_app_that_needs_four_seconds(page: Page, slack: SlackStandIn, web: WebClient, receiver: Receiver) -> None:
    receiver.delay = 4.0
    web.chat_postMessage(channel=CHANNEL, text="Replace?", blocks=APPROVAL)
    page.goto(f"{slack.page_url}?as={ALICE}")
    page.get_by_role("button", name="Deny").click()
    expect(page.get_by_role("button", name="Deny")).to_have_attribute("aria-busy", "true")
    warning = page.locator("article .failed")
    expect(warning).to_contain_text("operation_timeout", timeout=5000)
    assert 2.9 < slack.deliveries()[0]["elapsed"] < 3.9
    page.get_by_label("Bob").check()
    expect(warning).to_have_count(0)  # it is the clicker's warning
    assert len(receiver.requests) == 1


def test_foreign_text_is_text(page: Page, slack: SlackStandIn, web: WebClient) -> None:
    attack = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    link = "<javascript:alert(3)|click> <https://example.com/?a=1&amp;b=2|fine>"
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": plain(attack)},
        {"type": "section", "text": mrkdwn(f"{attack} {link} ```{attack}``` `{attack}`"), "fields": [plain(attack)]},
        {"type": "context", "elements": [mrkdwn(attack)]},
        {"type": "image", "image_url": "javascript:alert(4)", "alt_text": attack},
        actions(
            {**button("approve", confirm=confirming(title=plain(attack))), "text": plain(attack)},
            button("open", url="javascript:alert(5)"),
        ),
    ]
    web.chat_postMessage(channel=CHANNEL, text=attack, blocks=blocks, username=attack)
    slack.say(CHANNEL, BOB, attack + " <https://evil.example|click>")
    page.goto(f"{slack.page_url}?as={ALICE}")
    expect(page.locator(".block-header")).to_have_text(attack)
    expect(page.locator("pre")).to_have_text(attack)
    expect(page.locator(".author").first).to_have_text(attack)
    expect(page.locator("article").last).to_contain_text(attack + " <https://evil.example|click>")
    page.locator("[data-action=approve]").click()
    expect(page.get_by_role("dialog").locator("h2")).to_have_text(attack)
    page.keyboard.press("Escape")
    assert page.locator("article img, article script, [onerror]").count() == 0
    assert page.locator("article [href^=javascript]").count() == 0
    assert page.locator("article .text a").evaluate_all("links => links.map(a => a.href)") == [
        "https://example.com/?a=1&b=2"
    ]


def html(page: Page) -> str:
    return str(page.locator("article .text").last.inner_html())


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("*bold* _slanted_ ~gone~", "<strong>bold</strong> <em>slanted</em> <s>gone</s>"),
        ("_*both*_", "<em><strong>both</strong></em>"),
        ("node_name_stays 2*3*4 a~b~c", "node_name_stays 2*3*4 a~b~c"),
        ("* no * _ no _", "* no * _ no _"),
        ("`*raw* &lt;b&gt;`", "<code>*raw* &lt;b&gt;</code>"),
        ("before\n```a\n  b```\nafter", "before<pre>a\n  b</pre>after"),
        ("&gt; one\n&gt; two\nthree", "<blockquote>one<br>two</blockquote>three"),
        ("a\nb", "a<br>b"),
        ("&amp;lt; once", "&amp;lt; once"),
        (":no_such_emoji: 10:30:45", ":no_such_emoji: 10:30:45"),
        (f"<@{ALICE}> <@{BOB}>", '<span class="mention me">@Alice</span> <span class="mention">@Bob</span>'),
        ("<!here> <#C0GPUOPS01>", '<span class="mention me">@here</span> <span class="mention">#gpu-ops</span>'),
        ("<!date^86400^on {date_num}|then>", "<time>on 1970-01-02</time>"),
    ],
)
def test_mrkdwn(browser: Browser, shown_in: tuple[SlackStandIn, Page], written: str, shown: str) -> None:
    slack, page = shown_in
    web = WebClient(token=slack.bot_token, base_url=slack.api_url)
    ts = web.chat_postMessage(channel=CHANNEL, text=written)["ts"]
    page.wait_for_selector(f'article[data-ts="{ts}"]')
    assert html(page) == shown


@pytest.fixture(scope="module")
def shown_in(browser: Browser, running: SlackStandIn) -> Iterator[tuple[SlackStandIn, Page]]:
    page = browser.new_page()
    page.goto(f"{running.page_url}?as={ALICE}")
    yield running, page
    page.close()


def test_emoji_are_drawn(shown_in: tuple[SlackStandIn, Page]) -> None:
    slack, page = shown_in
    web = WebClient(token=slack.bot_token, base_url=slack.api_url)
    ts = web.chat_postMessage(channel=CHANNEL, text=":x: and ✅ and ⚠️ done")["ts"]
    page.wait_for_selector(f'article[data-ts="{ts}"]')
    labels = (
        page.locator("article .text")
        .last.locator("svg")
        .evaluate_all("all => all.map(image => image.getAttribute('aria-label'))")
    )
    assert labels == [":x:", ":white_check_mark:", ":warning:"]
    assert re.sub(r"<svg.*?</svg>", "¤", html(page)) == "¤ and ¤ and ¤ done"


def test_threads_whispers_and_keys(page: Page, slack: SlackStandIn, web: WebClient) -> None:
    parent = web.chat_postMessage(channel=CHANNEL, text="Creating research-a")["ts"]
    for stage in ("Stage 1 of 3", "Stage 2 of 3"):
        web.chat_postMessage(channel=CHANNEL, thread_ts=parent, text=stage)
    web.chat_postEphemeral(channel=CHANNEL, user=EVE, text="Only approvers may do that.")
    page.goto(f"{slack.page_url}?as={ALICE}")
    replies = page.get_by_role("button", name=re.compile("2 replies"))
    replies.focus()
    page.keyboard.press("Enter")
    thread = page.get_by_role("complementary", name="Thread")
    expect(thread).to_contain_text("Stage 2 of 3")
    web.chat_postMessage(channel=CHANNEL, thread_ts=parent, text="Stage 3 of 3")
    expect(thread).to_contain_text("Stage 3 of 3")
    thread.get_by_label("Reply in the thread").fill("thanks")
    page.keyboard.press("Enter")
    expect(thread).to_contain_text("thanks")
    page.keyboard.press("Escape")
    expect(thread).to_be_hidden()

    channel = page.get_by_role("log", name="Messages", exact=True)
    expect(channel).not_to_contain_text("Only approvers")
    page.get_by_label("Eve").check()
    expect(channel).to_contain_text("Only visible to you")
    expect(channel).to_contain_text("Only approvers may do that.")
    reply = slack.messages()[-1]
    assert (reply["user"], reply["thread_ts"], reply["text"]) == (ALICE, parent, "thanks")


def test_a_menu_and_a_permalink(page: Page, slack: SlackStandIn, web: WebClient, receiver: Receiver) -> None:
    options = [{"text": plain(name), "value": name} for name in ("hold", "accept")]
    menu = {"type": "static_select", "action_id": "choose", "placeholder": plain("Choose"), "options": options}
    ts = web.chat_postMessage(channel=CHANNEL, text="?", blocks=[actions(menu)])["ts"]
    page.goto(f"{web.chat_getPermalink(channel=CHANNEL, message_ts=ts)['permalink']}?as={BOB}")
    expect(page.locator("article.linked")).to_have_count(1)
    page.get_by_label("Choose").select_option("accept")
    expect(page.get_by_label("Choose")).to_have_value("accept")
    payload = json.loads(parse_qs(receiver.first().body.decode())["payload"][0])
    assert payload["actions"][0]["selected_option"]["value"] == "accept"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_are_legible(browser: Browser, slack: SlackStandIn, web: WebClient, scheme: Any) -> None:
    web.chat_postMessage(channel=CHANNEL, text="Replace?", blocks=APPROVAL)
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{slack.page_url}?as={ALICE}")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    for selector in ("article .text", "article .btn.primary", "article .btn.danger", "article .time", "article code"):
        assert page.locator(selector).first.evaluate(CONTRAST) >= 4.0, selector
    context.close()


# The WCAG contrast of an element's text against the first opaque background below it.
CONTRAST = """element => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  let below = element, ground;
  do { ground = numbers(getComputedStyle(below).backgroundColor); below = below.parentElement; }
  while (ground.length === 4 && ground[3] === 0);
  const [a, b] = [light(numbers(getComputedStyle(element).color)), light(ground)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""
