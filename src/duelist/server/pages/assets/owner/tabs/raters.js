// The raters: pace, agreement, side, consistency; and what an owner can do about one.
import { post, sentenceOf } from "../../shared/api.js";
import { percent, picture, scale } from "../../charts/primitives.js";
import { announce, askFor, button, confirm, el, named, number, svg, table } from "../../shared/dom.js";
import { Panel } from "../live-panel.js";
import { part } from "./results.js";

const IMPOSSIBLE = 4; // hours of work in an hour

export function peoplePart(here) {
  const act = async (path, body, said) => {
    try {
      await post(`${here.base}/raters/${path}`, body);
      announce(said);
      await panel.refresh();
    } catch (error) {
      announce(sentenceOf(error));
      panel.body.prepend(el("p", { class: "note bad" }, sentenceOf(error)));
    }
  };
  const panel = new Panel({
    title: "Raters",
    wide: true,
    path: () => `${here.base}/raters${here.query()}`,
    draw: (data) => raters(data, here.admin ? act : null),
    about:
      "Whom to trust. Agreement is with others on the same pairs; “again” is how often a rater said the same when shown a pair once more; “known” is how often they found the answer of gold pairs. " +
      "Somebody is pointed out only if their votes are very unlikely from one who votes like the others (in 1 of 100 studies by mistake).",
  });
  return part([panel]);
}

function raters(data, act) {
  if (!data.rows.length && !data.others?.length)
    return el("p", { class: "muted" }, "Nobody has voted yet. Send links to raters under “Links and files”.");
  const share = (value) => number(value === null ? "–" : percent(value));
  const headers = [
    "rater",
    "votes",
    "time a vote",
    "an hour",
    "left side",
    "with others",
    "again",
    "known",
    "with the fit",
    "remarks",
    act && "actions",
  ];
  // Those of whom something was said, but who have not voted, have no numbers.
  const silent = (data.others ?? []).map((each) => [
    named(each.name, { tabindex: 0 }),
    number("0"),
    ...Array(7)
      .fill(null)
      .map(() => number("–")),
    remarks({ ...each, reasons: [] }),
    ...(act ? [actions({ ...each, rater: each.name }, act)] : []),
  ]);
  const rows = data.rows.map((row) =>
    [
      named(row.rater, { tabindex: 0 }),
      number(String(row.votes)),
      number(row.median_seconds === null ? "–" : `${row.median_seconds.toFixed(1)} s`),
      pace(row),
      sideMark(row),
      share(row.agreement_others),
      row.repeats ? number(`${percent(row.repeat_agreement)} of ${row.repeats}`) : number("–"),
      row.gold ? number(`${percent(row.gold_right)} of ${row.gold}`) : number("–"),
      number(
        row.agreement_model === null
          ? "–"
          : [percent(row.agreement_model), el("br"), el("small", null, `${percent(row.expected_model)} expected`)],
      ),
      remarks(row),
      act && actions(row, act),
    ].filter((cell) => cell !== null),
  );
  rows.push(...silent);
  return el(
    "div",
    null,
    table(
      `${rows.length} ${rows.length === 1 ? "rater" : "raters"}, those with most votes first`,
      headers.filter(Boolean),
      rows,
      { label: "Raters" },
    ),
    data.alpha !== null &&
      el(
        "p",
        null,
        `Krippendorff's alpha over all raters is ${data.alpha.toFixed(2)}: 1 is full agreement, 0 is chance.`,
      ),
  );
}

/** Votes an hour; nothing where votes came faster than they were made: from a file, or a program. */
function pace({ votes_per_hour: pace, median_seconds: seconds }) {
  const believed = pace !== null && (seconds === null || (pace * seconds) / 3600 < IMPOSSIBLE);
  return number(believed ? pace.toFixed(0) : "–");
}

/** How often the left side won, with its interval, around one half. */
function sideMark(row) {
  if (row.first_share === null) return number("–");
  const x = scale([0, 1], [4, 68]);
  return el(
    "div",
    { class: "side" },
    picture(
      72,
      18,
      `${percent(row.first_share)}, between ${percent(row.first_low)} and ${percent(row.first_high)}`,
      svg("line", { class: "zero", x1: x(0.5), x2: x(0.5), y1: 0, y2: 18 }),
      svg("line", { class: "interval", x1: x(row.first_low), x2: x(row.first_high), y1: 9, y2: 9 }),
      svg("circle", { class: "point", cx: x(row.first_share), cy: 9, r: 4 }),
    ),
    number(percent(row.first_share)),
  );
}

const remarks = (row) =>
  el(
    "span",
    null,
    row.blocked && el("span", { class: "tag warn" }, "blocked"),
    " ",
    row.excluded && el("span", { class: "tag warn" }, "votes left out"),
    " ",
    row.erased && el("span", { class: "tag" }, "erased"),
    " ",
    row.reasons.map((reason) => el("span", { class: "tag warn" }, reason)),
    Object.entries(row.attributes ?? {}).map(([name, value]) => [
      " ",
      el("q", { dir: "auto" }, name === "note" ? String(value) : `${name}: ${String(value)}`),
    ]),
  );

function actions(row, act) {
  const { rater } = row;
  const erase = async () => {
    if (
      await confirm(
        `Erase ${rater}?`,
        "A made-up name takes the place of theirs, what they wrote and what was noted about them goes, their votes stay. There is no way back.",
        "Erase",
        rater,
      )
    ) {
      act("erase", { rater, confirm: rater }, `${rater} is erased`);
    }
  };
  const note = async () => {
    const about = "Kept with the study, for those who run it; raters do not see it.";
    const text = await askFor(`A note on ${rater}`, about, row.attributes?.note ?? "");
    if (text !== null) act("describe", { rater, attributes: { note: text || null } }, `The note on ${rater} is kept`);
  };
  return el(
    "span",
    { class: "actions" },
    row.blocked || row.excluded
      ? button("Give back", () => act("unblock", { rater }, `${rater} is asked and counted again`), {
          class: "small",
          title: "Ask this rater again and count their votes again, as if nothing had been.",
        })
      : [
          button("Drop", () => act("block", { rater }, `${rater} is asked no more, and their votes are left out`), {
            class: "small",
            title: "Ask no more, and leave their votes out of everything. “Give back” takes it back.",
          }),
          button(
            "Block",
            () => act("block", { rater, keep_votes: true }, `${rater} is asked no more; their votes count`),
            { class: "small", title: "Ask no more; the votes there are go on counting. “Give back” takes it back." },
          ),
        ],
    button("Note…", note, { class: "small", title: "Write down what should be known about this rater." }),
    !row.erased &&
      button("Erase…", erase, { class: "small", title: "Forget who this rater is; there is no way back." }),
  );
}
