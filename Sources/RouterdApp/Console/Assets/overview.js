// The figures of the daemon, and their course since the page was opened.
import { ago, get, getText, h, query, span } from "./base.js";
import { plot, quantile, readMetrics } from "./plots.js";

const period = 2000;
const seconds = 300;
const duration = (value) => (value < 0.001 ? `${Math.round(value * 1e6)} µs` : value < 1 ? `${Number((value * 1000).toPrecision(3))} ms` : span(value));
const rate = (value) => `${Number(value.toPrecision(3)).toLocaleString("en")}/s`;
const count = (value) => value.toLocaleString("en");

// Readings stay while another page is shown, so that the plots go on with a gap.
const readings = [];

/** The sum of the metrics whose name, with the beginning of the labels, begins so. */
const sum = (values, start) => [...values].reduce((total, [name, value]) => total + (name.startsWith(start) ? value : 0), 0);

export async function overview(content, { application }, signal) {
  const figures = h("div", { class: "figures" });
  const told = h("p", { class: "soft", role: "status" });
  const plots = [
    [plot("Rates", ["accepted", "delivered", "failed attempts"], rate, seconds), (now, before, elapsed) => {
      const delivered = perSecond('routerd_attempts_total{status="2xx"', now, before, elapsed);
      return [perSecond("routerd_notifications_accepted_total", now, before, elapsed), delivered,
        Math.max(0, perSecond("routerd_attempts_total{", now, before, elapsed) - delivered)];
    }],
    [plot("Time to accept", ["median", "99 %"], duration, seconds), (now, before) =>
      [0.5, 0.99].map((part) => quantile("routerd_accept_seconds", part, before, now))],
    [plot("Time of an attempt", ["median", "99 %"], duration, seconds), (now, before) =>
      [0.5, 0.99].map((part) => quantile("routerd_attempt_seconds", part, before, now))],
    [plot("Wait before the first attempt", ["median", "99 %"], duration, seconds), (now, before) =>
      [0.5, 0.99].map((part) => quantile("routerd_queue_seconds", part, before, now))],
    [plot("Age of the oldest that waits", ["age"], duration, seconds), (now) => [now.get("oldest")]],
    [plot("Waiting", ["waiting", "held", "in flight"], count, seconds), (now) => [
      now.get('routerd_notifications{state="waiting"}'), now.get('routerd_notifications{state="held"}'),
      now.get("routerd_attempts_in_flight")]],
  ];
  const ours = h("div", { class: "figures", id: "ours" });
  content.append(h("h1", {}, "Overview"), ...(application ? [h("h2", {}, application), ours, h("h2", {}, "All applications")] : []),
    figures, told, h("div", { class: "plots" }, plots.map(([one]) => one.element)));

  async function show() {
    const [status, metrics, lanes, own] = await Promise.all([
      get("/v1/status", signal), getText("/metrics", signal), get("/v1/lanes?limit=1000", signal),
      application ? get(`/v1/lanes${query({ application, limit: 1000 })}`, signal) : null]);
    if (own) fillOwn(ours, own);
    const values = readMetrics(metrics);
    const oldest = lanes.lanes.map((lane) => Date.parse(lane.oldestReceivedAt)).filter((time) => time > 0);
    values.set("oldest", oldest.length ? Math.max(0, (Date.now() - Math.min(...oldest)) / 1000) : 0);
    readings.push({ at: Date.now(), values });
    while (readings[0].at < Date.now() - seconds * 1000 - period) readings.shift();
    fill(figures, status);
    for (const [one, read] of plots) one.draw(samples(read), Date.now());
    told.textContent = "";
  }
  await show();
  const timer = setInterval(() => show().catch((fault) => {
    if (!signal.aborted) told.textContent = `No figures: ${fault.message}`;
  }), period);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function samples(read) {
  return readings.map(({ at, values }, index) => {
    const before = readings[index - 1];
    // The first reading has no rates yet.
    if (!before) return { at, values: read(values, values, 1) };
    const elapsed = (at - before.at) / 1000;
    // A restart of the daemon or a time away is a gap.
    const isGap = elapsed > 4 * period / 1000
      || values.get("routerd_notifications_accepted_total") < before.values.get("routerd_notifications_accepted_total");
    return { at, values: isGap ? read(values, values, 1).map(() => null) : read(values, before.values, elapsed) };
  });
}

const perSecond = (name, now, before, elapsed) => Math.max(0, (sum(now, name) - sum(before, name)) / elapsed);

/** The figures of the chosen application, which its lanes have; those of notifications are of all applications. */
function fillOwn(place, { lanes, cursor }) {
  const total = (name) => lanes.reduce((sum, lane) => sum + lane[name], 0);
  const oldest = lanes.map((lane) => lane.oldestReceivedAt).filter(Boolean).sort((one, other) => new Date(one) - new Date(other))[0];
  const broken = lanes.filter((lane) => lane.breaker.state !== "closed").length;
  const shown = { lanes: `${count(lanes.length)}${cursor ? " or more" : ""}`, waiting: count(total("waiting")),
    "in flight": count(total("inFlight")), "oldest that waits": oldest ? ago(oldest) : "–", "endpoints in trouble": count(broken) };
  place.replaceChildren(...Object.entries(shown).map(([name, value]) => h("div", {},
    h("b", { class: name === "endpoints in trouble" && broken ? "bad" : "" }, value), h("span", { class: "soft" }, name))));
}

function fill(place, status) {
  const { accepted, unaccounted, ...rest } = status.notifications;
  const shown = { accepted, unaccounted, ...rest, sessions: status.sessions, lanes: status.lanes, "in flight": status.inFlight,
    "decision, 99 %": status.planning.nanosecondsP99 == null ? "–" : duration(status.planning.nanosecondsP99 / 1e9) };
  place.replaceChildren(...Object.entries(shown).map(([name, value]) => h("div", {},
    h("b", { class: (name === "unaccounted" || name === "deadLettered") && value ? "bad" : "" }, value.toLocaleString("en")),
    h("span", { class: "soft" }, name === "deadLettered" ? "dead letters" : name))));
}
