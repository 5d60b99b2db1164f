// Fields for predicates and rules, with the fault that the daemon finds under them.
import { h } from "./base.js";

let number = 0;

/** A field; `show` shows the lines of a fault under it, a caret under its place, and marks the field as invalid. */
export function faultField(label, value, more) {
  const id = `field-${number += 1}`;
  const { rows, list, ...attributes } = more ?? {};
  const input = h(rows ? "textarea" : "input", { id, rows, list, spellcheck: "false", autocomplete: "off", ...attributes });
  input.value = value;
  const fault = h("div", { id: `${id}-fault`, class: "fault", role: "status" });
  const element = h("div", { class: "field" }, h("label", { for: id }, label), input, fault);
  input.setAttribute("aria-describedby", fault.id);

  function show(lines, span) {
    const isFaulty = lines.length > 0;
    if (isFaulty) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    const [sentence, ...rendered] = lines;
    fault.replaceChildren(...(isFaulty ? [h("p", { class: "bad" }, sentence)] : []),
      ...(rendered.length ? [h("pre", { class: "caret", tabindex: 0, "aria-label": "Place of the fault" }, rendered.join("\n"))] : []),
      ...(span ? [h("button", { type: "button", onclick: () => select(input, span) }, "Select the place")] : []));
  }
  return { element, input, show, get value() { return input.value; } };
}

/** Selects a span in bytes of UTF-8; one that is empty, at the end, is a place for the cursor. */
function select(input, { offset, length }) {
  const bytes = new TextEncoder().encode(input.value);
  const text = (end) => new TextDecoder().decode(bytes.subarray(0, end)).length;
  input.focus();
  input.setSelectionRange(text(offset), text(offset + length));
}

/** Shows the fault of conditions in the field of its side, or in that of the level; returns whether it belongs to one. */
export function showConditionsFault(fields, level, problem) {
  const isOfLevel = problem?.pointer?.endsWith("/preferenceLevel") === true;
  level.show(isOfLevel ? [problem.detail] : []);
  for (const [side, field] of Object.entries(fields)) {
    if (problem?.side === side) field.show([problem.detail, ...(problem.caret ?? "").split("\n").filter(Boolean)], problem.span);
    else field.show([]);
  }
  return isOfLevel || (problem?.side ?? "") in fields;
}

/** Shows the faults of a rule in the fields that their pointers name; returns the lines of the others. */
export function showRuleFaults(fields, problem) {
  const left = [];
  const lines = Object.fromEntries(Object.keys(fields).map((name) => [name, []]));
  for (const fault of problem?.faults ?? []) {
    const name = fault.pointer?.split("/")[3];
    (lines[name] ?? left).push(...fault.message.split("\n"));
  }
  for (const [name, field] of Object.entries(fields)) field.show(lines[name]);
  return problem && !problem.faults ? [problem.detail] : left;
}
