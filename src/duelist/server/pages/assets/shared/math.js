// Formulas: a subset of LaTeX to MathML, which browsers draw themselves. What is not in the subset is shown as its source.
import { mathml } from "./dom.js";

const LONGEST = 4000;
const DEEPEST = 24;
const SPACE = "\ue000"; // stands for a space of a text while its formula is parsed

const table = (words) => Object.fromEntries(words.trim().split(/\s+/).map((each) => each.split(":")));
const LETTERS = table(`alpha:α beta:β gamma:γ delta:δ epsilon:ϵ varepsilon:ε zeta:ζ eta:η theta:θ vartheta:ϑ iota:ι kappa:κ lambda:λ mu:μ nu:ν
  xi:ξ pi:π rho:ρ sigma:σ tau:τ upsilon:υ phi:ϕ varphi:φ chi:χ psi:ψ omega:ω Gamma:Γ Delta:Δ Theta:Θ Lambda:Λ Xi:Ξ Pi:Π Sigma:Σ Phi:Φ Psi:Ψ
  Omega:Ω infty:∞ partial:∂ nabla:∇ ell:ℓ hbar:ℏ emptyset:∅ ldots:… dots:… cdots:⋯ vdots:⋮ ddots:⋱ top:⊤ bot:⊥ Re:ℜ Im:ℑ aleph:ℵ degree:°`);
const OPERATORS = table(`pm:± mp:∓ times:× div:÷ cdot:⋅ ast:∗ star:⋆ circ:∘ bullet:• oplus:⊕ otimes:⊗ cup:∪ cap:∩ setminus:∖ wedge:∧ land:∧ vee:∨ lor:∨
  neg:¬ lnot:¬ leq:≤ le:≤ geq:≥ ge:≥ neq:≠ ne:≠ equiv:≡ approx:≈ sim:∼ simeq:≃ cong:≅ propto:∝ ll:≪ gg:≫ prec:≺ succ:≻ preceq:⪯ succeq:⪰ in:∈ notin:∉
  ni:∋ subset:⊂ subseteq:⊆ supset:⊃ supseteq:⊇ to:→ rightarrow:→ leftarrow:← gets:← leftrightarrow:↔ Rightarrow:⇒ implies:⟹ Leftarrow:⇐
  Leftrightarrow:⇔ iff:⟺ mapsto:↦ uparrow:↑ downarrow:↓ forall:∀ exists:∃ mid:∣ parallel:∥ perp:⊥ angle:∠ triangle:△ prime:′ colon:: lbrace:{ rbrace:}
  langle:⟨ rangle:⟩ lfloor:⌊ rfloor:⌋ lceil:⌈ rceil:⌉ lvert:| rvert:| vert:| lVert:‖ rVert:‖ Vert:‖`);
const LARGE = table("sum:∑ prod:∏ coprod:∐ bigcup:⋃ bigcap:⋂ bigoplus:⨁ bigotimes:⨂");
const INTEGRALS = table("int:∫ iint:∬ iiint:∭ oint:∮");
const FUNCTIONS = new Set(
  "sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan exp log ln lg det dim ker deg gcd arg hom Pr".split(" "),
);
const LIMITS = new Set("lim max min sup inf argmax argmin limsup liminf".split(" "));
const ACCENTS = table("hat:^ widehat:^ bar:¯ overline:¯ tilde:~ widetilde:~ vec:→ dot:˙ ddot:¨ check:ˇ breve:˘");
const SPACES = { ",": "0.17em", ":": "0.22em", ";": "0.28em", "!": "-0.17em", " ": "0.33em", quad: "1em", qquad: "2em" };
const VARIANTS = { mathbf: "bold", mathbb: "double", mathcal: "script", mathrm: "normal", operatorname: "normal", mathit: "italic" };
const FIRST = { bold: [0x1d400, 0x1d41a, 0x1d7ce], double: [0x1d538, 0x1d552, 0x1d7d8], script: [0x1d49c, 0x1d4b6, null] };
const DOUBLE = { C: "ℂ", H: "ℍ", N: "ℕ", P: "ℙ", Q: "ℚ", R: "ℝ", Z: "ℤ" };
const SCRIPT = { B: "ℬ", E: "ℰ", F: "ℱ", H: "ℋ", I: "ℐ", L: "ℒ", M: "ℳ", R: "ℛ", e: "ℯ", g: "ℊ", o: "ℴ" };
const FENCES = { matrix: ["", ""], pmatrix: ["(", ")"], bmatrix: ["[", "]"], vmatrix: ["|", "|"], cases: ["{", ""], aligned: ["", ""], align: ["", ""] };

const TOKEN = /\\[a-zA-Z]+\*?|\\[\s\S]|\d+(?:\.\d+)?|[^\s]/gu;

/** A formula as a `math` element, or null if it uses more than the subset. */
export function formula(source, isBlock = false) {
  if (source.length > LONGEST) return null;
  try {
    const tokens = source.replace(/\\(text|mathrm|operatorname)\s*\{([^{}\\]*)\}/g, (_, name, text) => `\\${name}{${text.replace(/ /g, SPACE)}}`);
    const parser = new Parser(tokens.match(TOKEN) ?? []);
    const content = parser.row(() => parser.isDone);
    return mathml("math", isBlock ? { display: "block" } : null, content);
  } catch (error) {
    if (error instanceof NotInSubset) return null;
    throw error;
  }
}

class NotInSubset extends Error {}

const symbol = (text, attributes) => mathml("mo", attributes, text);
const group = (nodes) => (nodes.length === 1 ? nodes[0] : mathml("mrow", null, nodes));

class Parser {
  #tokens;
  #at = 0;
  #depth = 0;

  constructor(tokens) {
    this.#tokens = tokens;
  }

  get isDone() {
    return this.#at >= this.#tokens.length;
  }

  #peek = () => this.#tokens[this.#at];
  #next() {
    if (this.isDone) throw new NotInSubset();
    return this.#tokens[this.#at++];
  }
  #expect(token) {
    if (this.#next() !== token) throw new NotInSubset();
  }

  /** Everything until `ends()`, with scripts attached to what they follow. */
  row(ends) {
    if (++this.#depth > DEEPEST) throw new NotInSubset();
    const nodes = [];
    while (!ends()) {
      if (this.isDone) throw new NotInSubset();
      nodes.push(this.#scripted());
    }
    this.#depth -= 1;
    return nodes;
  }

  #scripted() {
    const base = "^_".includes(this.#peek()) ? mathml("mrow") : this.#atom();
    let [below, above, primes] = [null, null, ""];
    for (;;) {
      const token = this.#peek();
      if (token === "'") primes += "′";
      else if (token !== "_" && token !== "^") break;
      this.#next();
      if (token === "_") below = this.#argument();
      else if (token === "^") above = this.#argument();
    }
    if (primes) above = above ? mathml("mrow", null, symbol(primes), above) : symbol(primes);
    if (!below && !above) return base;
    const kind = base.dataset?.limits ? ["munder", "mover", "munderover"] : ["msub", "msup", "msubsup"];
    if (below && above) return mathml(kind[2], null, base, below, above);
    return below ? mathml(kind[0], null, base, below) : mathml(kind[1], null, base, above);
  }

  /** `{...}` or a single token. */
  #argument() {
    if (this.#peek() !== "{") return this.#atom();
    this.#next();
    const nodes = this.row(() => this.#peek() === "}");
    this.#expect("}");
    return group(nodes);
  }

  #text() {
    this.#expect("{");
    let text = "";
    while (this.#peek() !== "}") text += this.#next();
    this.#expect("}");
    return text.replaceAll(SPACE, "\u00a0");
  }

  #atom() {
    const token = this.#next();
    if (token.startsWith("\\")) return this.#command(token.slice(1));
    if (token === "{") {
      this.#at -= 1;
      return this.#argument();
    }
    if ("}&^_$#%".includes(token)) throw new NotInSubset();
    if (/^\d/.test(token)) return mathml("mn", null, token);
    if (/^\p{L}/u.test(token)) return mathml("mi", null, token);
    return symbol(token === "-" ? "−" : token === "*" ? "∗" : token, "()[]|".includes(token) ? { stretchy: "false" } : null);
  }

  #command(name) {
    const own = (words) => Object.hasOwn(words, name);
    if (own(LETTERS)) return mathml("mi", null, LETTERS[name]);
    if (own(OPERATORS)) return symbol(OPERATORS[name]);
    if (own(LARGE)) return symbol(LARGE[name], { "data-limits": "yes", movablelimits: "true" });
    if (own(INTEGRALS)) return symbol(INTEGRALS[name]);
    if (FUNCTIONS.has(name)) return mathml("mi", null, name);
    if (LIMITS.has(name)) return symbol(name.replace(/^arg|^lim(?=.)/, "$& "), { "data-limits": "yes", movablelimits: "true" });
    if (own(SPACES)) return mathml("mspace", { width: SPACES[name] });
    if (own(ACCENTS)) return mathml("mover", { accent: "true" }, this.#argument(), symbol(ACCENTS[name]));
    if (own(VARIANTS)) return this.#styled(VARIANTS[name], this.#text());
    if ("{}|%$#&_".includes(name)) return symbol(name === "|" ? "‖" : name);
    switch (name) {
      case "frac":
      case "dfrac":
      case "tfrac":
        return mathml("mfrac", null, this.#argument(), this.#argument());
      case "binom":
        return mathml("mrow", null, symbol("("), mathml("mfrac", { linethickness: "0" }, this.#argument(), this.#argument()), symbol(")"));
      case "sqrt":
        return this.#root();
      case "text":
      case "mbox":
        return mathml("mtext", null, this.#text());
      case "underline":
        return mathml("munder", null, this.#argument(), symbol("_"));
      case "left":
        return this.#fenced();
      case "begin":
        return this.#environment();
      case "limits":
      case "displaystyle":
        return mathml("mrow");
      default:
        throw new NotInSubset();
    }
  }

  #styled(variant, text) {
    if (variant === "normal") return mathml("mi", { mathvariant: "normal" }, text);
    return mathml("mi", null, [...text].map((letter) => styledLetter(variant, letter)).join(""));
  }

  #root() {
    if (this.#peek() !== "[") return mathml("msqrt", null, this.#argument());
    this.#next();
    const degree = this.row(() => this.#peek() === "]");
    this.#expect("]");
    return mathml("mroot", null, this.#argument(), group(degree));
  }

  #fence() {
    const token = this.#next();
    if (token === ".") return null;
    const text = token.startsWith("\\") ? (OPERATORS[token.slice(1)] ?? { "{": "{", "}": "}", "|": "‖" }[token.slice(1)]) : token;
    if (!text) throw new NotInSubset();
    return symbol(text, { stretchy: "true", fence: "true" });
  }

  #fenced() {
    const open = this.#fence();
    const inner = this.row(() => this.#peek() === "\\right");
    this.#expect("\\right");
    return mathml("mrow", null, open, inner, this.#fence());
  }

  #environment() {
    const name = this.#text().replace("*", "");
    if (!Object.hasOwn(FENCES, name)) throw new NotInSubset();
    const ends = () => ["&", "\\\\", "\\end"].includes(this.#peek());
    const rows = [[]];
    for (;;) {
      rows.at(-1).push(mathml("mtd", null, this.row(ends)));
      const mark = this.#next();
      if (mark === "\\end") break;
      if (mark === "\\\\") rows.push([]);
    }
    if (this.#text().replace("*", "") !== name) throw new NotInSubset();
    const [open, close] = FENCES[name].map((each) => each && symbol(each, { stretchy: "true", fence: "true" }));
    const cells = rows.map((row) => mathml("mtr", null, row));
    return mathml("mrow", null, open, mathml("mtable", { class: name }, cells), close);
  }
}

function styledLetter(variant, letter) {
  const special = { double: DOUBLE, script: SCRIPT }[variant]?.[letter];
  if (special) return special;
  const [upper, lower, digit] = FIRST[variant] ?? [];
  if (upper && letter >= "A" && letter <= "Z") return String.fromCodePoint(upper + letter.charCodeAt(0) - 65);
  if (lower && letter >= "a" && letter <= "z") return String.fromCodePoint(lower + letter.charCodeAt(0) - 97);
  return digit && letter >= "0" && letter <= "9" ? String.fromCodePoint(digit + letter.charCodeAt(0) - 48) : letter;
}
