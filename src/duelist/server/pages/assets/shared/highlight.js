// Syntax highlighting for common languages: comments, strings, numbers, keywords and calls, found in one pass from left to right.
import { el } from "./dom.js";

const words = (text) => new Set(text.split(/\s+/));
const KEYWORDS = words(`abstract and as assert async await begin bool break case catch char class const continue constexpr def default defer del delete do double
  elif else elseif elsif end enum except export extends extern final finally float fn for foreach from func function go goto if impl implements import in
  include inline instanceof int interface is lambda let local long loop match mod module mut namespace new not null None or override package pass private
  protected pub public raise ref repeat require return self short signed sizeof static std string struct super switch template then this throw throws trait
  true True false False try type typedef typename typeof undefined union unless unsafe until use using val var virtual void volatile when where while with yield
  SELECT FROM WHERE INSERT INTO UPDATE DELETE CREATE TABLE JOIN LEFT RIGHT INNER OUTER ON GROUP ORDER BY HAVING LIMIT AS AND OR NOT NULL VALUES SET DISTINCT
  select insert update create table join group order by having limit values set distinct echo fi esac done`);
const HASH = ["python", "py", "ruby", "rb", "bash", "sh", "shell", "console", "yaml", "yml", "toml", "r", "perl", "make", "dockerfile", "elixir", "julia"];
const DASHES = ["sql", "lua", "haskell", "hs", "ada"];
const PLAIN = ["text", "plain", "txt", "none"];
const LONGEST = 50_000;

const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/.source;
const COMMENTS = { hash: /#[^\n]*/.source, dashes: /--[^\n]*/.source, slashes: /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|<!--[\s\S]*?(?:-->|$)/.source };
const TRIPLE = /"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)/.source;
const REST = /(?<number>\b(?:0[xX][\da-fA-F]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?))|(?<word>[A-Za-z_]\w*)/.source;

const commentsOf = (language) => (HASH.includes(language) ? "hash" : DASHES.includes(language) ? "dashes" : "slashes");

/** The nodes of a piece of code. */
export function highlight(code, language = "") {
  const name = language.trim().toLowerCase();
  if (PLAIN.includes(name) || code.length > LONGEST) return [code];
  const comments = commentsOf(name);
  const strings = comments === "hash" ? `${TRIPLE}|${STRING}` : STRING;
  const pattern = new RegExp(`(?<comment>${COMMENTS[comments]})|(?<string>${strings})|${REST}`, "g");
  const nodes = [];
  let end = 0;
  for (const found of code.matchAll(pattern)) {
    const kind = kindOf(found, code);
    if (!kind) continue;
    nodes.push(code.slice(end, found.index), el("span", { class: `code-${kind}` }, found[0]));
    end = found.index + found[0].length;
  }
  nodes.push(code.slice(end));
  return nodes;
}

function kindOf({ groups, index, 0: text }, code) {
  if (groups.word === undefined) return ["comment", "string", "number"].find((kind) => groups[kind] !== undefined);
  if (KEYWORDS.has(groups.word)) return "keyword";
  return code[index + text.length] === "(" ? "call" : null;
}
