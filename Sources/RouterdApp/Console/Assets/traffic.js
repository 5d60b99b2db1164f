// The live stream with filters, and the dead letters with their replays.
import { at, call, doing, get, h, headed, link, listen, query, refresh, row, table, time } from "./base.js";
import { list } from "./notification.js";

const types = ["notification.*", "attempt.ended", "notification.accepted", "notification.delivered", "notification.deadLettered",
  "session.*", "scene.*", "gate.*", "application.*"];
const most = 1000;

export async function live(content, values, signal) {
  const type = h("input", { id: "type", value: values.type ?? "", placeholder: "all", size: 24, list: "types" });
  const session = h("input", { id: "session", value: values.session ?? "", placeholder: "all", size: 14 });
  const contains = h("input", { id: "contains", value: "", placeholder: "any text", size: 18 });
  const failures = h("input", { id: "failures", type: "checkbox" });
  const rows = h("tbody", { id: "events" });
  const told = h("p", { class: "soft", role: "status" }, "Connecting …");
  const paused = [];
  let isPaused = false;
  let isConnected = false;

  const isShown = (one) => one.dataset.text.includes(contains.value.toLowerCase())
    && (!failures.checked || one.dataset.failed === "true");
  function filter() {
    for (const one of rows.rows) one.hidden = !isShown(one);
    tell();
  }
  function tell() {
    if (!isConnected) return;
    const number = [...rows.rows].filter((one) => !one.hidden).length;
    told.textContent = isPaused ? `Paused: ${paused.length} events are waiting.`
      : `Listening: ${number ? `${number} of ${rows.rows.length} events are shown` : "events appear as they happen"}.`;
  }
  function add(event) {
    const one = eventRow(event);
    one.hidden = !isShown(one);
    rows.prepend(one);
    while (rows.rows.length > most) rows.lastChild.remove();
  }
  contains.addEventListener("input", filter);
  failures.addEventListener("change", filter);

  content.append(h("h1", {}, "Live"),
    h("form", { class: "row", onsubmit: (event) => {
      event.preventDefault();
      location.hash = `#/live${query({ application: values.application, type: type.value, session: session.value })}`;
    } }, h("label", {}, "Type", type), h("datalist", { id: "types" }, types.map((name) => h("option", { value: name }))),
    h("label", {}, "Session", session), h("button", { class: "main" }, "Filter"),
    h("label", {}, "Contains", contains), h("label", { class: "check" }, failures, " Failures only"),
    h("button", { type: "button", "aria-pressed": "false", onclick: (event) => {
      isPaused = !isPaused;
      event.target.setAttribute("aria-pressed", isPaused);
      event.target.textContent = isPaused ? "Go on" : "Pause";
      if (!isPaused) paused.splice(0).forEach(add);
      tell();
    } }, "Pause"), h("button", { type: "button", onclick: () => { rows.replaceChildren(); tell(); } }, "Clear")),
    told, headed(["Time", "Type", "Session", "Notification", "Details"], rows));
  listen({ application: values.application, type: values.type, session: values.session }, signal, (event) => {
    isConnected = true;
    told.className = "soft";
    if (event && isPaused) {
      paused.push(event);
      if (paused.length > most) paused.shift();
    } else if (event) add(event);
    tell();
  }, (fault, isTriedAgain) => {
    isConnected = false;
    told.className = "bad";
    told.textContent = `No stream: ${fault}${isTriedAgain ? " It is asked for again." : ""}`;
  });
}

function eventRow(event) {
  const { id, type, time: when, application, session, notification, ...rest } = event;
  const isFailed = type === "notification.deadLettered" || type === "notification.expired" || type === "session.disabled"
    || (type === "attempt.ended" && !(event.attempt?.status >= 200 && event.attempt?.status < 300));
  return h("tr", { class: "fresh", "data-text": JSON.stringify(event).toLowerCase(), "data-failed": String(isFailed) },
    h("td", {}, time(when)), h("td", {}, h("code", { class: isFailed ? "bad" : "" }, type)), h("td", {}, session ?? ""),
    h("td", {}, notification ? link("notification", { id: notification, application }, notification) : ""),
    h("td", { class: "soft" }, details(rest)));
}

/** Members as `name value`, those of objects too. */
function details(members) {
  return Object.entries(members).filter(([name, value]) => name !== "webhook" && value != null).map(([name, value]) =>
    typeof value === "object" ? details(value) : `${name} ${value}`).filter(Boolean).join(", ");
}

export async function deadLetters(content, values, signal) {
  const { application, session, contentId, since, cursor } = values;
  const from = since ? new Date(since) : null;
  const isUnreadable = from !== null && Number.isNaN(from.valueOf());
  const filter = {
    application, state: "deadLettered", session, contentId, since: isUnreadable ? "" : from?.toISOString() };
  const found = await get(`/v1/notifications${query({ ...filter, cursor, limit: 100 })}`, signal);
  const told = h("p", { class: "soft", role: "status", id: "told" }, "Replay all follows a count, which sends nothing.");
  const course = h("div", { "aria-live": "polite" });
  const rate = h("input", { type: "number", min: 1, max: 1000, value: 50 });
  const field = (name, label, more) => h("label", {}, label, h("input", { name, value: values[name] ?? "", ...more }));
  const known = Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
  const replay = (dryRun) => doing(async () => {
    const answer = await call("POST", "/v1/replays", { ...known, perSecond: Number(rate.value), dryRun });
    told.textContent = dryRun ? `${answer.matched} would be sent again, in ${Math.ceil(answer.matched / answer.perSecond)} s.`
      : `Replay ${answer.id} sends ${answer.matched} again.`;
    start.disabled = !dryRun || answer.matched === 0;
    if (!dryRun) await follow();
  });
  const start = h("button", { class: "main", type: "button", disabled: true, onclick: () => replay(false) }, "Replay all");

  /** Shows the replays until none of them runs. */
  async function follow() {
    const { replays } = await get("/v1/replays?limit=20", signal);
    const ours = replays.filter((one) => !application || one.filter.application === application);
    refresh(course, ours.length ? h("h2", {}, "Replays") : "", ours.length ? table(
      ["Begun", "State", "Of", "Sent again", "Skipped", "Per second", ""], ours.map((one) => row(
        time(one.createdAt), h("span", { class: `tag ${one.state === "running" ? "wait" : "good"}` }, one.state), one.matched,
        one.replayed, one.skipped, one.perSecond, one.state === "running" ? h("button", { class: "bad", type: "button",
          "aria-label": `Cancel the replay ${one.id}`,
          onclick: () => doing(() => call("POST", `/v1/replays/${at(one.id)}/cancel`).then(follow), "Cancelled.") }, "Cancel") : ""))) : "");
    if (ours.some((one) => one.state === "running")) {
      const timer = setTimeout(() => follow().catch(() => {}), 1000);
      signal.addEventListener("abort", () => clearTimeout(timer));
    }
  }

  content.append(h("h1", {}, "Dead letters"),
    h("form", { class: "row", onsubmit: (event) => {
      event.preventDefault();
      location.hash = `#/dead${query({ application, ...Object.fromEntries(new FormData(event.target)) })}`;
    } }, field("session", "Session", { size: 14 }), field("contentId", "Content id", { size: 24 }),
    field("since", "Since", { type: "datetime-local", value: isUnreadable ? "" : since ?? "", "aria-invalid": isUnreadable ? "true" : null,
      "aria-describedby": isUnreadable ? "since-fault" : null }), h("button", {}, "Filter")),
    isUnreadable ? h("p", { class: "bad", id: "since-fault" },
      `The address has no time in since, but ${JSON.stringify(since)}: the dead letters of all times are shown.`) : "",
    h("p", { class: "row" }, h("label", {}, "Per second", rate),
      h("button", { type: "button", onclick: () => replay(true) }, "Count only"), start),
    told, list(found.notifications, "No notification was given up."),
    found.cursor ? h("p", {}, link("dead", { ...values, cursor: found.cursor }, "Older ones")) : "", course);
  await follow();
}
