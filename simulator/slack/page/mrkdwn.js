// Slack's mrkdwn as DOM nodes. `people` maps user ids to names, `me` is the acting user, `channels` ids to names.

import { clock, h, safeHref } from "./dom.js";
import { emojiNamed, withEmoji } from "./emoji.js";

const FORMATS = { "*": "strong", _: "em", "~": "s" };
// The mark stands before a non-space and after one, and no word goes on behind it: node_names_stay_as_they_are.
const FORMAT = {
  "*": /\*(?=[^\s*])([^\n]*?\S)\*(?![\p{L}\p{N}*])/uy,
  _: /_(?=[^\s_])([^\n]*?\S)_(?![\p{L}\p{N}_])/uy,
  "~": /~(?=[^\s~])([^\n]*?\S)~(?![\p{L}\p{N}~])/uy,
};
const CODE = /`([^`\n]+)`/y;
const COMMAND = /<([^<>\n]+)>/y;
const EMOJI = /:([a-z0-9_+'-]+(?:::skin-tone-[2-6])?):/y;
const FENCE = /```\n?([\s\S]+?)```/g;
const ENTITIES = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

export const unescape = (text) => text.replace(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity]);

/** The whole text: fences, quoted lines, inline formatting. */
export function mrkdwn(text, context) {
  const out = document.createDocumentFragment();
  let at = 0;
  for (const fence of text.matchAll(FENCE)) {
    out.append(...lines(text.slice(at, fence.index).replace(/\n$/, ""), context));
    out.append(h("pre", {}, unescape(fence[1]).replace(/\n$/, "")));
    at = fence.index + fence[0].length;
  }
  const rest = text.slice(at);
  out.append(...lines(at ? rest.replace(/^\n/, "") : rest, context));
  return out;
}

/** A plain_text object: no formatting, emoji names unless switched off. */
export function plain(object) {
  const out = document.createDocumentFragment();
  const text = object?.text ?? "";
  if (object?.emoji === false) {
    out.append(unescape(text));
    return out;
  }
  scan(text, out, (source, index) => match(EMOJI, source, index, (m) => emojiNamed(m[1])));
  return out;
}

/** A text object of either type. */
export const textObject = (object, context) => (object?.type === "mrkdwn" ? mrkdwn(object.text, context) : plain(object));

function lines(text, context) {
  if (!text) return [];
  const out = [];
  let quote = null;
  for (const line of text.split("\n")) {
    const quoted = line.match(/^(?:&gt;|>) ?(.*)$/);
    if (quoted) {
      if (quote) quote.append(h("br"));
      else out.push((quote = h("blockquote")));
      quote.append(inline(quoted[1], context));
    } else {
      if (out.length && !quote) out.push(h("br"));
      quote = null;
      out.push(inline(line, context));
    }
  }
  return out;
}

function inline(text, context) {
  const out = document.createDocumentFragment();
  scan(text, out, (source, index) =>
    match(CODE, source, index, (m) => h("code", {}, unescape(m[1]))) ??
    match(COMMAND, source, index, (m) => command(m[1], context)) ??
    match(EMOJI, source, index, (m) => emojiNamed(m[1])) ??
    formatted(source, index, context));
  return out;
}

// Walks the text; where `recognise` gives {node, end} the node goes in, everything between is plain text.
function scan(text, out, recognise) {
  let plainFrom = 0, at = 0;
  const flush = (to) => to > plainFrom && out.append(...withEmoji(unescape(text.slice(plainFrom, to))));
  while (at < text.length) {
    const found = recognise(text, at);
    if (found) {
      flush(at);
      out.append(found.node);
      at = plainFrom = found.end;
    } else at += 1;
  }
  flush(text.length);
}

function match(pattern, text, index, make) {
  pattern.lastIndex = index;
  const m = pattern.exec(text);
  const node = m ? make(m) : null;
  return node ? { node, end: index + m[0].length } : null;
}

function formatted(text, index, context) {
  const mark = text[index];
  if (!(mark in FORMATS)) return null;
  const before = index ? text[index - 1] : " ";
  if (before === mark || /[\p{L}\p{N}]/u.test(before)) return null;
  return match(FORMAT[mark], text, index, (m) => h(FORMATS[mark], {}, inline(m[1], context)));
}

function command(body, { people, channels, me }) {
  const bar = body.indexOf("|");
  const target = bar < 0 ? body : body.slice(0, bar);
  const label = bar < 0 ? "" : unescape(body.slice(bar + 1));
  if (target.startsWith("@")) {
    const id = target.slice(1);
    return h("span", { class: id === me ? "mention me" : "mention" }, "@" + (people.get(id) ?? (label || id)));
  }
  if (target.startsWith("#")) return h("span", { class: "mention" }, "#" + (channels.get(target.slice(1)) ?? (label || target.slice(1))));
  if (target.startsWith("!date^")) return h("time", {}, date(target, label));
  if (/^!(here|channel|everyone)$/.test(target)) return h("span", { class: "mention me" }, "@" + target.slice(1));
  if (target.startsWith("!")) return h("span", { class: "mention" }, label || "@" + target.slice(1));
  const href = safeHref(unescape(target));
  if (!href) return document.createTextNode(`<${unescape(body)}>`);
  return h("a", { href, target: "_blank", rel: "noreferrer noopener" }, label ? withEmoji(label) : href.replace(/^mailto:/, ""));
}

// <!date^seconds^tokens[^link]|fallback>
function date(target, fallback) {
  const [, seconds, format] = target.split("^");
  const moment = new Date(Number(seconds) * 1000);
  if (!format || Number.isNaN(moment.getTime())) return fallback;
  const dated = (options) => moment.toLocaleDateString([], options);
  const long = { weekday: "long", day: "numeric", month: "long", year: "numeric" };
  const short = { day: "numeric", month: "short", year: "numeric" };
  const known = {
    date_num: () => moment.toISOString().slice(0, 10),
    date: () => dated({ day: "numeric", month: "long", year: "numeric" }),
    date_pretty: () => dated({ day: "numeric", month: "long", year: "numeric" }),
    date_short: () => dated(short),
    date_short_pretty: () => dated(short),
    date_long: () => dated(long),
    date_long_pretty: () => dated(long),
    time: () => clock(moment / 1000),
    time_secs: () => moment.toLocaleTimeString([], { hour12: false }),
  };
  return unescape(format).replace(/\{(\w+)\}/g, (whole, token) => known[token]?.() ?? whole);
}
