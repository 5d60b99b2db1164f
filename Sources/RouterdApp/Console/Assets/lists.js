// Pages that show lists of the daemon, and act on their rows.
import { ago, at, call, countdown, doing, get, h, json, link, query, row, table, time } from "./base.js";

const again = () => dispatchEvent(new Event("hashchange"));

/** The sentence that says what a lane waits for. */
export function sentence(lane) {
  const { breaker } = lane;
  if (lane.disabled) return `The session is disabled: its endpoint answered ${lane.disabled}.`;
  if (breaker.state === "open") return ["The breaker of the endpoint is open (", breaker.reason ?? "no reason", "); a probe goes ",
    breaker.nextProbeAt ? countdown(breaker.nextProbeAt) : "soon", "."];
  if (breaker.state === "halfOpen") return "The endpoint is being probed; the others wait for the answer.";
  if (breaker.gatedUntil && new Date(breaker.gatedUntil) > Date.now()) {
    return ["The endpoint sent Retry-After; the next attempt goes ", countdown(breaker.gatedUntil), "."];
  }
  const words = {
    endpoint: "The endpoint recovers or sent Retry-After, and gets few attempts at a time.",
    consumer: "The receiver that connects out is not connected.",
    origin: "The host of the endpoint has as many attempts under way as it may have.",
    slowSlots: "Slow endpoints share a few slots, and all of them are taken.",
    share: "The application has its share of attempts under way.",
  };
  if (lane.waitsFor) return words[lane.waitsFor];
  if (lane.nextAttemptAt && new Date(lane.nextAttemptAt) > Date.now()) {
    return [`Attempt ${lane.attempts} failed; the next one goes `, countdown(lane.nextAttemptAt), "."];
  }
  if (lane.inFlight) return "An attempt is under way; the others wait for its answer, to keep their order.";
  return lane.waiting ? "It is about to be sent." : "Nothing waits.";
}

export async function lanes(content, values, signal) {
  const place = h("div");
  content.append(h("h1", {}, "Lanes"), place);
  async function show() {
    const found = (await get(`/v1/lanes${query({ application: values.application, limit: 200 })}`, signal)).lanes;
    place.replaceChildren(table(["Session", "Waits for", "Waiting", "In flight", "Oldest", "Breaker", ""],
      found.map((lane) => row(
        link("notifications", { application: lane.application, session: lane.session }, lane.session ?? "the delegate"),
        h("div", { class: "sentence" }, sentence(lane)), lane.waiting, lane.inFlight, ago(lane.oldestReceivedAt),
        h("span", { class: `tag ${lane.breaker.state === "closed" ? "good" : "bad"}` }, lane.breaker.state),
        h("button", { type: "button", "aria-label": `Resume ${lane.session ?? "the delegate"}`,
          onclick: () => doing(async () => { await resume(lane); await show(); },
          "Resumed: it is tried now.") }, "Resume"))),
      "No lane has anything to do: nothing waits, and no endpoint is in trouble."));
  }
  await show();
  const timer = setInterval(() => show().catch(() => {}), 3000);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function resume(lane) {
  if (lane.session === null) return call("POST", `/v1/applications/${at(lane.application)}/delegate/resume`);
  return call("POST", `/v1/lanes/${at(lane.session)}/resume${query({ application: lane.application })}`);
}

export async function sessions(content, values, signal) {
  const found = values.application ? await get(`/v1/applications/${at(values.application)}/sessions${query({
    limit: 200, cursor: values.cursor })}`, signal) : { sessions: [] };
  const can = (one) => one.activationConditions.canActivateForTargetContentIdentifierPredicate;
  const isOpen = (one) => can(one) === "TRUEPREDICATE" && !one.disabled;
  const open = found.sessions.filter(isOpen).length;
  content.append(h("h1", {}, "Sessions"), open > 1 ? h("p", { class: "warning", id: "open" },
    h("b", {}, `${open} of these ${found.sessions.length} sessions can show every content. `),
    "Their can predicate is TRUEPREDICATE, the default, so that state and recency choose among them. A predicate such as ",
    h("code", {}, "SELF BEGINSWITH 'photo/'"), " says which contents a session is for.") : "",
  table(["Session", "State", "Can", "Prefers", "Level", "Lease", ""], found.sessions.map((one) => row(
    link("notifications", { application: one.application, session: one.id }, one.id),
    one.disabled ? h("span", { class: "bad" }, `disabled: ${one.disabled}`) : one.activationState,
    [h("code", {}, can(one)), isOpen(one) && open > 1 ? [" ", h("span", { class: "tag wait" }, "every content")] : ""],
    h("code", {}, one.activationConditions.prefersToActivateForTargetContentIdentifierPredicate),
    one.activationConditions.preferenceLevel, one.leaseExpiresAt ? countdown(one.leaseExpiresAt) : "–",
    h("button", { type: "button", "aria-label": `Test ${one.id}`, onclick: () => doing(() =>
      call("POST", `/v1/applications/${at(one.application)}/sessions/${at(one.id)}/test`),
    (attempt) => `The endpoint answered ${attempt.status ?? attempt.error?.message}.`) }, "Test"))),
  "The application has no session yet."),
  found.cursor ? h("p", {}, link("sessions", { ...values, cursor: found.cursor }, "More sessions")) : "");
}

export async function sources(content, values, signal) {
  const found = (await get(`/v1/sources${query({ application: values.application, limit: 200 })}`, signal)).sources;
  content.append(h("h1", {}, "Sources"), table(["Source", "Kind", "Content id", "Filter", "URL"],
    found.map((one) => row(one.id, one.kind, one.contentId == null ? h("span", { class: "soft" }, "of the kind") : h("code", {}, JSON.stringify(one.contentId)),
      h("code", {}, one.filter ?? ""), h("code", {}, `${location.origin}${one.url}`))),
    "No source turns requests of other systems into notifications of this application."));
}

export async function gates(content, values, signal) {
  const path = `/v1/applications/${at(values.application ?? "")}/gates`;
  const found = values.application ? (await get(path, signal)).gates : [];
  content.append(h("h1", {}, "Gates"), table(["Device", "State", "Responsible", "Held", "Term", ""],
    found.map((one) => row(one.device ?? "–", one.state, one.responsible ?? "–", one.held, one.term,
      h("button", { class: "bad", type: "button", "aria-label": `Reset the gate of ${one.device ?? "no device"}`,
        onclick: () => confirm("Reset this gate?") && doing(() =>
        call("POST", `/v1/applications/${at(values.application)}/gate/reset`, { device: one.device }).then(again),
      "The gate is reset.") }, "Reset"))), "The application has no gate with any event."));
}

export async function applications(content, _, signal) {
  const found = (await get("/v1/applications?limit=200", signal)).applications;
  content.append(h("h1", {}, "Applications"), found.length ? "" : h("p", { class: "empty" },
    "There is no application yet: routerd applications put com.example.Gallery '{}'"),
  ...found.map((one) => h("details", { class: "card" }, h("summary", {}, h("b", {}, one.id), " ", one.displayName, " ",
    h("span", { class: "tag" }, one.activationState)), json(one))));
}

export async function plugins(content, _, signal) {
  const [found, rules] = await Promise.all([get("/v1/plugins", signal), get("/v1/rules", signal)]);
  const tone = (one) => (one.state === "ready" ? "good" : one.state === "quarantined" ? "bad" : "wait");
  const faults = (one) => Object.entries(one.faults ?? {}).filter(([, count]) => count).map(([name, count]) => `${name} ${count}`).join(", ");
  const enable = (one) => doing(() => call("POST", `/v1/plugins/${at(one.id)}/enable`).then(again), `${one.id} is in use again.`);
  content.append(h("h1", {}, "Plugins"),
    h("p", { class: "soft" }, `Version ${rules.version} of the rules is in use, from ${
      rules.origin === "request" ? "a request" : "the configuration"}; `, link("route", {}, "the page Route"), " tries out others."),
    table(["Plugin", "Kind", "Runs", "State", "Calls", "Faults", "Last fault", ""], found.plugins.map((one) => row(
      h("code", {}, one.id), one.kind, one.rung, h("span", { class: `tag ${tone(one)}` }, one.state), one.calls ?? "–",
      h("span", { class: "bad" }, faults(one)), one.lastFault ? [one.lastFault.fault, " ", time(one.lastFault.at)] : "–",
      one.state === "quarantined" ? h("button", { type: "button", "aria-label": `Use ${one.id} again`,
        onclick: () => enable(one) }, "Use again") : "")), "No plugin is in use beside the built-in ones."));
}
