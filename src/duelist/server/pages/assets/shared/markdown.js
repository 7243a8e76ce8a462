// Markdown to DOM nodes: headings, lists, quotes, tables, code, emphasis and links, never HTML. Unknown syntax is shown as plain text.
// Parsing takes linear time, so that a long text cannot hang the page.
import { el } from "./dom.js";
import { highlight } from "./highlight.js";
import { formula } from "./math.js";
import { picture } from "./picture.js";
import { say } from "./sentences.js";

const MAX_DEPTH = 12;
const SAFE_LINK = /^(https?:|mailto:)/i;

let pictures = []; // of the text that is parsed now: addresses of the study's files

/** The nodes of a text; of its pictures, those are shown whose addresses are in `images`. */
export function markdown(text, images) {
  pictures = images ?? [];
  const root = document.createDocumentFragment();
  root.append(...parseBlocks(String(text).replace(/\r\n?/g, "\n").split("\n"), 0));
  return root;
}

// -- blocks ---------------------------------------------------------------------------------------------------------

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?: +(.*))?$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;

const blank = (line) => line.trim() === "";
const indent = (line) => line.length - line.trimStart().length;
const isRule = (line) => /^(-{3,}|\*{3,}|_{3,})$/.test(line.replace(/[ \t]/g, ""));
const cells = (line) => {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  const found = [""];
  for (let k = 0; k < inner.length; k += 1) {
    if (inner[k] === "\\" && inner[k + 1] === "|") found[found.length - 1] += inner[(k += 1)];
    else if (inner[k] === "|") found.push("");
    else found[found.length - 1] += inner[k];
  }
  return found.map((cell) => cell.trim());
};
const isTable = (lines, k) =>
  lines[k].includes("|") && lines[k + 1]?.includes("-") && cells(lines[k + 1]).every((cell) => /^:?-+:?$/.test(cell));
const startsBlock = (lines, k) =>
  FENCE.test(lines[k]) ||
  HEADING.test(lines[k]) ||
  isRule(lines[k]) ||
  /^ {0,3}>/.test(lines[k]) ||
  ITEM.test(lines[k]) ||
  formulaEnd(lines, k) > 0 ||
  isTable(lines, k);

const FORMULAS = { $$: "$$", "\\[": "\\]" };
const LONGEST_FORMULA = 40; // lines, so that parsing takes linear time

/** The line after a formula between $$ and $$ or \[ and \] that begins on line k; 0 if none does. */
function formulaEnd(lines, k) {
  const first = lines[k].trim();
  const closing = FORMULAS[first.slice(0, 2)];
  if (!closing) return 0;
  if (first.length > 3 && first.endsWith(closing)) return k + 1;
  for (let end = k + 1; end < Math.min(lines.length, k + LONGEST_FORMULA); end += 1)
    if (lines[end].includes(closing)) return lines[end].trim().endsWith(closing) ? end + 1 : 0;
  return 0;
}

function parseBlocks(lines, depth) {
  const found = [];
  let k = 0;
  while (k < lines.length) {
    if (blank(lines[k])) {
      k += 1;
      continue;
    }
    const parser = depth < MAX_DEPTH ? BLOCK_PARSERS.find((each) => each.matches(lines, k)) : undefined;
    const [node, next] = (parser ?? PARAGRAPH).parse(lines, k, depth);
    found.push(node);
    k = next;
  }
  return found;
}

const PARAGRAPH = {
  parse(lines, k) {
    let end = k + 1;
    while (end < lines.length && !blank(lines[end]) && !startsBlock(lines, end)) end += 1;
    return [
      el(
        "p",
        null,
        inline(
          lines
            .slice(k, end)
            .map((line) => line.trim())
            .join("\n"),
        ),
      ),
      end,
    ];
  },
};

const code = (text, language = "") =>
  el("pre", { tabindex: 0, dir: "ltr" }, el("code", null, highlight(text, language)));
const math = (source, isBlock) => formula(source, isBlock) ?? el("code", { dir: "ltr" }, source.trim());

const BLOCK_PARSERS = [
  {
    matches: (lines, k) => FENCE.test(lines[k]),
    parse(lines, k) {
      const [, fence, info] = FENCE.exec(lines[k]);
      const closes = (line) => line.trim().startsWith(fence) && line.trim().replaceAll(fence[0], "") === "";
      let end = k + 1;
      while (end < lines.length && !closes(lines[end])) end += 1;
      return [code(lines.slice(k + 1, end).join("\n"), info.trim().split(/\s/)[0]), end + 1];
    },
  },
  {
    matches: (lines, k) => /^( {4}|\t)/.test(lines[k]),
    parse(lines, k) {
      let end = k;
      while (end < lines.length && (blank(lines[end]) || /^( {4}|\t)/.test(lines[end]))) end += 1;
      return [
        code(
          lines
            .slice(k, end)
            .map((line) => line.replace(/^( {1,4}|\t)/, ""))
            .join("\n")
            .trimEnd(),
        ),
        end,
      ];
    },
  },
  {
    matches: (lines, k) => HEADING.test(lines[k]),
    parse(lines, k) {
      const [, marks, rest] = HEADING.exec(lines[k]);
      let text = (rest ?? "").trim();
      while (text.endsWith("#")) text = text.slice(0, -1);
      // The page itself uses the first two levels.
      return [el(`h${Math.min(6, marks.length + 2)}`, null, inline(text.trim())), k + 1];
    },
  },
  {
    matches: (lines, k) => formulaEnd(lines, k) > 0,
    parse(lines, k) {
      const end = formulaEnd(lines, k);
      const source = lines.slice(k, end).join("\n").trim().slice(2, -2);
      return [el("div", { class: "formula scroll", tabindex: 0, role: "group", "aria-label": say("content.formula") }, math(source, true)), end];
    },
  },
  { matches: (lines, k) => isRule(lines[k]), parse: (lines, k) => [el("hr"), k + 1] },
  {
    matches: (lines, k) => /^ {0,3}>/.test(lines[k]),
    parse(lines, k, depth) {
      let end = k;
      while (end < lines.length && /^ {0,3}>/.test(lines[end])) end += 1;
      const inner = lines.slice(k, end).map((line) => line.replace(/^ {0,3}> ?/, ""));
      return [el("blockquote", null, parseBlocks(inner, depth + 1)), end];
    },
  },
  {
    matches: (lines, k) => isTable(lines, k),
    parse(lines, k) {
      const headers = cells(lines[k]);
      const alignments = cells(lines[k + 1]).map((cell) =>
        cell.endsWith(":") ? (cell.startsWith(":") ? "middle" : "right") : null,
      );
      let end = k + 2;
      while (end < lines.length && lines[end].includes("|") && !blank(lines[end])) end += 1;
      const row = (tag, texts) =>
        el(
          "tr",
          null,
          headers.map((_, column) => el(tag, { class: alignments[column] }, inline(texts[column] ?? ""))),
        );
      return [
        el(
          "div",
          { class: "scroll", tabindex: 0, role: "group", "aria-label": say("content.table") },
          el(
            "table",
            null,
            el("thead", null, row("th", headers)),
            el(
              "tbody",
              null,
              lines.slice(k + 2, end).map((line) => row("td", cells(line))),
            ),
          ),
        ),
        end,
      ];
    },
  },
  { matches: (lines, k) => ITEM.test(lines[k]), parse: list },
];

function list(lines, k, depth) {
  const ordered = /\d/.test(ITEM.exec(lines[k])[2]);
  const start = parseInt(ITEM.exec(lines[k])[2], 10);
  const items = [];
  while (k < lines.length) {
    const opening = ITEM.exec(lines[k]);
    if (!opening || /\d/.test(opening[2]) !== ordered || isRule(lines[k])) break;
    const width = opening[1].length + opening[2].length + 1;
    const inner = [opening[3] ?? ""];
    k += 1;
    while (k < lines.length) {
      const deeper = indent(lines[k]) >= Math.min(width, 2) && !blank(lines[k]);
      const continues =
        blank(lines[k]) && k + 1 < lines.length && indent(lines[k + 1]) >= Math.min(width, 2) && !blank(lines[k + 1]);
      const lazy = !blank(lines[k]) && !blank(inner.at(-1)) && !startsBlock(lines, k);
      if (!deeper && !continues && !lazy) break;
      inner.push(lines[k].slice(Math.min(width, indent(lines[k]))));
      k += 1;
    }
    items.push(parseBlocks(inner, depth + 1));
    let next = k;
    while (next < lines.length && blank(lines[next])) next += 1;
    if (next < lines.length && ITEM.test(lines[next])) k = next;
  }
  // A tight list: the text of an item is not wrapped in a paragraph.
  const unwrapped = (nodes) => (nodes[0]?.tagName === "P" ? [...nodes[0].childNodes, ...nodes.slice(1)] : nodes);
  const attributes = ordered && start !== 1 ? { start } : null;
  return [
    el(
      ordered ? "ol" : "ul",
      attributes,
      items.map((nodes) => el("li", null, unwrapped(nodes))),
    ),
    k,
  ];
}

// -- inside a line --------------------------------------------------------------------------------------------------

const ESCAPABLE = /[!-/:-@[-`{-~]/;
const URL_PATTERN = /https?:\/\/[^\s<>"']+/y;
const TAGS = { "*": ["em", "strong"], _: ["em", "strong"], "~": [null, "del"] };

/** Parse a line of text: code, links, line breaks and emphasis. */
function inline(text, depth = 0) {
  const closing = brackets(text);
  const pieces = []; // nodes, strings, and runs of emphasis marks
  const unclosed = new Set(); // lengths of backtick runs without a closing run
  let plain = "";
  const flush = () => {
    if (plain) pieces.push(plain);
    plain = "";
  };
  const put = (node, next) => {
    flush();
    pieces.push(node);
    return next;
  };
  let k = 0;
  while (k < text.length) {
    const mark = text[k];
    if ((mark === "$" || mark === "\\") && formulaAt(text, k)) {
      const { source, isBlock, next } = formulaAt(text, k);
      k = put(math(source, isBlock), next);
    } else if (mark === "\\" && ESCAPABLE.test(text[k + 1] ?? "")) {
      plain += text[k + 1];
      k += 2;
    } else if (mark === "\n") {
      k = put(el("br"), k + 1);
    } else if (mark === "`") {
      const run = runOf(text, k);
      const end = unclosed.has(run) ? -1 : closingRun(text, k + run, run);
      if (end < 0) {
        unclosed.add(run);
        plain += text.slice(k, k + run);
        k += run;
      } else k = put(el("code", null, text.slice(k + run, end).replace(/\n/g, " ")), end + run);
    } else if (mark === "!" && text[k + 1] === "[" && linkAt(text, k + 1, closing)) {
      const { label, address, next } = linkAt(text, k + 1, closing);
      if (pictures.includes(address)) k = put(picture(address, label), next);
      else k += 1; // a picture elsewhere is shown as a link or as its text: its host would learn who rates
    } else if (mark === "[" && depth < MAX_DEPTH && linkAt(text, k, closing)) {
      const { label, address, next } = linkAt(text, k, closing);
      const inner = inline(label, depth + 1);
      k = put(SAFE_LINK.test(address) ? link(address, inner) : inner, next);
    } else if (mark === "h" && urlAt(text, k)) {
      const address = urlAt(text, k);
      k = put(link(address, address), k + address.length);
    } else if (mark in TAGS) {
      const run = runOf(text, k);
      k = put({ mark, left: run, ...flanks(text, k, run) }, k + run);
    } else {
      plain += mark;
      k += 1;
    }
  }
  flush();
  return pairEmphasis(pieces);
}

const link = (address, inner) =>
  el("a", { href: address, rel: "noopener noreferrer nofollow", target: "_blank" }, inner);

const LONGEST_INLINE_FORMULA = 1000;

/** A formula between $ and $, $$ and $$ or \( and \). "$5 and $10" is none: a closing $ has no space before and no digit after. */
function formulaAt(text, k) {
  const found = text.slice(k, k + LONGEST_INLINE_FORMULA);
  const [opening, closing] = found.startsWith("$$") ? ["$$", "$$"] : found.startsWith("\\(") ? ["\\(", "\\)"] : ["$", "$"];
  if (!found.startsWith(opening)) return null;
  const end = found.indexOf(closing, opening.length);
  const source = found.slice(opening.length, end);
  if (end < 0 || !source.trim()) return null;
  const isMoney = opening === "$" && (/^\s|\s$|\\$/.test(source) || /\d/.test(found[end + 1] ?? ""));
  return isMoney ? null : { source, isBlock: opening === "$$", next: k + end + closing.length };
}

function runOf(text, k) {
  let end = k;
  while (text[end] === text[k]) end += 1;
  return end - k;
}

function closingRun(text, k, run) {
  while ((k = text.indexOf("`", k)) >= 0) {
    const here = runOf(text, k);
    if (here === run) return k;
    k += here;
  }
  return -1;
}

/** The position of the closing bracket of each opening one. */
function brackets(text) {
  const open = [];
  const closing = new Map();
  for (let k = 0; k < text.length; k += 1) {
    if (text[k] === "\\") k += 1;
    else if (text[k] === "[") open.push(k);
    else if (text[k] === "]" && open.length) closing.set(open.pop(), k);
  }
  return closing;
}

function linkAt(text, k, closing) {
  const end = closing.get(k);
  if (end === undefined || text[end + 1] !== "(") return null;
  const stop = text.indexOf(")", end + 2);
  const inside =
    stop < 0 || stop - end > 2000
      ? null
      : text
          .slice(end + 2, stop)
          .trim()
          .split(/\s/)[0];
  return inside ? { label: text.slice(k + 1, end), address: inside.replace(/^<|>$/g, ""), next: stop + 1 } : null;
}

function urlAt(text, k) {
  URL_PATTERN.lastIndex = k;
  const found = /\w/.test(text[k - 1] ?? "") ? null : URL_PATTERN.exec(text)?.[0].slice(0, 2000);
  return found?.replace(/[.,;:!?)\]*_~]{1,20}$/, "");
}

function flanks(text, k, run) {
  const [before, after] = [text[k - 1] ?? " ", text[k + run] ?? " "];
  const space = /\s/;
  const word = /[\p{L}\p{N}]/u;
  const opens = !space.test(after) && (word.test(after) || !word.test(before));
  const closes = !space.test(before) && (word.test(before) || !word.test(after));
  const within = text[k] === "_" && word.test(before) && word.test(after); // snake_case is not emphasis
  return { opens: opens && !within, closes: closes && !within };
}

/** Match opening and closing emphasis marks, innermost first; unmatched marks are plain text. */
function pairEmphasis(pieces) {
  const out = [];
  const open = [];
  for (const piece of pieces) {
    if (typeof piece !== "object" || piece instanceof Node || Array.isArray(piece)) {
      out.push(piece);
      continue;
    }
    while (piece.closes && piece.left > 0) {
      const at = open.findLastIndex((each) => each.run.mark === piece.mark);
      if (at < 0) break;
      const { run, place } = open[at];
      const strength = Math.min(run.left, piece.left, 2);
      const tag = TAGS[piece.mark][strength - 1];
      if (!tag) break;
      const node = el(tag, null, out.splice(place + 1).map(asText));
      run.left -= strength;
      piece.left -= strength;
      out.push(node);
      open.length = run.left > 0 ? at + 1 : at;
    }
    if (piece.opens && piece.left > 0 && open.length < 50) open.push({ run: piece, place: out.length });
    out.push(piece);
  }
  return out.map(asText);
}

const asText = (piece) => (piece.mark ? piece.mark.repeat(piece.left) : piece);
