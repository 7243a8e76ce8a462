// Sentences of the page in the language of its visitor. The server puts the catalogue of that language into the page.

const SENTENCES = JSON.parse(document.getElementById("sentences")?.textContent ?? "{}");
const language = SENTENCES["language.code"] ?? "en";
const plurals = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language);

export const has = (key) => Object.hasOwn(SENTENCES, key);

/** The sentence of a key with its placeholders filled; `count` chooses among plural forms. */
export function say(key, values = {}) {
  const found = SENTENCES[key] ?? key;
  const text = typeof found === "string" ? found : (found[plurals.select(values.count)] ?? found.other);
  const shown = (value) => (typeof value === "number" ? numbers.format(value) : value);
  return text.replace(/\{([a-z_]+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? shown(values[name]) : whole)).trim();
}

/** The prefix of the sentences for an error: by its full code, or by its class; undefined if there are none. */
export function keyOf(error, prefix, suffix = "") {
  const code = String(error.code ?? "");
  return [code, code.split(".")[0]].map((each) => prefix + each + suffix).find(has);
}
