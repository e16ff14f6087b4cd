// Block Kit blocks as DOM nodes. `act(message, element, value)` is called when a person uses an element.

import { h, safeHref } from "./dom.js";
import { mrkdwn, plain, textObject } from "./mrkdwn.js";

/** The body of a message: its blocks, or its text when it has none. */
export function body(message, context) {
  if (!message.blocks?.length) return h("div", { class: "text" }, mrkdwn(message.text, context));
  return h("div", { class: "blocks" }, message.blocks.map((block) => RENDER[block.type]?.(block, message, context)));
}

const RENDER = {
  header: (block) => h("h3", { class: "block-header" }, plain(block.text)),
  divider: () => h("hr"),
  section: (block, message, context) =>
    h("div", { class: "section" },
      h("div", { class: "section-main" },
        block.text && h("div", { class: "text" }, textObject(block.text, context)),
        block.fields && h("div", { class: "fields" },
          block.fields.map((field) => h("div", { class: "text" }, textObject(field, context))))),
      block.accessory && h("div", { class: "accessory" }, element(block, block.accessory, message, context))),
  context: (block, message, context) =>
    h("div", { class: "context" }, block.elements.map((item) =>
      item.type === "image" ? image(item, "context-image") : h("span", {}, textObject(item, context)))),
  image: (block) =>
    h("figure", {}, block.title && h("figcaption", {}, plain(block.title)), image(block, "block-image")),
  actions: (block, message, context) => {
    const marks = block.elements.map((item) => message.marks[item.action_id]);
    const failed = new Set(marks.filter((mark) => mark?.state === "failed").map((mark) => mark.text));
    return h("div", { class: "actions" },
      h("div", { class: "action-row" }, block.elements.map((item) => element(block, item, message, context))),
      [...failed].map(warning));
  },
};

function element(block, item, message, context) {
  if (item.type === "image") return image(item, "thumb");
  const node = item.type === "static_select" ? menu(block, item, message, context) : button(item, message, context);
  const mark = message.marks[item.action_id];
  if (mark?.state === "pending") {
    node.setAttribute("aria-busy", "true");
    node.disabled = true;
  }
  if (mark?.state === "failed") {
    node.dataset.failed = "";
    node.title = mark.text;
  }
  if (mark?.state === "failed" && block.type === "section") return h("div", {}, node, warning(mark.text));
  return node;
}

function button(item, message, context) {
  const href = item.url ? safeHref(item.url) : null;
  const attributes = {
    class: `btn ${item.style ?? ""}`,
    "data-action": item.action_id,
    "aria-label": item.accessibility_label,
    onclick: () => context.act(message, item, null),
  };
  if (href) return h("a", { ...attributes, href, target: "_blank", rel: "noreferrer noopener" }, plain(item.text));
  return h("button", { ...attributes, type: "button" }, plain(item.text));
}

function menu(block, item, message, context) {
  const chosen = message.state[block.block_id]?.[item.action_id]?.selected_option ?? item.initial_option;
  return h("select", {
    class: "btn", "data-action": item.action_id,
    "aria-label": item.placeholder?.text ?? "Choose",
    onchange: (event) => event.target.value && context.act(message, item, event.target.value),
  },
  !chosen && h("option", { value: "" }, plain(item.placeholder)),
  item.options.map((option) => h("option", { value: option.value, selected: option.value === chosen?.value }, plain(option.text))));
}

// The page loads nothing from elsewhere, so a remote image is shown as its description and its address.
function image(item, kind) {
  if (item.image_url.startsWith("data:image/")) return h("img", { class: kind, src: item.image_url, alt: item.alt_text });
  const href = safeHref(item.image_url);
  const label = item.alt_text || "image";
  return h("span", { class: `${kind} remote`, role: "img", "aria-label": label, title: item.image_url },
    kind === "context-image" ? label.slice(0, 1).toUpperCase() : href ? h("a", { href, target: "_blank", rel: "noreferrer noopener" }, label) : label);
}

const warning = (text) => h("p", { class: "failed", role: "alert" }, h("span", { "aria-hidden": "true", class: "sign" }, "!"), text);
