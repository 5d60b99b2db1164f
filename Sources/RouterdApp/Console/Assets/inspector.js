// The page of `routerd receive --ui`: webhooks as they come, the answers to the next ones, and webhooks sent again.
import { call, copy, doing, h, headed, json, quoted, row, scrolled, time } from "./base.js";

const main = document.getElementById("main");
const told = document.getElementById("told");
const rows = h("tbody", { id: "webhooks" });
const detail = h("section", { id: "detail", "aria-live": "polite" });
const known = new Map();
let change = 0;
let keys = [];

// The answers to the next webhooks.

const field = (name, label, attributes) => h("label", {}, label, h("input", { name, id: name, ...attributes }));
const plan = h("form", { class: "row", id: "plan", onsubmit: (event) => {
  event.preventDefault();
  const { status, seconds, retry, times, body } = Object.fromEntries(new FormData(plan));
  const number = (text) => (text === "" ? null : Number(text));
  answer({ status: Number(status), delayMilliseconds: Math.round(Number(seconds) * 1000),
    retryAfterSeconds: number(retry), times: number(times), body });
} },
field("status", "Status", { type: "number", min: 200, max: 599, required: true }),
field("seconds", "After seconds", { type: "number", min: 0, max: 600, step: "any", required: true }),
field("retry", "Retry-After", { type: "number", min: 0, placeholder: "none" }),
field("times", "For webhooks", { type: "number", min: 1, placeholder: "all" }),
h("label", { class: "wide" }, "Body", h("input", { name: "body", id: "body", spellcheck: "false" })),
h("button", { class: "main" }, "Set the answer"));

const presets = [
  ["204", { status: 204 }], ["500", { status: 500 }], ["429, Retry-After 30", { status: 429, retryAfterSeconds: 30 }],
  ["410", { status: 410 }], ["200 after 20 s", { status: 200, delayMilliseconds: 20000 }],
];

function answer(values) {
  return doing(async () => {
    show(await call("PUT", "answer", { delayMilliseconds: 0, body: "", ...values }));
    fill(values);
  }, "The next webhooks get this answer.");
}

function fill(values) {
  plan.elements.status.value = values.status;
  plan.elements.seconds.value = (values.delayMilliseconds ?? 0) / 1000;
  plan.elements.retry.value = values.retryAfterSeconds ?? "";
  plan.elements.times.value = values.times ?? "";
  plan.elements.body.value = values.body ?? "";
}

/** An answer in words, such as `429, Retry-After 30 s`. */
function words({ status, delayMilliseconds, retryAfterSeconds }) {
  return `${status}${delayMilliseconds ? ` after ${delayMilliseconds / 1000} s` : ""}`
    + (retryAfterSeconds == null ? "" : `, Retry-After ${retryAfterSeconds} s`);
}

// The list.

const tones = { valid: "good", invalid: "bad", unchecked: "wait" };
const verdict = (one) => h("span", { class: `tag ${tones[one.signature]}`, title: one.signatureFault ?? "" },
  one.signature);

function line(one) {
  const element = row(
    h("a", { href: `#${one.number}` }, `${one.number}`), time(one.receivedAt), h("code", {}, one.type || "–"),
    h("code", {}, one.target), one.attempt || "–", verdict(one),
    h("span", { class: one.answer.status < 300 ? "good" : "bad" }, words(one.answer),
      one.answeredAt ? "" : h("span", { class: "wait" }, " – waiting")));
  element.dataset.number = one.number;
  return element;
}

function show(list) {
  ({ change, keys } = list);
  told.textContent = `${list.count} received; `
    + `${keys.length ? `signatures checked with ${keys.length} ${keys.length > 1 ? "keys" : "key"}` : "signatures unchecked"}; `
    + `answers ${words(list.plan)}${list.plan.times ? `, ${list.plan.times} more times` : ""}`;
  for (const one of list.webhooks) {
    const before = known.get(one.number);
    const element = line(one);
    known.set(one.number, element);
    if (before) before.replaceWith(element);
    else {
      element.classList.add("fresh");
      rows.prepend(element);
    }
  }
  for (const [number, element] of known) {
    if (number >= list.oldest) break;
    element.remove();
    known.delete(number);
  }
  empty.hidden = known.size > 0;
  scroll.hidden = known.size === 0;
}

// One webhook.

async function open() {
  const number = Number(location.hash.slice(1));
  if (!number) return detail.replaceChildren();
  const one = await doing(() => call("GET", `webhooks/${number}`));
  if (!one) return;
  const answers = h("div", { role: "status" });
  const url = h("input", { id: "url", type: "url", required: true, size: 40, placeholder: "http://127.0.0.1:3000/hook",
    value: sessionStorage.getItem("routerd.replay") ?? "" });
  const again = (event) => {
    event.preventDefault();
    sessionStorage.setItem("routerd.replay", url.value);
    return doing(async () => {
      const result = await call("POST", `webhooks/${number}/replay`, { url: url.value });
      answers.replaceChildren(h("p", { class: result.status < 300 ? "good" : "bad" },
        result.fault ?? `Answered ${result.status} in ${result.milliseconds.toFixed(1)} ms.`),
      result.body ? h("pre", { tabindex: 0 }, result.body) : "");
    });
  };
  detail.replaceChildren(
    h("h2", {}, `Webhook ${number} `, verdict(one)),
    h("p", {}, one.signatureFault ?? (one.signature === "valid" ? `Signed by key ${one.verifiedBy.join(" and key ")}.`
      : "No key is known, so the signature was not checked: give --secret.")),
    h("p", { class: "soft" }, "POST ", h("code", {}, one.target), " · ", time(one.receivedAt), ` · ${one.bytes} bytes · `,
      one.webhookId),
    h("form", { class: "row", onsubmit: again }, h("label", { class: "wide" }, "Send again to", url),
      h("button", { class: "main" }, "Send again"),
      h("button", { type: "button", onclick: () => copy(curl(one)) }, "Copy as curl")),
    answers,
    h("h3", {}, "Headers"), scrolled("Headers", h("table", {}, h("tbody", {}, one.headers.map((header) =>
      h("tr", {}, h("th", { scope: "row" }, header.name), h("td", {}, h("code", {}, header.value))))))),
    h("h3", {}, "Body"), ...body(one));
}

function body(one) {
  if (one.text === undefined) return [h("p", { class: "soft" }, "In base64:"), h("pre", { tabindex: 0 }, one.base64)];
  let value;
  try { value = JSON.parse(one.text); } catch { return [h("pre", { tabindex: 0 }, one.text)]; }
  return [json(value), h("details", {}, h("summary", {}, "As it was received"), h("pre", { tabindex: 0 }, one.text))];
}

function curl(one) {
  const skipped = new Set(["host", "content-length", "connection", "accept-encoding"]);
  const headers = one.headers.filter(({ name }) => !skipped.has(name)).map(({ name, value }) =>
    ` \\\n  -H ${quoted(`${name}: ${value}`)}`).join("");
  return `curl -X POST ${quoted(location.origin + one.target)}${headers} \\\n  --data-binary ${quoted(one.text ?? "")}`;
}

// The page.

const empty = h("p", { class: "empty" }, "No webhook has come yet. Name ", h("code", {}, `${location.origin}/hook`),
  " as the URL of an endpoint.");
const scroll = headed(["", "Received", "Type", "Path", "Attempt", "Signature", "Answer"], rows);
scroll.hidden = true;
main.append(
  h("h1", {}, "Webhooks"), plan,
  h("p", { class: "row" }, presets.map(([name, values]) =>
    h("button", { type: "button", onclick: () => answer(values) }, name)),
  h("button", { class: "bad", type: "button", onclick: () => doing(async () => {
    await call("DELETE", "webhooks");
    location.hash = "";
    await poll();
  }) }, "Forget all")),
  empty, scroll, detail);

async function poll() {
  const list = await call("GET", `webhooks?since=${change}`);
  // A receiver that was started again counts from the beginning.
  if (list.change < change) forget();
  else show(list);
}

function forget() {
  change = 0;
  for (const element of known.values()) element.remove();
  known.clear();
}

async function run() {
  fill((await call("GET", "webhooks")).plan);
  main.setAttribute("aria-busy", "false");
  for (;;) {
    try {
      await poll();
    } catch {
      told.textContent = "The receiver does not answer; it may have ended.";
    }
    await new Promise((done) => setTimeout(done, document.hidden ? 3000 : 500));
  }
}

addEventListener("hashchange", open);
run();
open();
