// Pages that show lists of the daemon, and act on their rows.
import { hold } from "./notification.js";
import { ago, at, away, call, clock, countdown, doing, get, h, isLeft, json, link, query, refresh, row, table, time } from "./base.js";

const again = () => dispatchEvent(new Event("hashchange"));

/** The sentence that says what a lane waits for. */
export function sentence(lane) {
  const { breaker } = lane;
  if (lane.disabled === "gone") return "The endpoint answered 410, so that the session takes no part until it is put again or resumed.";
  if (breaker.state === "open") {
    // The delivery that probes has a time of its own, which may be later.
    const next = [breaker.nextProbeAt, lane.nextAttemptAt].filter(Boolean).sort((one, other) => new Date(one) - new Date(other)).at(-1);
    return ["The breaker is open (", breaker.reason ?? "no reason", "); a probe goes ", next ? countdown(next) : "soon", "."];
  }
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
  const told = h("p", { class: "bad", role: "status" });
  content.append(h("h1", {}, "Lanes"), told, place);
  /** The notifications that a rule or a gate holds: they are in no lane. */
  async function held() {
    try {
      const found = await get(`/v1/notifications${query({ application: values.application, state: "held", limit: 100 })}`, signal);
      if (!found.notifications.length) return [];
      return [h("h2", {}, "Held"), table(["Received", "Content", "Waits for"], found.notifications.map((one) => row(
        link("notification", { id: one.id, application: one.application }, time(one.receivedAt)),
        h("code", {}, one.targetContentIdentifier ?? one.type), h("div", { class: "sentence" }, hold(one),
          h("div", { class: "soft" }, one.decision?.reason ?? "")))), ""),
      found.cursor ? h("p", {}, link("notifications", { application: values.application, state: "held" }, "All of them")) : ""];
    } catch (fault) {
      if (isLeft(fault) || fault.problem?.code !== "scope-missing") throw fault;
      return [h("p", { class: "soft" }, "This key may not list the notifications that a rule or a gate holds.")];
    }
  }
  async function show() {
    const [{ lanes: found }, holds] = await Promise.all([
      get(`/v1/lanes${query({ application: values.application, limit: 200 })}`, signal), held()]);
    refresh(place, table(["Session", "Waits for", "Waiting", "In flight", "Oldest", "Breaker", ""],
      found.map((lane) => row(
        link("notifications", { application: lane.application, session: lane.session }, lane.session ?? "the delegate"),
        h("div", { class: "sentence" }, sentence(lane)), lane.waiting, lane.inFlight,
        h("time", { datetime: lane.oldestReceivedAt }, ago(lane.oldestReceivedAt)),
        h("span", { class: `tag ${lane.breaker.state === "closed" ? "good" : "bad"}` }, lane.breaker.state),
        h("button", { type: "button", "aria-label": `Resume ${lane.session ?? "the delegate"}`,
          onclick: () => doing(async () => { await resume(lane); await show(); },
          "Resumed: it is tried now.") }, "Resume"))),
      holds.length ? "No lane has anything to do." : "No lane has anything to do: nothing waits, and no endpoint is in trouble."),
    ...holds);
  }
  await show();
  let seen = new Date();
  const timer = setInterval(() => show().then(() => { seen = new Date(); told.textContent = ""; }, (fault) => {
    if (!signal.aborted) told.textContent = `As it was at ${clock(seen)}: ${fault.message}`;
  }), 3000);
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
    [link("notifications", { application: one.application, session: one.id }, one.id),
      one.device ? h("div", { class: "soft" }, `on ${one.device}`) : ""], part(one),
    [h("code", {}, can(one)), isOpen(one) && open > 1 ? [" ", h("span", { class: "tag wait" }, "every content")] : ""],
    h("code", {}, one.activationConditions.prefersToActivateForTargetContentIdentifierPredicate),
    one.activationConditions.preferenceLevel, lease(one),
    one.endpoint?.stream ? h("span", { class: "soft" }, "connects out")
    : h("button", { type: "button", "aria-label": `Test ${one.id}`, onclick: () => doing(() =>
      call("POST", `/v1/applications/${at(one.application)}/sessions/${at(one.id)}/test`),
    (attempt) => attempt.status ? `The endpoint answered ${attempt.status}.`
      : `The endpoint did not answer: ${attempt.error?.message}.`) }, "Test"))),
  "The application has no session yet."),
  found.cursor ? h("p", {}, link("sessions", { ...values, cursor: found.cursor }, "More sessions")) : "");
}

/** The end of a lease; a session whose lease is over stays connected at a gate, and counts as silent. */
function lease({ leaseExpiresAt }) {
  if (!leaseExpiresAt) return "–";
  return new Date(leaseExpiresAt) > Date.now() ? countdown(leaseExpiresAt)
    : h("span", { class: "wait", title: `Its lease ended at ${leaseExpiresAt}.` }, "silent");
}

/** The state of a session, and why it takes no part in routing. */
function part(one) {
  const reason = one.disabled === "gone" ? h("div", { class: "bad" }, "gone: its endpoint answered 410")
    : one.disabled ? h("span", { class: "tag", title: "It takes no part in routing." }, one.disabled)
    : one.applicationScreen && one.applicationScreen !== "app" ? h("span", { class: "tag", title: "Its screen" }, one.applicationScreen) : "";
  return one.disabled === "observer" ? reason : [one.activationState, " ", away(one), " ", reason];
}

export async function sources(content, values, signal) {
  const found = (await get(`/v1/sources${query({ application: values.application, limit: 200 })}`, signal)).sources;
  content.append(h("h1", {}, "Sources"), table(["Source", "Kind", "Content id", "Filter", "URL"],
    found.map((one) => row(one.id, one.kind, one.contentId == null ? h("span", { class: "soft" }, "of the kind") : h("code", {},
      typeof one.contentId === "string" ? one.contentId : JSON.stringify(one.contentId)),
      h("code", {}, one.filter ?? ""), h("code", {}, `${location.origin}${one.url}`))),
    "No source turns requests of other systems into notifications of this application."));
}

export async function gates(content, values, signal) {
  const path = `/v1/applications/${at(values.application ?? "")}/gates${query({ limit: 200, cursor: values.cursor })}`;
  const found = values.application ? await get(path, signal) : { gates: [] };
  content.append(h("h1", {}, "Gates"), table(["Device", "State", "Responsible", "Course", "Held", "Term", ""],
    found.gates.map((one) => row(one.device ?? "–", one.state, one.responsible ?? "–",
      h("div", { class: "sentence" }, course(one), passcode(one, values.application, signal)), one.held, one.term,
      h("button", { class: "bad", type: "button", "aria-label": `Reset the gate of ${one.device ?? "no device"}`,
        onclick: () => confirm("Reset this gate?") && doing(() =>
        call("POST", `/v1/applications/${at(values.application)}/gate/reset`, { device: one.device }).then(again),
      "The gate is reset.") }, "Reset"))), "No gate of the application has had an event yet."),
  found.cursor ? h("p", {}, link("gates", { ...values, cursor: found.cursor }, "More gates")) : "");
}

/** How far a gate has come, its last failure, and the sessions that show the demo meanwhile. */
function course({ progress, failure, inDemo, demoSessions }) {
  const number = progress?.totalNumberOfSteps ? `, ${progress.currentStepNumber} of ${progress.totalNumberOfSteps}` : "";
  return [progress ? h("div", {}, `${progress.step}${number}`, progress.defaultMessage ? ` – ${progress.defaultMessage}` : "") : "",
    failure ? h("div", { class: "bad" }, `${failure.session} failed`,
      failure.reason ? `: ${failure.reason}` : "", failure.message ? ` – ${failure.message}` : "") : "",
    inDemo ? h("div", {}, "Demo in ", demoSessions.join(", "),
      inDemo > demoSessions.length ? ` and ${inDemo - demoSessions.length} more` : "") : ""];
}

/** The facts about the passcode of a gate, asked for when they are opened. */
function passcode({ device }, application, signal) {
  const facts = h("div", { class: "soft" });
  async function ask() {
    try {
      const found = await get(`/v1/applications/${at(application)}/gate/passcode${query({ device })}`, signal);
      facts.replaceChildren(...[
        found.isCreated ? ["Chosen ", time(found.chosenAt)] : ["None is chosen yet"],
        found.isCreated ? [found.hasDeviceKey ? "a device key stands in for it" : "without a device key"] : null,
        found.mustBeChanged ? ["it has to be changed"] : null,
        found.triesRemaining >= 0 ? [`${found.triesRemaining} tries remain`] : null,
        found.notBefore ? ["the next try ", countdown(found.notBefore)] : null,
        found.locksAt ? ["locks ", countdown(found.locksAt)] : null,
      ].filter(Boolean).flatMap((words, index) => [index ? "; " : "", ...words]), ".");
    } catch (fault) {
      facts.textContent = fault.message;
    }
  }
  return h("details", { ontoggle: (event) => event.target.open && ask() }, h("summary", {}, "Passcode"), facts);
}

export async function applications(content, _, signal) {
  const found = (await get("/v1/applications?limit=200", signal)).applications;
  content.append(h("h1", {}, "Applications"), found.length ? "" : h("p", { class: "empty" },
    "There is no application yet: routerd applications put com.example.Gallery '{}'"),
  ...found.map((one) => h("details", { class: "card" }, h("summary", {}, h("b", {}, one.id), " ", one.displayName, " ",
    h("span", { class: "tag" }, one.activationState),
    one.deleting ? [" ", h("span", { class: "tag wait" }, "is being deleted")] : ""), json(one))));
}

export async function keys(content, _, signal) {
  const found = (await get("/v1/keys", signal)).keys;
  const rights = { ingest: "sends and reads notifications", sessions: "registers sessions, reads lanes and streams", admin: "may do everything",
    read: "reads everything but deliveries", metrics: "reads metrics" };
  content.append(h("h1", {}, "Keys"),
    h("p", { class: "soft" }, "Keys of the configuration change at ", h("code", {}, "SIGHUP"), ", those of requests by ",
      h("code", {}, "PUT /v1/keys/{key}"), ". ", h("code", {}, "routerd keys new --name shop --scope ingest"), " prints a key and its entry."),
    table(["Key", "Rights", "Application", "Requests per second", "Origin"], found.map((one) => row(
      [h("b", {}, one.name), one.isCaller ? [" ", h("span", { class: "tag good" }, "this tab's")] : ""],
      one.scopes.map((scope) => h("div", {}, h("span", { class: "tag" }, scope), " ", h("span", { class: "soft" }, rights[scope]))),
      one.application ?? h("span", { class: "soft" }, "all"), one.requestsPerSecond ?? h("span", { class: "soft" }, "any number"),
      one.origin === "request" ? ["a request ", time(one.createdAt)] : "the configuration")),
    "There is no key: the daemon is in development mode, serves this machine alone, and every client may do everything."));
}

export async function changes(content, _, signal) {
  const found = (await get("/v1/changes?limit=200", signal)).changes;
  content.append(h("h1", {}, "Changes"),
    h("p", { class: "soft" }, "The last 200 changes of applications, sources, rules, keys and secrets by requests."),
    table(["Time", "Key", "Operation", "Application", "Resource"], found.map((one) => row(time(one.at),
      one.key ? h("b", {}, one.key) : h("span", { class: "soft" }, "development mode"), one.operation, one.application ?? "–",
      h("code", {}, one.resource))), "No request has changed a resource yet."));
}

export async function plugins(content, _, signal) {
  const [found, rules, status, program] = await Promise.all([get("/v1/plugins", signal), get("/v1/rules", signal),
    get("/v1/status", signal), get("/v1/plugin-manifests", signal)]);
  // The figures of observers are in the status.
  const observers = new Map((status.observers ?? []).map((one) => [one.id, one]));
  const calls = (one) => one.calls ?? observers.get(one.id)?.told ?? "–";
  const tone = (one) => (one.state === "ready" ? "good" : one.state === "quarantined" ? "bad" : "wait");
  const counted = (one) => {
    const { failed, missed, hangs } = observers.get(one.id) ?? {};
    return { ...one.faults, failed, missed, hangs: hangs ? "now" : 0 };
  };
  const faults = (one) => Object.entries(counted(one)).filter(([, count]) => count).map(([name, count]) => `${name} ${count}`).join(", ");
  const enable = (one) => doing(() => call("POST", `/v1/plugins/${at(one.id)}/enable`).then(again), `${one.id} is in use again.`);
  content.append(h("h1", {}, "Plugins"),
    h("p", { class: "soft" }, `Version ${rules.version} of the rules is in use, from ${
      rules.origin === "request" ? "a request" : "the configuration"}; `, link("route", {}, "the page Route"), " tries out others."),
    table(["Plugin", "Version", "Kind", "Runs", "State", "Calls", "Faults", "Last fault", ""], found.plugins.map((one) => row(
      h("code", {}, one.id), one.version ?? "–", one.kind, one.rung, [h("span", { class: `tag ${tone(one)}` }, one.state),
        one.quarantinedAt ? h("div", { class: "soft" }, "not asked since ", time(one.quarantinedAt)) : ""], calls(one),
      h("span", { class: "bad" }, faults(one)), one.lastFault ? [one.lastFault.fault, " ", time(one.lastFault.at)] : "–",
      one.state === "quarantined" ? h("button", { type: "button", "aria-label": `Use ${one.id} again`,
        onclick: () => enable(one) }, "Use again") : "")), "No plugin is in use beside the built-in ones."),
    h("h2", {}, "Plugins of this program"),
    ...program.manifests.map((one) => h("details", { class: "card" }, h("summary", {}, h("code", {}, one.id), " ", one.version, " ",
      h("span", { class: "tag" }, one.kind), " ", one.summary),
    h("p", { class: "soft" }, `Network: ${one.permissions.network ?? "none"}. Files: ${one.permissions.files ?? "none"}.`),
    table(["Field", "Type", "Default", "Meaning"], one.fields.map((field) => row(h("code", {}, field.name), field.type,
      field.required ? "required" : field.default === undefined ? "–" : JSON.stringify(field.default), field.summary)),
    "It has no fields."))));
}
