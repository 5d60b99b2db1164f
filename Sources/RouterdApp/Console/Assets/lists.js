// Pages that show lists of the daemon, and act on their rows.
import { ago, at, call, countdown, doing, get, h, json, link, listen, query, row, table, time } from "./base.js";
import { list } from "./notification.js";

const again = () => dispatchEvent(new Event("hashchange"));

/** The sentence that says what a lane waits for. */
export function sentence(lane) {
  const { breaker } = lane;
  if (lane.disabled) return `The session is disabled: its endpoint answered ${lane.disabled}.`;
  if (breaker.state === "open") return ["The breaker of the endpoint is open (", breaker.reason ?? "no reason", "); a probe goes ",
    breaker.nextProbeAt ? countdown(breaker.nextProbeAt) : "soon", "."];
  if (breaker.state === "halfOpen") return "The endpoint is being probed; the others wait for the answer.";
  if (breaker.gatedUntil && new Date(breaker.gatedUntil) > Date.now()) {
    return ["The endpoint asked for patience; it is tried again ", countdown(breaker.gatedUntil), "."];
  }
  const words = {
    endpoint: "The endpoint recovers or asked for patience: it gets few attempts at a time.",
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
        h("span", {}, sentence(lane)), lane.waiting, lane.inFlight, ago(lane.oldestReceivedAt),
        h("span", { class: `tag ${lane.breaker.state === "closed" ? "good" : "bad"}` }, lane.breaker.state),
        h("button", { type: "button", onclick: () => doing(async () => { await resume(lane); await show(); },
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

export async function overview(content, values, signal) {
  const figures = h("div", { class: "figures" });
  const plot = h("div");
  const rates = [];
  let before;
  content.append(h("h1", {}, "Overview"), figures, h("h2", {}, "Accepted a second"), plot);
  async function show() {
    const status = await get("/v1/status", signal);
    const { accepted, unaccounted, ...rest } = status.notifications;
    if (before) rates.push(Math.max(0, (accepted - before.accepted) / ((performance.now() - before.at) / 1000)));
    before = { accepted, at: performance.now() };
    const shown = { accepted, unaccounted, ...rest, sessions: status.sessions, lanes: status.lanes,
      "in flight": status.inFlight, "decision p99 µs": Math.round((status.planning.nanosecondsP99 ?? 0) / 1000) };
    figures.replaceChildren(...Object.entries(shown).map(([name, value]) => h("div", {},
      h("b", { class: (name === "unaccounted" || name === "deadLettered") && value ? "bad" : "" },
        value.toLocaleString()), h("span", { class: "soft" }, name))));
    draw(plot, rates.slice(-120));
  }
  await show();
  const timer = setInterval(() => show().catch(() => {}), 1000);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function draw(place, values) {
  const most = Math.max(1, ...values);
  const points = values.map((value, index) => `${(index / 119) * 100},${38 - (value / most) * 34}`).join(" ");
  const label = `${(values.at(-1) ?? 0).toFixed(1)} now, at most ${Math.max(0, ...values).toFixed(1)}`;
  place.innerHTML = `<svg class="plot" viewBox="0 0 100 40" preserveAspectRatio="none" role="img"><polyline/></svg>`;
  place.firstChild.setAttribute("aria-label", label);
  place.querySelector("polyline").setAttribute("points", points);
  place.append(h("p", { class: "soft" }, label));
}

export async function live(content, values, signal) {
  const type = h("input", { value: values.type ?? "", placeholder: "scene.*", size: 26 });
  const session = h("input", { value: values.session ?? "", size: 14 });
  const rows = h("tbody", { id: "events" });
  const told = h("p", { class: "soft", role: "status" }, "Connecting …");
  let isPaused = false;
  content.append(h("h1", {}, "Live"),
    h("form", { class: "row", onsubmit: (event) => {
      event.preventDefault();
      location.hash = `#/live${query({ application: values.application, type: type.value, session: session.value })}`;
    } }, h("label", {}, "Type", type), h("label", {}, "Session", session), h("button", { class: "main" }, "Filter"),
    h("button", { type: "button", onclick: (event) => {
      isPaused = !isPaused;
      event.target.textContent = isPaused ? "Go on" : "Pause";
    } }, "Pause")),
    told, h("div", { class: "scroll" }, h("table", {}, rows)));
  listen({ application: values.application, type: values.type, session: values.session }, signal, (event) => {
    told.textContent = "Listening: events appear as they happen.";
    if (!event || isPaused) return;
    const { id, type: name, time: when, application, session: of, notification, ...rest } = event;
    rows.prepend(h("tr", { class: "fresh" }, h("td", {}, time(when)), h("td", {}, h("code", {}, name)),
      h("td", {}, of ?? ""), h("td", {}, notification ? link("notification", { id: notification, application }, notification) : ""),
      h("td", { class: "soft" }, Object.keys(rest).length ? JSON.stringify(rest) : "")));
    while (rows.rows.length > 1000) rows.lastChild.remove();
  });
}

export async function deadLetters(content, values, signal) {
  const filter = { application: values.application, state: "deadLettered" };
  const found = await get(`/v1/notifications${query({ ...filter, limit: 100 })}`, signal);
  const told = h("p", { role: "status" });
  const rate = h("input", { type: "number", min: 1, max: 1000, value: 50 });
  const replay = (dryRun) => doing(async () => {
    const answer = await call("POST", "/v1/replays", { ...filter, perSecond: Number(rate.value), dryRun });
    told.textContent = dryRun ? `${answer.matched} would be sent again.`
      : `Replay ${answer.id} sends ${answer.matched} again.`;
  });
  content.append(h("h1", {}, "Dead letters"),
    h("p", { class: "row" }, h("label", {}, "A second", rate),
      h("button", { type: "button", onclick: () => replay(true) }, "Count only"),
      h("button", { class: "main", type: "button", onclick: () => replay(false) }, "Replay all")),
    told, list(found.notifications));
}

export async function sessions(content, values, signal) {
  const found = values.application
    ? (await get(`/v1/applications/${at(values.application)}/sessions?limit=200`, signal)).sessions : [];
  const can = (one) => one.activationConditions.canActivateForTargetContentIdentifierPredicate;
  const open = found.filter((one) => can(one) === "TRUEPREDICATE").length;
  content.append(h("h1", {}, "Sessions"), open > 1 ? h("p", { class: "wait" },
    `${open} sessions can show every content (TRUEPREDICATE): among them the more active one wins.`) : "",
  table(["Session", "State", "Can", "Prefers", "Level", "Lease", ""], found.map((one) => row(
    link("notifications", { application: one.application, session: one.id }, one.id),
    one.disabled ? h("span", { class: "bad" }, one.disabled) : one.activationState, h("code", {}, can(one)),
    h("code", {}, one.activationConditions.prefersToActivateForTargetContentIdentifierPredicate),
    one.activationConditions.preferenceLevel, one.leaseExpiresAt ? countdown(one.leaseExpiresAt) : "–",
    h("button", { type: "button", onclick: () => doing(() =>
      call("POST", `/v1/applications/${at(one.application)}/sessions/${at(one.id)}/test`),
    (attempt) => `The endpoint answered ${attempt.status ?? attempt.error?.message}.`) }, "Test"))),
  "The application has no session yet."));
}

export async function sources(content, values, signal) {
  const found = (await get(`/v1/sources${query({ application: values.application, limit: 200 })}`, signal)).sources;
  content.append(h("h1", {}, "Sources"), table(["Source", "Kind", "Content id", "Filter", "URL"],
    found.map((one) => row(one.id, one.kind, h("code", {}, JSON.stringify(one.contentId) ?? ""),
      h("code", {}, one.filter ?? ""), h("code", {}, `${location.origin}${one.url}`))),
    "No source turns requests of other systems into notifications of this application."));
}

export async function gates(content, values, signal) {
  const path = `/v1/applications/${at(values.application ?? "")}/gates`;
  const found = values.application ? (await get(path, signal)).gates : [];
  content.append(h("h1", {}, "Gates"), table(["Device", "State", "Responsible", "Held", "Term", ""],
    found.map((one) => row(one.device ?? "–", one.state, one.responsible ?? "–", one.held, one.term,
      h("button", { class: "bad", type: "button", onclick: () => confirm("Reset this gate?") && doing(() =>
        call("POST", `/v1/applications/${at(values.application)}/gate/reset`, { device: one.device }).then(again),
      "The gate is reset.") }, "Reset"))), "The application has no gate with any event."));
}

export async function applications(content, _, signal) {
  const found = (await get("/v1/applications?limit=200", signal)).applications;
  content.append(h("h1", {}, "Applications"), found.length ? "" : h("p", { class: "empty" },
    "There is no application yet: routerd applications put com.example.Gallery '{}'"),
  found.map((one) => h("details", { class: "card" }, h("summary", {}, h("b", {}, one.id), " ", one.displayName, " ",
    h("span", { class: "tag" }, one.activationState)), json(one))));
}
