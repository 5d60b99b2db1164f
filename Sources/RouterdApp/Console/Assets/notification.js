// Notifications: a search, and the story of one.
import { at, away, call, copy, countdown, curl, doing, get, h, isLeft, json, link, query, row, span, state, table, time } from "./base.js";

const states = ["held", "waiting", "inFlight", "delivered", "expired", "deadLettered", "superseded", "cancelled"];

export async function notifications(content, values, signal, extra = () => []) {
  const field = (name, label, size) => h("label", {}, label, h("input", { name, value: values[name] ?? "", size }));
  const form = h("form", { class: "row", onsubmit: (event) => {
    event.preventDefault();
    const found = Object.fromEntries(new FormData(event.target));
    location.hash = `#/notifications${query({ application: values.application, ...found })}`;
  } }, field("contentId", "Content id", 26), field("session", "Session", 14),
  h("label", {}, "State", h("select", { name: "state" }, h("option", { value: "" }, "any"),
    states.map((name) => h("option", { selected: values.state === name }, name)))),
  h("button", { class: "main" }, "Search"));
  const { contentId, session, state: wanted, cursor, application } = values;
  const found = await get(`/v1/notifications${query({
    application, contentId, session, state: wanted, cursor, limit: 50 })}`, signal);
  content.append(h("h1", {}, "Notifications"), form, ...extra(), list(found.notifications),
    found.cursor ? h("p", {}, link("notifications", { ...values, cursor: found.cursor }, "Older ones")) : "");
}

export function list(found, empty = "No notification yet, or none that fits the fields above.") {
  return table(["Received", "State", "Content", "Session", "Reason"], found.map((one) => row(
    link("notification", { id: one.id, application: one.application }, time(one.receivedAt)), state(one.state),
    h("code", {}, one.targetContentIdentifier ?? one.type), one.decision?.session ?? one.session ?? "–",
    h("div", { class: "soft sentence" }, one.broadcast ? h("span", { class: "tag" }, "broadcast") : "", " ",
      one.reason ?? one.decision?.reason ?? ""))),
  empty);
}

export async function notification(content, values, signal) {
  const path = `/v1/notifications/${at(values.id ?? "")}`;
  const one = await get(path, signal);
  // The address need not name the application, and then the field above shows the one chosen before.
  if (one.application !== values.application) return location.replace(`#/notification${query({ id: one.id, application: one.application })}`);
  const candidates = h("div", { id: "candidates" });
  const isSettled = one.settledAt != null;
  const again = () => doing(async () => {
    const sent = await call("POST", `${path}/replay`);
    location.hash = `#/notification${query({ id: sent.id, application: one.application })}`;
  });
  const cancel = () => doing(async () => {
    await call("POST", `${path}/cancel`);
    dispatchEvent(new Event("hashchange"));
  }, "Cancelled.");
  content.append(
    h("h1", {}, h("code", {}, one.targetContentIdentifier ?? one.type), " ", state(one.state)),
    h("p", { class: "row" },
      isSettled && one.decision ? h("button", { class: "main", type: "button", onclick: again }, "Replay") : "",
      isSettled ? "" : h("button", { class: "bad", type: "button", onclick: cancel }, "Cancel"),
      h("button", { type: "button", onclick: () => copy(curl("GET", path)) }, "Copy as curl"),
      one.payload && one.decision ? link("route", {
        application: one.application, payload: JSON.stringify(one.payload), device: one.device,
        content: one.targetContentIdentifier, priority: one.priority }, "Route it again, without sending") : ""),
    h("h2", {}, "What happened"), h("ol", { class: "line" }, steps(one, candidates)),
    one.broadcast?.notifications ? receivers(one) : "",
    h("h2", {}, "Payload"), one.payload === undefined
      ? h("p", { class: "soft" }, `${one.payloadContentType}, in base64: ${one.payloadBase64}`) : json(one.payload),
    h("h2", {}, "Everything"), h("details", {}, h("summary", {}, "As the API shows it"), json(one)));
  if (one.decision) await judge(one, path, candidates, signal);
}

/** Shows the first candidates and why each but the best lost, as they are now: a decision keeps the reason and the vetoes alone. */
async function judge(one, path, place, signal) {
  try {
    const found = await get(`${path}/explain?limit=5`, signal);
    const chosen = found.receivers?.map((each) => each.session) ?? [found.decision.session];
    const { session } = one.decision;
    place.replaceChildren(h("details", { open: true }, h("summary", {}, "The first candidates as they are now"),
      found.receivers || found.decision.session === session ? "" : h("p", { class: "wait" }, "Decided now, it would go to ",
        h("b", {}, found.decision.session ?? "no session"), `: ${found.decision.reason}`),
      table(["Session", "Tier", "State", "Why"], found.candidates.map((each) => row(
        each.session === session ? h("b", {}, each.session) : each.session, each.tier ?? "–", [each.activationState, " ", away(each)],
        h("div", { class: "sentence" }, chosen.includes(each.session) ? h("span", { class: "good" }, "chosen") : each.reason))),
      "No session is in scope now."),
      found.sessionsInScope > found.candidates.length ? h("p", { class: "soft" },
        `${found.candidates.length} of ${found.sessionsInScope} sessions in scope; `, link("route", {
          application: one.application, device: one.device, content: one.targetContentIdentifier, priority: one.priority },
        "the page Route shows more")) : ""));
  } catch (fault) {
    if (!isLeft(fault)) place.replaceChildren(h("p", { class: "soft" }, `The candidates cannot be shown: ${fault.message}`));
  }
}

/** The reason why a notification is held, and until when. */
export function hold(one) {
  if (one.heldBy === "gate") return ["Held at the gate of ", h("b", {}, one.device ?? "the application"), ": it goes on when the gate opens."];
  if (one.heldUntil) return ["Held by a rule; it goes on ", countdown(one.heldUntil), ", at ", time(one.heldUntil), "."];
  return ["It is about to go on."];
}

/** The notifications of a broadcast, the one on show among them. */
function receivers({ id, application, broadcast }) {
  return h("section", {}, h("h2", {}, `Broadcast to ${broadcast.notifications.length} sessions`), table(["Session", "State"],
    broadcast.notifications.map((one) => row(
      one.id === id ? h("b", {}, one.session) : link("notification", { id: one.id, application }, one.session), state(one.state))), ""));
}

function steps(one, candidates) {
  const milliseconds = (value) => (value == null ? "–" : `${(value / 1000).toFixed(1)} ms`);
  const items = [h("li", {}, time(one.receivedAt), " accepted from ", h("code", {}, one.source),
    one.replayOf ? [", again for ", link("notification", { id: one.replayOf, application: one.application }, one.replayOf)] : "",
    one.session ? [", for ", h("b", {}, one.session)] : "",
    one.sequence == null ? "" : `: event ${one.sequence} of connection ${one.epoch}`)];
  if (one.decision) {
    items.push(h("li", {}, "decided: ", h("b", {}, one.decision.session ?? "no session"), " (", one.decision.tier,
      ") – ", one.decision.reason, (one.decision.vetoes ?? []).map((veto) =>
        h("p", { class: "wait" }, `${veto.session ?? "every other session"} was vetoed by ${veto.rule}: ${veto.reason}`)), candidates));
  }
  if (one.state === "held") items.push(h("li", { class: "wait" }, hold(one)));
  for (const attempt of one.attempts ?? []) {
    const isGood = attempt.status >= 200 && attempt.status < 300;
    items.push(h("li", {}, time(attempt.startedAt), ` attempt ${attempt.number} to ${attempt.session ?? "the delegate"}: `,
      h("b", { class: isGood ? "good" : "bad" }, attempt.status ?? attempt.error?.kind ?? "no answer"),
      ` in ${milliseconds(attempt.durations.totalMicroseconds)}`,
      h("div", { class: "soft" }, `look-up ${milliseconds(attempt.durations.nameLookupMicroseconds)}, connected `
        + `${milliseconds(attempt.durations.connectMicroseconds)}, first byte `
        + `${milliseconds(attempt.durations.firstByteMicroseconds)}`
        + `${attempt.connectionReused ? ", connection reused" : ""}`),
      attempt.error ? h("div", { class: "bad" }, attempt.error.message) : "",
      attempt.responseExcerpt ? h("pre", {}, attempt.responseExcerpt) : "",
      attempt.answerFault ? h("div", { class: "bad" }, attempt.answerFault) : ""));
  }
  if (one.nextAttemptAt) items.push(h("li", { class: "wait" }, "next attempt ", countdown(one.nextAttemptAt), ", at ",
    time(one.nextAttemptAt)));
  if (one.settledAt) {
    const seconds = (new Date(one.settledAt) - new Date(one.receivedAt)) / 1000;
    items.push(h("li", {}, time(one.settledAt), " ", state(one.state), ` after ${span(seconds)} `, one.reason ?? ""));
  }
  return items;
}
