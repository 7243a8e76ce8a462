"""The Markdown parser: the elements it creates, and its running time."""

from __future__ import annotations

import os
import random
import time

import pytest
from playwright.sync_api import Page

from tests.fuzzing.mutation import mutated_bytes
from tests.helpers.evidence import record
from tests.server.pages.conftest import Tabs

RENDER = """async text => {
  const { markdown } = await import('/assets/shared/markdown.js');
  const box = document.createElement('div');
  box.append(markdown(text));
  return box.innerHTML.replace(/ (tabindex|rel|target|dir|role|aria-label|class|stretchy|fence)="[^"]*"/g, '');
}"""

EXPECTED = {
    "plain": "<p>plain</p>",
    "one\ntwo\n\nthree": "<p>one<br>two</p><p>three</p>",
    "# A\n## B #\ntext": "<h3>A</h3><h4>B</h4><p>text</p>",
    "*a* **b** ***c*** ~~d~~": "<p><em>a</em> <strong>b</strong> <em><strong>c</strong></em> <del>d</del></p>",
    "_a_ snake_case_name __b__": "<p><em>a</em> snake_case_name <strong>b</strong></p>",
    "2 * 3 * 4": "<p>2 * 3 * 4</p>",
    "**open": "<p>**open</p>",
    r"\*not\*": "<p>*not*</p>",
    "`a <b> *c*` ``d ` e``": "<p><code>a &lt;b&gt; *c*</code> <code>d ` e</code></p>",
    "```py\na = 1\n\n*b*\n```\nafter": "<pre><code>a = <span>1</span>\n\n*b*</code></pre><p>after</p>",
    "~~~\nopen": "<pre><code>open</code></pre>",
    "    indented\n    more": "<pre><code>indented\nmore</code></pre>",
    "- a\n- b\n  - c\n- d": "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>",
    "3. a\n4. b": '<ol start="3"><li>a</li><li>b</li></ol>',
    "- a\n\n  more\n- b": "<ul><li>a<p>more</p></li><li>b</li></ul>",
    "> a\n> b": "<blockquote><p>a<br>b</p></blockquote>",
    "a\n\n---\n\nb": "<p>a</p><hr><p>b</p>",
    "| a | b |\n|---|--:|\n| 1 | 2\\|3 |": (
        "<div><table><thead><tr><th>a</th><th>b</th></tr></thead>"
        "<tbody><tr><td>1</td><td>2|3</td></tr></tbody></table></div>"
    ),
    "[t](https://a.example/x) [n](javascript:x)": '<p><a href="https://a.example/x">t</a> n</p>',
    "see https://a.example/x.": '<p>see <a href="https://a.example/x">https://a.example/x</a>.</p>',
    "<b>no</b> &amp;": "<p>&lt;b&gt;no&lt;/b&gt; &amp;amp;</p>",
    "$a^2$ costs $5 and $10": "<p><math><msup><mi>a</mi><mn>2</mn></msup></math> costs $5 and $10</p>",
    r"\(x_i\) \$ $\nope$": "<p><math><msub><mi>x</mi><mi>i</mi></msub></math> $ <code>\\nope</code></p>",
    "$$\n\\frac{1}{2}\n$$\nafter": (
        '<div><math display="block"><mfrac><mn>1</mn><mn>2</mn></mfrac></math></div><p>after</p>'
    ),
    "![a cat](cat.png) ![x](https://a.example/x.png)": '<p>a cat <a href="https://a.example/x.png">x</a></p>',
    "": "",
}

FORMULAS = {
    r"\sqrt[3]{x}": "<mroot><mi>x</mi><mn>3</mn></mroot>",
    r"\sum_{i=1}^n i": (
        '<munderover><mo data-limits="yes" movablelimits="true">∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow>'
        "<mi>n</mi></munderover><mi>i</mi>"
    ),
    r"\mathbb{R}^d": "<msup><mi>ℝ</mi><mi>d</mi></msup>",
    r"\text{if } x": "<mtext>if&nbsp;</mtext><mi>x</mi>",
    r"f'(x)": "<msup><mi>f</mi><mo>′</mo></msup><mo>(</mo><mi>x</mi><mo>)</mo>",
    r"\left( \alpha \right)": "<mrow><mo>(</mo><mi>α</mi><mo>)</mo></mrow>",
    r"\hat\theta": '<mover accent="true"><mi>θ</mi><mo>^</mo></mover>',
    r"\begin{cases} 1 & a \\ 0 \end{cases}": (
        "<mrow><mo>{</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mi>a</mi></mtd></mtr><mtr><mtd><mn>0</mn></mtd></mtr></mtable></mrow>"
    ),
}
"""LaTeX, and the MathML that it becomes."""
NOT_IN_SUBSET = [
    r"\href{javascript:x}{y}",
    r"\frac{1}",
    "{" * 60 + "}" * 60,
    r"\left( x",
    r"\begin{tikz}\end{tikz}",
    "a & b",
    "x" * 5000,
    r"\def\a{\a\a}\a",
]

CODE = {
    ("python", "def f(x):  # \"no\"\n    return 'a' + 1.5"): (
        "[keyword:def] [call:f](x):  [comment:# \"no\"]\n    [keyword:return] [string:'a'] + [number:1.5]"
    ),
    ("js", "const a = `b // c`; // d"): "[keyword:const] a = [string:`b // c`]; [comment:// d]",
    ("sql", "SELECT 'it' -- all"): "[keyword:SELECT] [string:'it'] [comment:-- all]",
    ("", "<!-- x --> <b>"): "[comment:<!-- x -->] <b>",
    ("text", "return 1"): "return 1",
}


@pytest.fixture
def page(tabs: Tabs) -> Page:
    return tabs.open("/signin")


@pytest.mark.parametrize("source", FORMULAS)
def test_formulas(page: Page, source: str) -> None:
    assert page.evaluate(RENDER, f"${source}$") == f"<p><math>{FORMULAS[source]}</math></p>"


@pytest.mark.parametrize("source", NOT_IN_SUBSET)
def test_formulas_outside_the_subset_are_shown_as_their_source(page: Page, source: str) -> None:
    assert page.evaluate("async s => (await import('/assets/shared/math.js')).formula(s)", source) is None


@pytest.mark.parametrize(("language", "code"), CODE)
def test_code_is_highlighted(page: Page, language: str, code: str) -> None:
    found = page.evaluate(
        """async ([code, language]) => {
          const { highlight } = await import('/assets/shared/highlight.js');
          return highlight(code, language)
            .map(each => each instanceof Node ? `[${each.className.slice(5)}:${each.textContent}]` : each).join('');
        }""",
        [code, language],
    )
    assert found == CODE[language, code]


def test_elements(page: Page) -> None:
    found = {text: page.evaluate(RENDER, text) for text in EXPECTED}
    assert found == EXPECTED


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "**a ",
        "_",
        "[",
        "[a](",
        "`",
        "`a ``",
        "> ",
        "- ",
        "|",
        "| a |\n",
        "# ",
        "~",
        "\\",
        "http://",
        "1. ",
        "(",
        "*a_",
        "    ",
        "\n",
        "![",
        "![a](b",
        "$",
        "$a",
        "$$\n",
        "\\(",
        "\\[\n",
        "$\\frac{",
        '```\n"',
        "<",
    ],
)
def test_running_time_is_linear(page: Page, text: str) -> None:
    """100,000 repetitive characters take seconds at most; a quadratic parser would need minutes."""
    start = time.monotonic()
    page.evaluate(
        "async text => { const { markdown } = await import('/assets/shared/markdown.js'); markdown(text); return null; }",
        text * (100_000 // len(text)),
    )
    assert time.monotonic() - start < 5.0


# -- fuzzing -----------------------------------------------------------------------------

CASES = int(os.environ.get("DUELIST_FUZZ_CASES", "5000")) // 10
BATCH = 500
MAX_MILLISECONDS = 5000
MARKS = tuple(
    mark.encode()
    for mark in (
        *(
            "*",
            "**",
            "_",
            "`",
            "```",
            "\n```\n",
            "~~~",
            "~~",
            "#",
            "> ",
            "\n- ",
            "\n1. ",
            "|",
            "\n|-|-|\n",
            "\n",
            "\n\n",
            "---",
            "$",
            "$$",
            "\\frac{a}{b}",
        ),
        *("[", "](", ")", "javascript:alert(1)", "https://a.example/", "<script>", "<img src=x onerror=a>", "&amp;"),
        *("\\", "\n    ", "\t", "word ", "\u202e\u00e9\U0001f600"),
    )
)
RENDER_MANY = """async ([texts, limit]) => {
  const { markdown } = await import('/assets/shared/markdown.js');
  const found = { wrong: [], slowest: 0 };
  for (const text of texts) {
    const since = performance.now();
    try {
      const box = document.createElement('div');
      box.append(markdown(text));
      for (const node of box.querySelectorAll('*')) {
        const text = /^(P|BR|H[3-6]|PRE|CODE|BLOCKQUOTE|DIV|SPAN|TABLE|THEAD|TBODY|TR|TH|TD|OL|UL|LI|HR|A|EM|STRONG|DEL)$/;
        const allowed = text.test(node.tagName) || /^m[a-z]+$/.test(node.tagName);
        const href = node.getAttribute('href');
        const unsafe = [...node.attributes].some(({ name }) => name.startsWith('on') || name === 'style' || name === 'src');
        if (!allowed || unsafe || (href !== null && !/^(https?:|mailto:)/i.test(href))) found.wrong.push([text, node.outerHTML]);
      }
    } catch (error) {
      found.wrong.push([text, String(error)]);
    }
    const taken = performance.now() - since;
    found.slowest = Math.max(found.slowest, taken);
    if (taken > limit) found.wrong.push([text, `${taken} ms`]);
  }
  return found;
}"""


def random_text(number: int) -> str:
    """Return one of the expected texts with changes, or random marks."""
    luck = random.Random(f"markdown {number}")
    text = luck.choice(list(EXPECTED)).encode() if luck.random() < 0.5 else b""
    for _ in range(luck.choice((1, 3, 10, 30))):
        text = mutated_bytes(luck, text, MARKS)
    return text.decode(errors="replace")[:20_000]


def test_random_texts_create_only_harmless_elements(page: Page) -> None:
    slowest = 0.0
    for first in range(0, CASES, BATCH):
        texts = [random_text(number) for number in range(first, min(first + BATCH, CASES))]
        found = page.evaluate(RENDER_MANY, [texts, MAX_MILLISECONDS])
        assert found["wrong"][:3] == []
        slowest = max(slowest, found["slowest"] / 1000)
    counts = {"cases": CASES, "accepted": CASES, "rejected": 0}
    record("fuzz", target="Markdown in Chromium", **counts, slowest=slowest, memory=None)
