// The emoji that an operations channel needs, drawn here so that they look right on a machine without an emoji font.
// Each entry: the names, the character, and shapes [tag, colour, data]; "path" strokes when the colour starts with "-".

import { svg } from "./dom.js";

const RED = "#e01e3c", ORANGE = "#f2801e", YELLOW = "#fcc21b", GREEN = "#2bac76", BLUE = "#1d8fe1", GREY = "#7d8590";
const DARK = "#3b3b46", WHITE = "#ffffff", BROWN = "#a5694f", STEEL = "#8899a6";
const disc = (colour) => [["circle", colour, "12 12 9.5"]];

const TABLE = [
  ["red_circle", "🔴", disc(RED)],
  ["large_orange_circle orange_circle", "🟠", disc(ORANGE)],
  ["large_yellow_circle yellow_circle", "🟡", disc(YELLOW)],
  ["large_green_circle green_circle", "🟢", disc(GREEN)],
  ["large_blue_circle blue_circle", "🔵", disc(BLUE)],
  ["white_circle", "⚪", [["circle", "#cfd4da", "12 12 9.5"], ["circle", WHITE, "12 12 7.5"]]],
  ["black_circle", "⚫", disc(DARK)],
  ["white_check_mark", "✅", [["rect", GREEN, "2.5 2.5 19 19 4"], ["path", "-" + WHITE, "M7 12.5l3.5 3.5L17 8.5"]]],
  ["heavy_check_mark", "✔️", [["path", "-" + DARK, "M4 13l5 5L20 6"]]],
  ["x", "❌", [["path", "-" + RED, "M5 5l14 14M19 5L5 19"]]],
  ["warning", "⚠️", [["path", YELLOW, "M12 2.5 23 21.5H1z"], ["path", "-" + DARK, "M12 9.5v5"], ["circle", DARK, "12 18 1.4"]]],
  ["no_entry", "⛔", [["circle", RED, "12 12 10"], ["rect", WHITE, "5.5 10 13 4 1"]]],
  ["no_entry_sign", "🚫", [["ring", RED, "12 12 8.5"], ["path", "-" + RED, "M6 6l12 12"]]],
  ["octagonal_sign stop_sign", "🛑", [["path", RED, "M8 2h8l6 6v8l-6 6H8l-6-6V8z"], ["rect", WHITE, "6.5 10.5 11 3 0.5"]]],
  ["rotating_light", "🚨", [["rect", STEEL, "4 18 16 4 1.5"], ["path", RED, "M6.5 18v-5.5a5.5 5.5 0 0 1 11 0V18z"],
    ["path", "-" + ORANGE, "M12 1.5v2.5M4 4.5l1.8 1.8M20 4.5l-1.8 1.8"]]],
  ["hourglass_flowing_sand hourglass", "⏳", [["path", BROWN, "M5 2h14v3H5zM5 19h14v3H5z"],
    ["path", "#cfe8fa", "M7 5h10c0 4-3 5-4 7 1 2 4 3 4 7H7c0-4 3-5 4-7-1-2-4-3-4-7z"], ["path", YELLOW, "M12 13c1 2 3.5 3 3.5 6h-7c0-3 2.5-4 3.5-6z"]]],
  ["stopwatch timer_clock alarm_clock clock1", "⏱️", [["rect", STEEL, "10 0.8 4 3 1"], ["circle", STEEL, "12 13.5 9.5"],
    ["circle", WHITE, "12 13.5 7.2"], ["path", "-" + RED, "M12 13.5V9"]]],
  ["wrench", "🔧", [["path", STEEL, "M21 6.5a5.5 5.5 0 0 1-7.6 5L7 18a2.5 2.5 0 1 1-3-3l6.4-6.4A5.5 5.5 0 0 1 17.3 3L14.5 5.8l3.7 3.7z"]]],
  ["hammer_and_wrench tools", "🛠️", [["path", "-" + BROWN, "M6 20 16 8"], ["path", STEEL, "M12 4l7 6-2.5 2.5-7-6z"],
    ["path", "-" + STEEL, "M18 20 7 8.5"], ["circle", STEEL, "6 7 3.5"]]],
  ["gear", "⚙️", [["ring", STEEL, "12 12 6"], ["path", "-" + STEEL, "M12 1.5v4M12 18.5v4M1.5 12h4M18.5 12h4M4.6 4.6l2.8 2.8M16.6 16.6l2.8 2.8M4.6 19.4l2.8-2.8M16.6 7.4l2.8-2.8"]]],
  ["arrows_counterclockwise repeat recycle", "🔄", [["rect", BLUE, "2 2 20 20 4"],
    ["path", "-" + WHITE, "M7 12a5 5 0 0 1 9-3M17 12a5 5 0 0 1-9 3M16.5 5.5V9H13M7.5 18.5V15H11"]]],
  ["rocket", "🚀", [["path", "#dfe5ea", "M21 3c-6 0-11 4-13 9l4 4c5-2 9-7 9-13z"], ["path", RED, "M8 12l-4 1 2-4 4-1zM12 16l-1 4 4-2 1-4z"],
    ["circle", BLUE, "15 9 2"], ["path", ORANGE, "M3 21l1.5-5 3.5 3.5z"]]],
  ["steam_locomotive locomotive", "🚂", [["rect", DARK, "3 9 13 7 1.5"], ["rect", RED, "14 4 7 12 1"], ["rect", "#cfe8fa", "16 6 3 3.5 0.5"],
    ["path", DARK, "M5 4h4l-1 5H6z"], ["circle", GREY, "6.5 18 3"], ["circle", GREY, "17 18 3"]]],
  ["moneybag", "💰", [["path", YELLOW, "M9 7h6c5 4 6 8 6 10 0 4-4 5-9 5s-9-1-9-5c0-2 1-6 6-10z"], ["path", BROWN, "M8 2h8l-2 5h-4z"]]],
  ["chart_with_upwards_trend", "📈", [["rect", "#e8edf1", "2 2 20 20 3"], ["path", "-" + RED, "M5 17l5-5 3 3 6-8"]]],
  ["bar_chart", "📊", [["rect", "#e8edf1", "2 2 20 20 3"], ["rect", GREEN, "5 11 3.5 8 0.5"], ["rect", RED, "10.2 6 3.5 13 0.5"], ["rect", BLUE, "15.5 9 3.5 10 0.5"]]],
  ["bell", "🔔", [["path", YELLOW, "M12 2a7 7 0 0 1 7 7c0 5 2 6 2 8H3c0-2 2-3 2-8a7 7 0 0 1 7-7z"], ["circle", ORANGE, "12 19.5 2.5"]]],
  ["lock", "🔒", [["ring", STEEL, "12 9 5"], ["rect", YELLOW, "4 10 16 12 2.5"]]],
  ["eyes", "👀", [["circle", "#b9c2ca", "7 12 6"], ["circle", "#b9c2ca", "17 12 6"], ["circle", WHITE, "7 12 4.6"], ["circle", WHITE, "17 12 4.6"], ["circle", DARK, "5.5 13 2.6"], ["circle", DARK, "15.5 13 2.6"]]],
  ["information_source", "ℹ️", [["rect", BLUE, "2 2 20 20 4"], ["circle", WHITE, "12 7 1.6"], ["path", "-" + WHITE, "M12 11v6.5"]]],
  ["question grey_question", "❓", [["path", "-" + RED, "M7.5 8a4.5 4.5 0 1 1 6.5 4c-1.5.8-2 1.5-2 3"], ["circle", RED, "12 19.5 1.7"]]],
  ["exclamation heavy_exclamation_mark", "❗", [["path", "-" + RED, "M12 3.5v10.5"], ["circle", RED, "12 19.5 1.9"]]],
  ["double_vertical_bar pause_button", "⏸️", [["rect", BLUE, "2 2 20 20 4"], ["rect", WHITE, "7 6.5 3.5 11 0.8"], ["rect", WHITE, "13.5 6.5 3.5 11 0.8"]]],
  ["arrow_forward", "▶️", [["rect", BLUE, "2 2 20 20 4"], ["path", WHITE, "M8.5 6.5 17.5 12l-9 5.5z"]]],
  ["fire", "🔥", [["path", ORANGE, "M12 1c1 5 7 7 7 13a7 7 0 0 1-14 0c0-3 1.5-5 3-6 0 2 1 3 2 3 1-3 0-6 2-10z"], ["path", YELLOW, "M12 12c1 2 3 3 3 5.5a3 3 0 0 1-6 0C9 15 11 14.5 12 12z"]]],
  ["zap", "⚡", [["path", YELLOW, "M14 1 4 14h7l-1 9 10-13h-7z"]]],
  ["bulb", "💡", [["circle", YELLOW, "12 9 7.5"], ["rect", STEEL, "8.5 17 7 5 1.5"]]],
  ["memo", "📝", [["rect", "#e8edf1", "3 2 15 20 2"], ["path", "-" + GREY, "M6.5 7.5h8M6.5 11.5h6"], ["path", ORANGE, "M20 9l2 2-9 9-3 1 1-3z"]]],
  ["package", "📦", [["path", "#c99a6b", "M12 2l9 4.5v11L12 22l-9-4.5v-11z"], ["path", "-" + BROWN, "M3.5 7 12 11l8.5-4M12 11v10"]]],
  ["building_construction", "🏗️", [["path", "-" + ORANGE, "M5 21V4h14M5 8l4-4M17 4v5"], ["rect", STEEL, "14.5 9 5 4 0.5"], ["rect", BROWN, "9 16 12 5.5 0.5"], ["path", "-" + STEEL, "M2.5 21.5h19"]]],
  ["ballot_box_with_check", "☑️", [["rect", BLUE, "2.5 2.5 19 19 4"], ["path", "-" + WHITE, "M7 12.5l3.5 3.5L17 8.5"]]],
  ["mag_right", "🔎", [["ring", BLUE, "14 10 6.5"], ["path", "-" + DARK, "M8.5 15.5 3 21"]]],
  ["mag", "🔍", [["ring", BLUE, "10 10 6.5"], ["path", "-" + DARK, "M15.5 15.5 21 21"]]],
  ["robot_face", "🤖", [["rect", STEEL, "4 7 16 13 3"], ["circle", "#cfe8fa", "9 12.5 2"], ["circle", "#cfe8fa", "15 12.5 2"], ["path", "-" + STEEL, "M12 7V3"], ["circle", RED, "12 2.8 1.8"]]],
  ["bust_in_silhouette", "👤", [["circle", "#54748c", "12 8 5"], ["path", "#54748c", "M2.5 22c0-6 4-8 9.5-8s9.5 2 9.5 8z"]]],
  ["construction", "🚧", [["rect", YELLOW, "1.5 5 21 8 1"], ["path", DARK, "M5 5h3.5L4 13H1.5v-1zM13 5h3.5L12 13H8.5zM21 5h1.5v2L19.5 13H16.5z"], ["path", "-" + GREY, "M5.5 13v8M18.5 13v8"]]],
  ["checkered_flag", "🏁", [["path", "-" + BROWN, "M4 2v20"], ["rect", "#e8edf1", "5 3 16 11 0.5"], ["path", DARK, "M5 3h4v4H5zM13 3h4v4h-4zM9 7h4v3.5H9zM17 7h4v3.5h-4zM5 10.5h4V14H5zM13 10.5h4V14h-4z"]]],
  ["no_bell", "🔕", [["path", "#c9ced3", "M12 2a7 7 0 0 1 7 7c0 5 2 6 2 8H3c0-2 2-3 2-8a7 7 0 0 1 7-7z"], ["path", "-" + RED, "M3 3l18 18"]]],
  ["+1 thumbsup", "👍", [["path", YELLOW, "M8 10l4-8c2 0 3 1.5 2.5 4L14 9h6c1.5 0 2 1.5 1.7 2.5l-1.9 8c-.3 1-1 1.5-2 1.5H8z"], ["rect", BLUE, "2 10 4.5 11 1"]]],
  ["-1 thumbsdown", "👎", [["path", YELLOW, "M8 14l4 8c2 0 3-1.5 2.5-4L14 15h6c1.5 0 2-1.5 1.7-2.5l-1.9-8C19.5 3.5 18.8 3 17.8 3H8z"], ["rect", BLUE, "2 3 4.5 11 1"]]],
  ["tada", "🎉", [["path", YELLOW, "M2 22 8 7l9 9z"], ["circle", RED, "15 4 1.6"], ["circle", BLUE, "20 9 1.6"], ["circle", GREEN, "20 3 1.3"], ["path", "-" + RED, "M13 10c1-3 3-3 5-4"]]],
  ["hand raised_hand", "✋", [["path", YELLOW, "M6 12V6a1.5 1.5 0 0 1 3 0V3.5a1.5 1.5 0 0 1 3 0V4a1.5 1.5 0 0 1 3 0v2a1.5 1.5 0 0 1 3 0v9c0 5-3 7-6.5 7S6 19 3 14c1-1.5 2-1.5 3-2z"]]],
  ["wave", "👋", [["path", YELLOW, "M6 12V6a1.5 1.5 0 0 1 3 0V3.5a1.5 1.5 0 0 1 3 0V4a1.5 1.5 0 0 1 3 0v2a1.5 1.5 0 0 1 3 0v9c0 5-3 7-6.5 7S6 19 3 14c1-1.5 2-1.5 3-2z"], ["path", "-" + BLUE, "M21 3c1 1 1.5 2 1.5 4M3 21c-1-1-1.5-2-1.5-4"]]],
  ["speech_balloon", "💬", [["path", "#dfe5ea", "M4 3h16a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H10l-5 5v-5H4a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2z"], ["path", "-" + GREY, "M7 8h10M7 12h7"]]],
];

const byName = new Map(), byCharacter = new Map();
for (const [names, character, shapes] of TABLE) {
  const entry = { name: names.split(" ")[0], character, shapes };
  for (const name of names.split(" ")) byName.set(name, entry);
  byCharacter.set(character, entry);
  byCharacter.set(character.replace("\uFE0F", ""), entry);
}
const ANY = new RegExp([...byCharacter.keys()].sort((a, b) => b.length - a.length).join("|") + "\\uFE0F?", "gu");

function draw([kind, colour, data]) {
  const stroked = colour.startsWith("-");
  const paint = stroked
    ? { fill: "none", stroke: colour.slice(1), "stroke-width": 2.8, "stroke-linecap": "round", "stroke-linejoin": "round" }
    : { fill: colour };
  if (kind === "path") return svg("path", { d: data, ...paint });
  const [a, b, c, d, e] = data.split(" ");
  if (kind === "circle") return svg("circle", { cx: a, cy: b, r: c, ...paint });
  if (kind === "ring") return svg("circle", { cx: a, cy: b, r: c, fill: "none", stroke: colour, "stroke-width": 2.8 });
  return svg("rect", { x: a, y: b, width: c, height: d, rx: e, ...paint });
}

function picture(entry) {
  const label = `:${entry.name}:`;
  const image = svg("svg", { viewBox: "0 0 24 24", class: "emoji", role: "img", "aria-label": label }, ...entry.shapes.map(draw));
  image.append(svg("title", {}, label));
  return image;
}

/** The picture for `:name:`, or null when the name is unknown (then the text stays as written). */
export function emojiNamed(name) {
  const entry = byName.get(name.replace(/::skin-tone-\d$/, ""));
  return entry ? picture(entry) : null;
}

/** Text with the known emoji characters replaced by pictures: a list of strings and nodes. */
export function withEmoji(text) {
  const out = [];
  let at = 0;
  for (const match of text.matchAll(ANY)) {
    if (match.index > at) out.push(text.slice(at, match.index));
    out.push(picture(byCharacter.get(match[0].replace(/\uFE0F$/, "")) ?? byCharacter.get(match[0])));
    at = match.index + match[0].length;
  }
  if (at < text.length) out.push(text.slice(at));
  return out;
}
