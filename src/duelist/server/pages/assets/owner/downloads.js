// Downloads of what a panel shows: its tables as CSV, its charts as SVG and PNG. Files are made in the browser.
import { button, el, replace } from "../shared/dom.js";

const SCALE = 2; // pixels of a PNG per pixel of the page
const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-size", "font-family", "font-weight", "text-anchor"];

/** Fill `holder` with a button per format in which the content of `body` can be downloaded. */
export function offerDownloads(holder, body, title, rows = null) {
  const tables = [...body.querySelectorAll("table")];
  const charts = [...body.querySelectorAll(".chart svg")];
  const canvases = [...body.querySelectorAll(".chart canvas")];
  const name = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  const each = (list, suffix, make) => async () => {
    for (const [k, one] of list.entries()) save(await make(one), `${name}${k ? `-${k + 1}` : ""}.${suffix}`);
  };
  const offer = (suffix, onclick) =>
    button(suffix.toUpperCase(), onclick, { class: "quiet small", title: `Download ${title} as ${suffix.toUpperCase()}`, "aria-label": `Download ${title} as ${suffix.toUpperCase()}` });
  replace(
    holder,
    (rows || tables.length > 0) && offer("csv", each(rows ? [rows] : tables, "csv", (one) => csvOf(one.rows && !Array.isArray(one) ? cellsOf(one) : one))),
    charts.length > 0 && offer("svg", each(charts, "svg", (one) => new Blob([standalone(one)], { type: "image/svg+xml" }))),
    charts.length + canvases.length > 0 && offer("png", each([...charts, ...canvases], "png", pngOf)),
  );
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// -- tables -------------------------------------------------------------------------------------------------------------

const cellsOf = (table) =>
  [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.replace(/\s+/g, " ").trim()));

/** A CSV file that spreadsheets open in UTF-8; a text that they would compute as a formula begins with an apostrophe. */
export function csvOf(rows) {
  const cell = (value) => {
    const plain = String(value ?? "").replace(/^−(?=\d)/, "-");
    const safe = /^[=+\-@\t\r]/.test(plain) && !/^[+-]?[\d.,]+%?$/.test(plain) ? `'${plain}` : plain;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const text = rows.map((row) => row.map(cell).join(",")).join("\r\n");
  return new Blob([`\ufeff${text}\r\n`], { type: "text/csv;charset=utf-8" });
}

// -- charts -------------------------------------------------------------------------------------------------------------

/** The source of a chart with the style of the page written into its attributes. */
function standalone(chart) {
  const copy = chart.cloneNode(true);
  const originals = [chart, ...chart.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, k) => {
    const style = getComputedStyle(originals[k]);
    for (const name of STYLES) node.setAttribute(name, style.getPropertyValue(name));
  });
  const background = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  background.setAttribute("width", "100%");
  background.setAttribute("height", "100%");
  background.setAttribute("fill", getComputedStyle(chart.closest(".card") ?? document.body).backgroundColor);
  copy.prepend(background);
  return new XMLSerializer().serializeToString(copy);
}

async function pngOf(chart) {
  if (chart instanceof HTMLCanvasElement) return new Promise((resolve) => chart.toBlob(resolve, "image/png"));
  const { width, height } = chart.getBoundingClientRect();
  const image = new Image();
  const address = URL.createObjectURL(new Blob([standalone(chart)], { type: "image/svg+xml" }));
  image.src = address;
  await image.decode();
  const canvas = el("canvas", { width: Math.ceil(width * SCALE), height: Math.ceil(height * SCALE) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
