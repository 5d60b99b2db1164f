// Where a notification goes, and why: the sessions as a ladder, best on top.
import { at, call, copy, curl, doing, get, h, isLeft, link, query, time, toast } from "./base.js";

const can = "canActivateForTargetContentIdentifierPredicate";
const prefers = "prefersToActivateForTargetContentIdentifierPredicate";

export async function route(content, values, signal) {
  const payload = values.payload ?? JSON.stringify({ "notification-content-id": values.content ?? "" });
  const text = h("textarea", { id: "payload", spellcheck: "false", rows: 4 }, payload);
  const id = h("input", { id: "content", value: values.content ?? "", size: 34, spellcheck: "false" });
  const device = h("input", { id: "device", value: values.device ?? "", size: 12 });
  const when = h("input", { id: "at", type: "datetime-local", value: values.when ?? "" });
  const ladder = h("section", { "aria-live": "polite" });
  const path = (name, more) => `/v1/applications/${at(values.application)}/${name}${query(more)}`;
  const scope = () => ({ device: device.value });

  async function explain() {
    if (!values.application) {
      ladder.replaceChildren(h("p", { class: "empty" }, "Put an application first: routerd applications put …"));
      return;
    }
    const moment = when.value ? { at: new Date(when.value).toISOString() } : {};
    try {
      const found = await call("POST", path("explain", { ...scope(), parts: "true", ...moment }), text.value, signal);
      ladder.replaceChildren(...verdict(found), ...found.candidates.map((one) => card(one, found)));
    } catch (fault) {
      if (isLeft(fault)) return;
      ladder.replaceChildren(h("p", { class: "bad" }, fault.message));
    }
  }

  function card(one, found) {
    const isChosen = one.session === found.decision.session;
    const editor = h("div");
    return h("article", { class: `card ${isChosen ? "chosen" : ""}`, "data-session": one.session },
      h("h3", {}, one.session, " ", h("span", { class: "tag" }, one.tier ?? "no candidate"), " ",
        isChosen ? h("span", { class: "good" }, "chosen") : h("span", { class: "soft" }, one.reason)),
      h("p", { class: "soft" }, one.activationState, " · preference ", one.preferenceLevel, " · activated ",
        time(one.lastActivatedAt)),
      predicate("can", one.can, one.canParts), predicate("prefers", one.prefers, one.prefersParts),
      one.verdicts.map((said) => h("p", {}, h("code", {}, said.rule), " ", h("span", {
        class: said.verdict === "accept" ? "soft" : "wait" }, said.verdict), " ", said.reason ?? "")),
      h("p", {}, h("button", { type: "button", onclick: () => edit(one, editor) }, "Edit its conditions")), editor);
  }

  async function edit(one, place) {
    const target = `/v1/applications/${at(values.application)}/sessions/${at(one.session)}`;
    const session = await doing(() => get(target, signal));
    if (!session) return;
    const fields = [can, prefers].map((name) => h("textarea", { "aria-label": name, rows: 2, spellcheck: "false" },
      session.activationConditions[name]));
    const fault = h("pre", { class: "bad", hidden: true });
    place.replaceChildren(
      h("label", {}, "can", fields[0]), h("label", {}, "prefers", fields[1]), fault,
      h("button", { class: "main", type: "button", onclick: async () => {
        try {
          const conditions = { [can]: fields[0].value, [prefers]: fields[1].value };
          await call("PATCH", target, { activationConditions: conditions });
          toast(`The conditions of ${one.session} are changed.`);
          explain();
        } catch (problem) {
          fault.hidden = false;
          fault.textContent = `${problem.message}\n${problem.problem?.caret ?? ""}`;
        }
      } }, "Save"));
    fields[0].focus();
  }

  async function last() {
    const list = await get(`/v1/notifications${query({ application: values.application, limit: 50 })}`, signal);
    const newest = list.notifications.find((one) => one.type === "scene.notification");
    if (!newest) return toast("There is no notification yet.");
    const whole = await get(`/v1/notifications/${at(newest.id)}`, signal);
    text.value = JSON.stringify(whole.payload, null, 1);
    id.value = whole.targetContentIdentifier ?? "";
    device.value = whole.device ?? "";
    explain();
  }

  id.addEventListener("input", () => {
    let body = {};
    try { body = JSON.parse(text.value); } catch { /* The text is replaced. */ }
    text.value = JSON.stringify({ ...body, "notification-content-id": id.value });
  });
  const send = () => doing(async () => {
    const sent = await call("POST", path("notifications", scope()), text.value);
    ladder.prepend(h("p", { role: "status" }, "Sent: ", link("notification", { id: sent.id }, sent.id), ", to ",
      h("b", {}, sent.decision.session ?? sent.decision.tier), "."));
  });
  const share = () => copy(`${location.origin}/console/#/route${query({
    application: values.application, payload: text.value, device: device.value, when: when.value })}`);
  content.append(
    h("h1", {}, "Route"),
    h("form", { onsubmit: (event) => { event.preventDefault(); explain(); } },
      h("div", { class: "row" }, h("label", { class: "wide" }, "Content id", id), h("label", {}, "Device", device),
        h("label", {}, "At", when)),
      h("label", { class: "block" }, "Payload", text),
      h("p", { class: "row" }, h("button", { class: "main" }, "Explain"),
        h("button", { type: "button", onclick: () => doing(last) }, "Last notification"),
        h("button", { type: "button", onclick: send }, "Send it"),
        h("button", { type: "button", onclick: () =>
          copy(curl("POST", path("notifications", scope()), text.value)) }, "Copy as curl"),
        h("button", { type: "button", onclick: share }, "Copy a link"))),
    ladder);
  await explain();
}

function verdict(found) {
  const { decision, candidates } = found;
  const next = candidates.find((one) => one.tier && one.session !== decision.session);
  const goal = decision.heldUntil ? "held" : decision.dropped ? "dropped" : decision.session ?? "no session";
  return [
    h("h2", {}, "Goes to ", h("b", { id: "winner" }, goal), " ", h("span", { class: "tag" }, decision.tier)),
    h("p", {}, decision.reason, next ? `. The next one is ${next.session}: ${next.reason}.` : ""),
    h("p", { class: "soft" }, `${candidates.length} of ${found.sessionsInScope} sessions in scope.`),
  ];
}

function predicate(side, holds, parts) {
  if (holds == null) return h("p", { class: "soft" }, side, ": not asked, for no content is named");
  const shown = (parts ?? []).map((part) => part.holds == null ? part.text : h("span", {
    class: `part ${part.holds ? "yes" : "no"}`, title: part.holds ? "true" : "false" }, part.text));
  return h("p", {}, h("span", { class: holds ? "good" : "bad" }, `${side} ${holds ? "✓" : "✗"} `),
    h("code", {}, shown));
}
