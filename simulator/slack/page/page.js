// The page: fetches the state that the acting person sees, draws what changed, sends clicks and messages.

import { body } from "./blocks.js";
import { clock, day, h, svg } from "./dom.js";
import { emojiNamed } from "./emoji.js";
import { mrkdwn, plain, textObject } from "./mrkdwn.js";

const $ = (id) => document.getElementById(id);
const stored = { get: (key) => localStorage.getItem(key), set: (key, value) => localStorage.setItem(key, value) };
const address = new URL(location.href);
const [, , channelInPath, permalink] = address.pathname.split("/");

let acting = address.searchParams.get("as") ?? stored.get("acting") ?? "";
let channel = channelInPath ?? "";
let thread = address.searchParams.get("thread_ts");
let state = null, drawn = new Map(), fetching = false, again = false;
let highlight = permalink ? permalink.slice(1, -6) + "." + permalink.slice(-6) : null;

// -- talking to the server ---------------------------------------------------------------------------------

async function refresh() {
  if (fetching) { again = true; return; }
  fetching = true;
  try {
    const answer = await fetch(`/page/state?${new URLSearchParams({ user: acting, channel })}`);
    state = await answer.json();
    acting = state.user;
    channel = state.channel.id;
    draw();
  } catch { $("offline").hidden = false; } finally { fetching = false; }
  if (again) { again = false; refresh(); }
}

async function command(name, content) {
  try {
    const answer = await fetch(`/_control/${name}`, { method: "POST", body: JSON.stringify(content), headers: { "Content-Type": "application/json" } });
    const result = await answer.json();
    if (result.error) toast(result.error);
  } catch { toast("The stand-in does not answer."); }
}

function listen() {
  const stream = new EventSource("/page/stream");
  stream.onmessage = () => { $("offline").hidden = true; refresh(); };
  stream.onerror = () => { $("offline").hidden = false; };
}

function toast(text) {
  $("toast").textContent = text;
  $("toast").hidden = false;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => { $("toast").hidden = true; }, 6000);
}

// -- using an element --------------------------------------------------------------------------------------

async function act(message, element, value) {
  if (element.confirm && !(await confirmed(element.confirm))) {
    drawn.delete(message.ts);
    return draw();
  }
  return command("click", { message_ts: message.ts, action_id: element.action_id, user: acting, value });
}

function confirmed(confirm) {
  const dialog = $("confirm"), ok = $("confirm-ok"), deny = $("confirm-deny");
  $("confirm-title").replaceChildren(plain(confirm.title));
  $("confirm-text").replaceChildren(textObject(confirm.text, context()));
  ok.replaceChildren(plain(confirm.confirm));
  deny.replaceChildren(plain(confirm.deny));
  ok.className = `btn ${confirm.style ?? "primary"}`;
  return new Promise((resolve) => {
    ok.onclick = () => dialog.close("ok");
    deny.onclick = () => dialog.close("");
    dialog.returnValue = "";
    dialog.onclose = () => resolve(dialog.returnValue === "ok");
    dialog.showModal();
    deny.focus();
  });
}

// -- drawing -----------------------------------------------------------------------------------------------

function context() {
  const people = new Map(state.users.map((user) => [user.id, user.real_name]));
  people.set(state.app.user, state.app.name);
  return { people, channels: new Map(state.channels.map((c) => [c.id, c.name])), me: acting, act };
}

function draw() {
  const focused = document.activeElement?.closest?.("[data-ts]");
  const focusKey = focused && { ts: focused.dataset.ts, within: focused.parentElement.id, action: document.activeElement.dataset.action };
  document.title = `#${state.channel.name} · ${state.team}`;
  $("team").textContent = state.team;
  $("channel").replaceChildren(h("span", { class: "hash", "aria-hidden": "true" }, "#"), state.channel.name);
  $("topic").textContent = state.channel.topic;
  $("draft").placeholder = `Message #${state.channel.name}`;
  $("channels").replaceChildren(...state.channels.map((c) =>
    h("li", {}, h("a", { href: `/archives/${c.id}?as=${acting}`, "aria-current": c.id === channel && "page" }, h("span", { "aria-hidden": "true" }, "# "), c.name))));
  $("apps").replaceChildren(h("li", {}, h("span", { class: "app-line" }, avatar(state.app.user, "tiny"), state.app.name)));
  drawPeople();
  const top = state.messages.filter((m) => !isReply(m) || m.subtype === "thread_broadcast");
  fill($("messages"), $("scroller"), top, false);
  drawThread();
  if (focusKey) {
    const again = document.querySelector(`#${focusKey.within} [data-ts="${focusKey.ts}"]`);
    const target = focusKey.action && again?.querySelector(`[data-action="${CSS.escape(focusKey.action)}"]`);
    if (target && document.activeElement === document.body) target.focus();
  }
  if (highlight) {
    const found = document.querySelector(`[data-ts="${CSS.escape(highlight)}"]`);
    found?.classList.add("linked");
    found?.scrollIntoView({ block: "center" });
    highlight = null;
  }
}

const isReply = (message) => message.thread_ts && message.thread_ts !== message.ts;
const isMember = () => state.channel.members.includes(acting);

function drawPeople() {
  const drawnFor = JSON.stringify([state.users, acting]);
  if ($("people").dataset.drawnFor === drawnFor) return;
  $("people").dataset.drawnFor = drawnFor;
  $("people").replaceChildren(...state.users.map((user) =>
    h("label", { class: "person" },
      h("input", { type: "radio", name: "acting", value: user.id, checked: user.id === acting, onchange: () => become(user.id) }),
      avatar(user.id, "small"),
      h("span", { class: "person-name" }, user.real_name, h("small", {}, user.title)))));
  $("members").replaceChildren(...state.channel.members.map((id) => avatar(id, "tiny")), h("span", {}, String(state.channel.members.length)));
}

function become(user) {
  acting = user;
  stored.set("acting", user);
  address.searchParams.set("as", user);
  history.replaceState(null, "", address);
  drawn = new Map();
  refresh();
}

function fill(list, scroller, messages, inThread) {
  const atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
  const nodes = [];
  let previous = null;
  for (const message of messages) {
    const seconds = Number(message.ts);
    if (!inThread && (!previous || day(Number(previous.ts)) !== day(seconds))) nodes.push(h("div", { class: "day" }, h("span", {}, day(seconds))));
    const compact = !inThread && previous && previous.user === message.user && !previous.ephemeral && !message.ephemeral && !message.blocks
      && previous.subtype !== "thread_broadcast" && message.subtype !== "thread_broadcast" && seconds - Number(previous.ts) < 300
      && day(Number(previous.ts)) === day(seconds);
    const hidden = inThread ? [] : state.messages.filter((m) => m.thread_ts === message.ts && m.ts !== message.ts);
    const key = `${list.id} ${message.ts}`, content = JSON.stringify([message, compact, hidden.map((m) => m.ts), acting, state.users]);
    let entry = drawn.get(key);
    if (entry?.content !== content) {
      entry = { content, node: article(message, compact, hidden, inThread) };
      drawn.set(key, entry);
    }
    nodes.push(entry.node);
    previous = message;
  }
  if (!messages.length && !inThread) nodes.push(h("p", { class: "empty" }, isMember() ? "Nothing here yet. Messages appear as they arrive." : "You are not a member of this channel."));
  list.replaceChildren(...nodes);
  if (atEnd) scroller.scrollTop = scroller.scrollHeight;
}

function article(message, compact, replies, inThread) {
  const byApp = message.user === state.app.user;
  const name = message.username ?? context().people.get(message.user) ?? message.user;
  const seconds = Number(message.ts), when = new Date(seconds * 1000);
  const time = h("a", { class: "time", href: `/archives/${channel}/p${message.ts.replace(".", "")}?as=${acting}`, title: when.toLocaleString() },
    h("time", { datetime: when.toISOString() }, clock(seconds)));
  return h("article", { "data-ts": message.ts, class: `message${compact ? " compact" : ""}${message.ephemeral ? " ephemeral" : ""}` },
    h("div", { class: "gutter" }, compact ? time : avatar(message.user)),
    h("div", { class: "content" },
      message.subtype === "thread_broadcast" && !inThread && h("button", { type: "button", class: "plain broadcast", onclick: () => openThread(message.thread_ts) }, "replied to a thread"),
      message.ephemeral && h("p", { class: "only-you" }, "Only visible to you"),
      !compact && h("div", { class: "byline" }, h("b", { class: "author" }, name), byApp && h("span", { class: "badge" }, "APP"), time),
      body(message, context()),
      message.edited && h("small", { class: "edited" }, "(edited)"),
      message.reactions && h("div", { class: "reactions" }, message.reactions.map((reaction) =>
        h("span", { class: "reaction", title: reaction.users.map((id) => context().people.get(id) ?? id).join(", ") }, emojiNamed(reaction.name) ?? `:${reaction.name}:`, h("b", {}, String(reaction.count))))),
      !inThread && threadLine(message, replies),
      !inThread && !message.ephemeral && !replies.length && !isReply(message)
        && h("button", { type: "button", class: "plain reply", onclick: () => openThread(message.ts) }, "Reply in thread")));
}

function threadLine(message, replies) {
  if (!replies.length) return null;
  const open = replies.filter((reply) => !reply.ephemeral), mine = replies.length - open.length;
  const faces = [...new Set(replies.map((reply) => reply.user))].slice(0, 4).map((id) => avatar(id, "tiny"));
  const count = open.length ? `${open.length} ${open.length === 1 ? "reply" : "replies"}` : "";
  const last = Number(replies.at(-1).ts);
  return h("button", { type: "button", class: "thread-line", "data-action": "thread", onclick: () => openThread(message.ts) },
    faces, h("b", {}, [count, mine && `${mine} only visible to you`].filter(Boolean).join(", ")),
    h("span", {}, `Last reply ${day(last).toLowerCase() === "today" ? "today" : day(last)} at ${clock(last)}`));
}

function openThread(ts) {
  thread = ts;
  drawThread();
  $("thread-scroll").scrollTop = $("thread-scroll").scrollHeight;
  $("thread-close").focus();
}

function closeThread() {
  const parent = thread;
  thread = null;
  drawThread();
  document.querySelector(`#messages [data-ts="${parent}"] .thread-line, #messages [data-ts="${parent}"] .reply`)?.focus();
}

function drawThread() {
  const parent = thread && state.messages.find((m) => m.ts === thread);
  $("thread").hidden = !parent;
  document.body.classList.toggle("with-thread", Boolean(parent));
  if (!parent) return;
  $("thread-where").textContent = `#${state.channel.name}`;
  fill($("thread-messages"), $("thread-scroll"), [parent, ...state.messages.filter((m) => m.thread_ts === thread && m.ts !== thread)], true);
}

function avatar(id, size = "") {
  const name = context().people.get(id) ?? "?";
  const place = state.users.findIndex((user) => user.id === id);
  const look = id === state.app.user ? "app" : `tone-${Math.max(place, 0) % 6}`;
  return h("span", { class: `avatar ${size} ${look}`, title: name, "aria-hidden": "true" }, id === state.app.user ? turntable() : name.slice(0, 1));
}

// The app's mark: a turntable with its tracks.
function turntable() {
  return svg("svg", { viewBox: "0 0 24 24" },
    svg("circle", { cx: 12, cy: 12, r: 7 }),
    svg("path", { d: "M8.5 12h7M8.5 10v4M12 10v4M15.5 10v4M12 5V2M19 12h3M12 19v3M5 12H2M17 7l2-2M17 17l2 2M7 17l-2 2M7 7 5 5" }));
}

// -- writing, keys, theme ----------------------------------------------------------------------------------

function composer(form, draft, threadOf) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = draft.value.trim();
    if (!text) return;
    draft.value = "";
    command("say", { channel, user: acting, text, thread_ts: threadOf() });
  });
  draft.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
}

function theme(choice) {
  const dark = choice ? choice === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").textContent = dark ? "☀" : "☾";
}

composer($("composer"), $("draft"), () => null);
composer($("thread-composer"), $("thread-draft"), () => thread);
$("thread-close").onclick = closeThread;
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && thread && !$("confirm").open) closeThread(); });
theme(address.searchParams.get("theme") ?? stored.get("theme"));
$("theme").onclick = () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  stored.set("theme", next);
  theme(next);
};
listen();
