// Conditions and rules that are tried out: editors in place, the ladder under them, and the last notifications compared.
import { at, call, copy, curl, doing, get, h, isLeft, latest, link, query, row, table, time, toast } from "./base.js";
import { faultField, showConditionsFault, showRuleFaults } from "./predicate.js";

export const can = "canActivateForTargetContentIdentifierPredicate";
export const prefers = "prefersToActivateForTargetContentIdentifierPredicate";
/** How many notifications of the past a trial is compared with. */
const last = 1000;
const shown = 100;

/**
 * The trial of a page. `page` has the application, the question and whether it is a broadcast; `show` shows an explanation,
 * `change` says in a sentence how it differs from the one without a trial, `restore` shows that one, and `explain` asks for it
 * again.
 */
export function trials(page, signal) {
  const bar = h("section", { id: "trial", "aria-label": "Trial", hidden: true });
  const soon = latest(signal, 250);
  let open;

  /** Ends the trial, and shows the ladder as it is. */
  function close() {
    soon.stop();
    if (!open) return;
    const { place } = open;
    open = undefined;
    bar.hidden = true;
    bar.replaceChildren();
    // The button that opened the editor stands before it.
    if (place.contains(document.activeElement)) place.previousElementSibling.querySelector("button").focus();
    place.replaceChildren();
    page.restore();
  }

  function begin(one) {
    close();
    open = one;
  }

  /** Asks for the ladder of the trial, then for the comparison. */
  function run() {
    const one = open;
    soon(async (stop) => {
      tell(one.title, h("p", { class: "soft", role: "status" }, "Trying it out …"));
      try {
        const found = await one.explain(stop);
        one.faults(null);
        page.show(found);
        tell(one.title, h("p", { class: "soft", role: "status" }, "Comparing it with the last notifications …"));
        tell(one.title, page.change(found), ...comparison(await one.compare(stop), page.application));
      } catch (fault) {
        if (isLeft(fault)) return;
        const lines = one.faults(fault.problem ?? { detail: fault.message });
        tell(one.title, h("p", { class: "bad", role: "status" }, lines.length ? lines.join(" ") : "It has a fault: see its field."));
      }
    });
  }

  function tell(title, ...content) {
    bar.hidden = false;
    bar.replaceChildren(h("h2", {}, title), ...content);
  }

  /** The buttons of an editor. */
  const buttons = (save, command) => h("p", { class: "row" },
    h("button", { class: "main", type: "button", onclick: () => doing(save) }, "Save"),
    h("button", { type: "button", onclick: close }, "Discard"),
    h("button", { type: "button", onclick: () => doing(() => copy(command())) }, "Copy the change as curl"),
    h("span", { class: "soft" }, "Ctrl+Enter saves, Escape discards."));

  /** Escape discards a trial, and Control with Enter saves it. */
  const keys = (save) => (event) => {
    if (event.key === "Escape") close();
    if (event.key === "Enter" && event.ctrlKey) doing(save);
  };

  /** Opens the editor of a session's conditions in its card. */
  async function editConditions(id, place, proposed) {
    const target = `/v1/applications/${at(page.application)}/sessions/${at(id)}`;
    const session = await doing(() => get(target, signal));
    if (!session) return;
    const now = session.activationConditions;
    const fields = {
      can: faultField("Can show", proposed?.can ?? now[can], { rows: 2, oninput: run }),
      prefers: faultField("Prefers", proposed?.prefers ?? now[prefers], { rows: 2, oninput: run }),
    };
    const level = faultField("Preference level", proposed?.level ?? now.preferenceLevel, { type: "number", oninput: run });
    const conditions = () => ({
      [can]: fields.can.value, [prefers]: fields.prefers.value, preferenceLevel: Number(level.value) });
    const ask = (more, stop) => call("POST", `${target}/trial${query(more)}`,
      { activationConditions: conditions(), ...page.question() }, stop);
    begin({
      place, session: id, title: `Trial: other conditions of ${id}`, conditions,
      explain: async (stop) => (await ask({ parts: "true", broadcast: page.broadcast() }, stop)).explanation,
      compare: (stop) => ask({ last, limit: 1 }, stop),
      faults: (problem) => showConditionsFault(fields, level, problem) || !problem ? [] : [problem.detail],
    });
    const save = async () => {
      await call("PATCH", target, { activationConditions: conditions() });
      close();
      toast(`The conditions of ${id} are changed.`);
      await page.explain();
    };
    place.replaceChildren(h("div", { class: "editor", onkeydown: keys(save) }, fields.can.element, fields.prefers.element,
      level.element, buttons(save, () => curl("PATCH", target, JSON.stringify({ activationConditions: conditions() })))));
    fields.can.input.focus();
    if (proposed) run();
  }

  /** Opens the editor of a rule; one that is not in the list yet is added to it. */
  function editRule(rules, index, place) {
    const rule = rules[index] ?? { name: "", when: "", then: "veto" };
    const { name, when, then, reason, mode, ...rest } = rule;
    const text = (value) => value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
    const fields = "name" in rule ? {
      name: faultField("Name", text(name), { oninput: run }), when: faultField("When", text(when), { rows: 3, oninput: run }),
      then: faultField("Then: veto, prefer, drop, or an object such as {\"holdSeconds\": 60}", text(then), { oninput: run }),
      reason: faultField("Reason", text(reason), { oninput: run }),
      mode: faultField("Mode: active, or shadow", text(mode), { placeholder: "active", oninput: run }),
    } : {};
    const others = faultField("name" in rule ? "Other fields, in JSON" : "Rule, in JSON", JSON.stringify(rest, null, 1),
      { rows: "name" in rule ? 2 : 6, oninput: run });
    const proposed = () => {
      const value = { ...JSON.parse(others.value || "{}") };
      for (const [key, field] of Object.entries(fields)) {
        if (field.value !== "") value[key] = field.value.startsWith("{") ? JSON.parse(field.value) : field.value;
      }
      return rules[index] ? rules.with(index, value) : [...rules, value];
    };
    const file = () => JSON.stringify({ rules: proposed() });
    begin({
      place, title: `Trial: ${rules[index] ? `another rule ${name ?? rule.id}` : "a new rule"}`, rules: proposed,
      explain: (stop) => call("POST", `/v1/rules/evaluate${query({ broadcast: page.broadcast() })}`,
        { application: page.application, rules: proposed(), ...page.question() }, stop),
      compare: (stop) => call("POST", `/v1/rules/diff${query({ application: page.application, last })}`, file(), stop),
      faults: (problem) => showRuleFaults(fields, problem),
    });
    const save = async () => {
      await call("PUT", "/v1/rules", file());
      close();
      toast("The rules are changed.");
      await page.explain();
      document.querySelector(`[data-rule="${CSS.escape(fields.name?.value ?? rule.id)}"] button`)?.focus();
    };
    place.replaceChildren(h("div", { class: "editor", onkeydown: keys(save) }, Object.values(fields).map((field) => field.element),
      others.element, buttons(save, () => curl("PUT", "/v1/rules", file()))));
    place.querySelector("input, textarea").focus();
  }

  return { bar, close, run, editConditions, editRule, get open() { return open; } };
}

/** The notifications that would have gone elsewhere. */
function comparison({ compared, differences }, application) {
  if (!compared) return [h("p", { role: "status" }, "There is no notification yet to compare it with.")];
  const number = differences.length ? differences.length.toLocaleString("en") : "None";
  const rows = differences.slice(0, shown).map((one) => row(
    link("notification", { id: one.notification, application }, time(one.receivedAt)), h("code", {}, one.contentId ?? "–"),
    one.current.session ?? one.current.outcome, h("b", {}, one.proposed.session ?? one.proposed.outcome),
    h("span", { class: "soft" }, one.proposed.reason)));
  return [
    h("p", { role: "status", id: "elsewhere" }, h("b", {}, number),
      ` of the last ${compared.toLocaleString("en")} would have gone elsewhere.`),
    rows.length ? h("div", { class: "list" }, table(["Received", "Content", "Goes to", "Would go to", "Why"], rows)) : "",
    differences.length > shown ? h("p", { class: "soft" }, `The newest ${shown} are listed.`) : "",
  ];
}
