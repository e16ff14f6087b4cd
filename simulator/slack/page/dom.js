// Small DOM helpers. Everything foreign becomes a text node; nothing here parses HTML.

/** An element with attributes (`class`, `title`, `on…` listeners, booleans) and children (nodes or strings). */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An SVG element from constant data. */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** The href when it is a web or mail address, else null: no javascript: or data: links. */
export function safeHref(url) {
  return /^(https?:\/\/|mailto:)/i.test(url) ? url : null;
}

/** "14:05" in the reader's time zone. */
export function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
}

/** "Today", "Yesterday" or "Monday, 4 May 2026". */
export function day(seconds) {
  const then = new Date(seconds * 1000);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(then).setHours(0, 0, 0, 0)) / 86400000);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return then.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year: "numeric" });
}
