// Where a notification goes, and why: the sessions as a ladder, best on top, and other conditions and rules tried out.
import { at, call, copy, curl, doing, get, h, isLeft, link, query, showText, toast } from "./base.js";
import { change, ladder, outcome, verdict } from "./ladder.js";
import { can, prefers, trials } from "./trial.js";

export async function route(content, values, signal) {
  const payload = values.payload ?? JSON.stringify({ "notification-content-id": values.content ?? "" });
  const text = h("textarea", { id: "payload", spellcheck: "false", rows: 4 }, payload);
  const id = h("input", { id: "content", value: values.content ?? "", size: 34, spellcheck: "false" });
  const device = h("input", { id: "device", value: values.device ?? "", size: 12 });
  const when = h("input", { id: "at", type: "datetime-local", value: values.when ?? "" });
  const priority = h("select", { id: "priority", onchange: () => explain(true) },
    ...[10, 5, 1].map((one) => h("option", { value: one, selected: String(one) === String(values.priority ?? 10) }, one)));
  const broadcast = h("input", { id: "broadcast", type: "checkbox", checked: values.broadcast === "true",
    onchange: () => explain(true) });
  const head = h("section", { "aria-live": "polite", "aria-label": "Decision" });
  const rules = h("section", { "aria-label": "Rules" });
  const path = (name, more) => `/v1/applications/${at(values.application)}/${name}${query(more)}`;
  const scope = () => ({ device: device.value, broadcast: broadcast.checked ? "true" : "" });
  const fields = () => (priority.value === "10" ? {} : { "apns-priority": priority.value });
  const moment = () => (when.value ? { at: new Date(when.value).toISOString() } : {});
  // The answer about sessions and rules as they are, and the one on show.
  let base;
  let current;
  let asked = 0;
  let inUse = [];

  /** The question of the form, as a trial asks it. */
  function question() {
    const notification = { payload: JSON.parse(text.value) };
    if (base?.targetContentIdentifier) notification.contentId = base.targetContentIdentifier;
    if (device.value) notification.device = device.value;
    if (priority.value !== "10") notification.priority = Number(priority.value);
    return { notification, ...moment() };
  }

  const cards = ladder((session) => {
    const editor = h("div");
    return [h("p", {}, h("button", { type: "button", "aria-label": `Edit the conditions of ${session}`,
      onclick: () => trial.editConditions(session, editor) }, "Edit its conditions")), editor];
  });

  function show(found) {
    // Rules leave predicates as they are, and the trial of rules does not show them part by part.
    const parts = new Map(base.candidates.map((one) => [one.session, one]));
    const candidates = found.candidates.map(({ ...one }) => {
      const { canParts, prefersParts } = parts.get(one.session) ?? {};
      return { canParts, prefersParts, ...one };
    });
    current = { ...found, candidates };
    head.replaceChildren(...verdict(current));
    cards.show(current, found === base ? null : base);
  }

  const restore = () => { if (base) show(base); };

  /** Shows the decision about the form; with `keepsTrial` an open trial goes on. */
  async function explain(keepsTrial = false) {
    if (!values.application) {
      head.replaceChildren(h("p", { class: "empty" }, "There is no application yet: routerd applications put com.example.Gallery '{}'"));
      return;
    }
    if (!keepsTrial) trial.close();
    const number = ++asked;
    try {
      const found = await call("POST", path("explain", { ...scope(), priority: priority.value, parts: "true", ...moment() }), text.value, signal);
      if (number !== asked) return;
      base = found;
      if (trial.open) return trial.run();
      show(base);
      await showRules();
    } catch (fault) {
      if (isLeft(fault) || number !== asked) return;
      trial.close();
      cards.clear();
      rules.replaceChildren();
      head.replaceChildren(h("p", { class: "bad", id: "refused" }, fault.message));
    }
  }

  async function showRules() {
    try {
      inUse = (await get("/v1/rules", signal)).rules;
    } catch (fault) {
      if (isLeft(fault)) return;
      rules.replaceChildren(h("h2", {}, "Rules"), h("p", { class: "soft" }, fault.message));
      return;
    }
    const added = h("div");
    rules.replaceChildren(h("h2", {}, "Rules"),
      inUse.length ? "" : h("p", { class: "soft" }, "No rule is in use: tier, state and recency decide."),
      ...inUse.map((rule, index) => {
        const editor = h("div");
        return h("article", { class: "card", "data-rule": rule.name ?? rule.id },
          h("h3", {}, rule.name ?? rule.id, " ", rule.mode === "shadow" ? h("span", { class: "tag" }, "shadow") : ""),
          h("p", {}, h("code", {}, rule.when ?? JSON.stringify(rule)), rule.then ? [" → ", h("b", {}, inJSON(rule.then))] : "",
            rule.reason ? h("span", { class: "soft" }, ` – ${rule.reason}`) : ""),
          h("p", {}, h("button", { type: "button", "aria-label": `Edit the rule ${rule.name ?? rule.id}`,
            onclick: () => trial.editRule(inUse, index, editor) }, "Edit the rule")), editor);
      }),
      h("p", {}, h("button", { type: "button", onclick: () => trial.editRule(inUse, inUse.length, added) }, "Try a new rule")), added);
  }

  const trial = trials({
    application: values.application, question, broadcast: () => (base?.receivers ? "true" : ""), show,
    change: (found) => change(base, found), restore, explain,
  }, signal);

  async function takeLast() {
    const list = await get(`/v1/notifications${query({ application: values.application, type: "scene.notification", limit: 1 })}`, signal);
    if (!list.notifications.length) return toast("There is no notification yet.");
    const whole = await get(`/v1/notifications/${at(list.notifications[0].id)}`, signal);
    // A payload of another type is none that a sender of JSON can post: its content id stands in for it.
    const isJSON = whole.payload !== undefined;
    id.value = whole.targetContentIdentifier ?? "";
    text.value = JSON.stringify(isJSON ? whole.payload : { "notification-content-id": id.value }, null, 1);
    if (!isJSON) toast(`The payload of the last notification is ${whole.payloadContentType}: its content id stands in for it.`);
    device.value = whole.device ?? "";
    priority.value = whole.priority;
    await explain();
  }

  id.addEventListener("input", () => {
    let body = {};
    try { body = JSON.parse(text.value); } catch { /* The text is replaced. */ }
    text.value = JSON.stringify({ ...body, "notification-content-id": id.value });
  });
  const send = () => doing(async () => {
    const sent = await call("POST", path("notifications", scope()), text.value, undefined, fields());
    const all = sent.notifications ?? [sent];
    head.prepend(h("p", { role: "status" }, "Sent: ", all.map((one, index) => [index ? ", " : "",
      link("notification", { id: one.id, application: values.application }, one.id), " to ",
      h("b", {}, one.decision.session ?? one.decision.tier)]), "."));
  });
  const share = () => {
    const { session, conditions } = trial.open ?? {};
    const tried = conditions ? { try: session, can: conditions()[can], prefers: conditions()[prefers],
      level: conditions().preferenceLevel } : {};
    copy(`${location.origin}/console/#/route${query({
      application: values.application, payload: text.value, content: id.value, ...scope(), priority: priority.value === "10" ? "" : priority.value,
      when: when.value, ...tried })}`);
  };
  const save = () => doing(async () => {
    const file = await test(current, question(), values.application, trial.open, inUse, signal);
    showText("Test of this decision", "A test for the rules' file, run by: routerd rules test route-test.json",
      JSON.stringify(file, null, 1), "route-test.json");
  });

  content.append(
    h("h1", {}, "Route"),
    h("form", { onsubmit: (event) => { event.preventDefault(); explain(); } },
      h("div", { class: "row" }, h("label", { class: "wide" }, "Content id", id), h("label", {}, "Device", device),
        h("label", {}, "Priority", priority), h("label", {}, "At", when), h("label", { class: "check" }, broadcast, " Broadcast")),
      h("label", { class: "block" }, "Payload", text),
      h("p", { class: "row" }, h("button", { class: "main" }, "Explain"),
        h("button", { type: "button", onclick: () => doing(takeLast) }, "Last notification"),
        h("button", { type: "button", onclick: send }, "Send it"),
        h("button", { type: "button", onclick: save }, "Save as test"),
        h("button", { type: "button", onclick: () =>
          copy(curl("POST", path("notifications", scope()), text.value, fields())) }, "Copy as curl"),
        h("button", { type: "button", onclick: share }, "Copy a link"))),
    trial.bar, head, cards.place, rules);
  await explain();
  if (values.try && base) {
    const place = cards.place.querySelector(`[data-session="${CSS.escape(values.try)}"] > :last-child`);
    if (place) await trial.editConditions(values.try, place, values);
  }
}

const inJSON = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** A file for `routerd rules test`: the rules, and a test that expects the decision on show. */
async function test(found, question, application, trial, inUse, signal) {
  if (!found) throw new Error("There is no decision to save.");
  if (found.receivers) throw new Error("A test expects one receiver: leave out Broadcast.");
  const expected = outcome(found.decision);
  if (expected === "newSession") throw new Error("A test has no manifest, so it cannot expect a new session.");
  const all = (await get(`/v1/applications/${at(application)}/sessions?limit=1000`, signal)).sessions;
  const known = new Map(all.map((one) => [one.id, one]));
  const now = new Date(question.at ?? Date.now());
  // A test creates its sessions in the order of the list, and the one created first wins a draw: best first keeps the order.
  const sessions = found.candidates.filter((one) => known.has(one.session)).map(({ session, lastActivatedAt }) => {
    const { role, configuration, device, activationState, activationConditions } = known.get(session);
    const seconds = lastActivatedAt && Math.max(0, Math.round((now - new Date(lastActivatedAt)) / 1000));
    return {
      id: session, role, activationState, ...(configuration ? { configuration } : {}), ...(device ? { device } : {}),
      activationConditions: trial?.session === session ? trial.conditions() : activationConditions,
      ...(lastActivatedAt ? { activeSecondsAgo: seconds } : {}),
    };
  });
  const { session, heldUntil } = found.decision;
  return {
    rules: trial?.rules?.() ?? inUse,
    tests: [{
      name: `${found.targetContentIdentifier ?? "no content"} goes to ${session ?? expected}`, at: now.toISOString(), application,
      notification: question.notification, sessions,
      expect: { outcome: expected, ...(session ? { session } : {}), ...(heldUntil ? { until: heldUntil } : {}) },
    }],
  };
}
