// What names an item to the owner: its id with the beginning of its text, and a thumbnail if it has a picture.
import { get } from "./api.js";
import { el, truncated } from "./dom.js";

let names = new Map(); // by id: [label, address of the picture or null]

/** Load the names of a study's items; without them, ids are shown. */
export async function loadItemNames(study) {
  names = new Map(Object.entries((await get(`${study}/arms/labels`)).labels));
}

export const itemIds = () => [...names.keys()];
export const itemLabel = (id) => names.get(id)?.[0] ?? id;
export const itemImage = (id) => names.get(id)?.[1] ?? null;

/** The thumbnail and the label of an item; `attributes` are those of the label. */
export function itemName(id, attributes = {}) {
  const text = truncated(itemLabel(id), attributes);
  const image = itemImage(id);
  return image === null
    ? text
    : el("span", { class: "pictured" }, el("img", { class: "thumbnail", src: image, alt: "" }), text);
}
