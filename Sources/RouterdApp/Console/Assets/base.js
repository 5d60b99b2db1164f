// Elements, requests, times and the stream: everything that pages share.

export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

const stored = "routerd.key";
export const key = {
  get value() { return sessionStorage.getItem(stored) ?? ""; },
  set value(text) { text ? sessionStorage.setItem(stored, text) : sessionStorage.removeItem(stored); },
};

function headers() { return key.value ? { authorization: `Bearer ${key.value}` } : {}; }

async function request(method, path, body, signal, more) {
  try {
    return await fetch(path, {
      method, headers: { ...headers(), ...more }, credentials: "omit", cache: "no-store", signal,
      body: body == null ? undefined : typeof body === "string" ? body : JSON.stringify(body),
    });
  } catch (fault) {
    // The browser's own words, such as "Failed to fetch", are of no use.
    throw fault instanceof TypeError ? new Error("The server does not answer.") : fault;
  }
}

/** The fault of an answer; a proxy in between may answer without a problem. */
async function refusal(answer) {
  let problem = null;
  try { problem = await answer.json(); } catch { /* The status has to do. */ }
  const isKeyless = problem?.code === "key-missing";
  if (answer.status === 401) await askForKey(isKeyless ? "" : problem?.detail);
  const text = isKeyless ? "This daemon asks for a key." : problem?.detail;
  return Object.assign(new Error(text ?? `The server answered ${answer.status} ${answer.statusText}.`),
    { problem, status: answer.status });
}

export async function call(method, path, body, signal, more) {
  const answer = await request(method, path, body, signal, more);
  if (!answer.ok) throw await refusal(answer);
  const text = await answer.text();
  return text ? JSON.parse(text) : null;
}

/** Reads for a page: the request ends with the page, when its signal is aborted. */
export const get = (path, signal) => call("GET", path, null, signal);
/** The text of an answer that is no JSON. */
export async function getText(path, signal) {
  const answer = await request("GET", path, null, signal);
  if (!answer.ok) throw await refusal(answer);
  return answer.text();
}
/** Runs the latest of several requests after a pause; earlier ones end. */
export function latest(signal, milliseconds) {
  let timer;
  let running;
  const run = (work) => {
    run.stop();
    running = new AbortController();
    const stop = AbortSignal.any([signal, running.signal]);
    timer = setTimeout(() => work(stop), milliseconds);
  };
  run.stop = () => { clearTimeout(timer); running?.abort(); };
  signal.addEventListener("abort", run.stop);
  return run;
}
/** Whether a fault is only that a page was left. */
export const isLeft = (fault) => fault?.name === "AbortError";
export const at = (...parts) => parts.map(encodeURIComponent).join("/");
export const query = (values) => {
  const terms = Object.entries(values).filter(([, value]) => value !== "" && value != null);
  return terms.length ? `?${new URLSearchParams(terms)}` : "";
};

let asking;
/** Asks for a key; `note` says why the one before is of no use. */
export function askForKey(note = "") {
  asking ??= new Promise((done) => {
    const dialog = document.getElementById("ask");
    const input = document.getElementById("ask-key");
    const told = document.getElementById("ask-note");
    told.textContent = note;
    told.hidden = !note;
    input.value = key.value;
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "use") key.value = input.value.trim();
      asking = undefined;
      done();
      if (dialog.returnValue === "use") dispatchEvent(new Event("hashchange"));
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

export function toast(text) {
  const place = document.getElementById("toast");
  place.textContent = text;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => { place.textContent = ""; }, 6000);
}

/** Runs a button's work, and says its outcome or its fault. */
export async function doing(work, done) {
  try {
    const result = await work();
    if (done) toast(typeof done === "function" ? done(result) : done);
    return result;
  } catch (fault) {
    if (!isLeft(fault)) toast(fault.message);
  }
}

export function time(text) {
  if (!text) return h("span", { class: "soft" }, "–");
  const date = new Date(text);
  return h("time", { datetime: text, title: text }, date.toLocaleString(undefined, { hour12: false }));
}

export const clock = (date) => date.toLocaleTimeString(undefined, { hour12: false });

export function ago(text) {
  if (!text) return "–";
  const seconds = Math.max(0, (Date.now() - new Date(text)) / 1000);
  return `${span(seconds)} ago`;
}

export function span(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} days`;
}

/** A time to come, counted down each second. */
export function countdown(text) {
  const element = h("span", { "data-until": text });
  tick(element);
  return element;
}

function tick(element) {
  const seconds = (new Date(element.dataset.until) - Date.now()) / 1000;
  element.textContent = seconds <= 0 ? "now" : `in ${span(seconds)}`;
}
setInterval(() => document.querySelectorAll("[data-until]").forEach(tick), 1000);

// A scroller without links is reached by keyboard too, while it has more to show than fits.
const overflow = new ResizeObserver((entries) => entries.forEach(({ target }) => {
  if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
  else target.removeAttribute("tabindex");
}));

/** A table, scrolled where it is wider than the page. */
export function scrolled(label, table) {
  const element = h("div", { class: "scroll", role: "group", "aria-label": label }, table);
  overflow.observe(element);
  return element;
}

/** Replaces the content of a place that refreshes itself; focus and scrolling stay where they are. */
export function refresh(place, ...children) {
  const focused = place.contains(document.activeElement) ? name(document.activeElement) : null;
  const left = place.querySelector(".scroll")?.scrollLeft ?? 0;
  place.replaceChildren(...children);
  const scroll = place.querySelector(".scroll");
  if (scroll) scroll.scrollLeft = left;
  if (!focused) return;
  const same = [...place.querySelectorAll("a, button, .scroll")].find((one) => name(one) === focused);
  // The observer of its size has not seen it yet.
  if (same?.className === "scroll") same.tabIndex = 0;
  same?.focus();
}

const name = (element) => element.getAttribute("aria-label") ?? element.getAttribute("href");

/** A body of rows under its heads. */
export const headed = (heads, body) => scrolled(`Table of ${heads.filter(Boolean).join(", ")}`, h("table", {},
  h("thead", {}, h("tr", {}, heads.map((head) => (head ? h("th", { scope: "col" }, head) : h("td"))))), body));

export function table(heads, rows, empty) {
  if (!rows.length) return h("p", { class: "empty" }, empty);
  const element = headed(heads, h("tbody", {}, rows));
  element.querySelectorAll("thead th, thead td").forEach((head, index) =>
    head.classList.toggle("number", rows.some((one) => one.cells[index]?.className === "number")));
  return element;
}

export const row = (...cells) => h("tr", {}, cells.map((cell) =>
  cell instanceof HTMLTableCellElement ? cell : h("td", typeof cell === "number" ? { class: "number" } : {}, cell)));

/** A mark where the receiver of a session cannot be reached, with the reason. */
export function away({ reachable, unreachableBecause, whileAway }) {
  if (reachable !== false || unreachableBecause === "gone") return "";
  const why = unreachableBecause === "breaker-open" ? "The breaker of its endpoint is open." : "No receiver is connected to its stream.";
  return h("span", { class: "tag wait", title: whileAway === "wait" ? `${why} What is for it waits.` : why },
    unreachableBecause === "breaker-open" ? "breaker open" : "not connected");
}

export const link = (page, values, text) => h("a", { href: `#/${page}${query(values)}` }, text);

const tones = { delivered: "good", deadLettered: "bad", expired: "bad", cancelled: "soft", superseded: "soft" };
export const state = (name) => h("span", { class: `tag ${tones[name] ?? "wait"}` }, name);

export function json(value) { return h("pre", { tabindex: 0 }, JSON.stringify(value, null, 2)); }

/** A word of a shell. */
export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function curl(method, path, body, more = {}) {
  const fields = Object.entries(more).map(([name, value]) => ` -H ${quoted(`${name}: ${value}`)}`).join("");
  const data = body ? ` \\\n  -d ${quoted(body)}` : "";
  return `curl -X ${method} -H "Authorization: Bearer $ROUTERD_KEY"${fields} \\\n  ${quoted(location.origin + path)}${data}`;
}

/** Copies a text; shows it, selected, where the browser does not let a page copy, as over HTTP from another machine. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  } catch {
    showText("Copy by hand", "The browser does not let this page copy. The text is selected.", text);
  }
}

/** Shows a text, selected; with `name`, as a file that can be downloaded. */
export function showText(title, note, text, name) {
  const field = h("textarea", { "aria-label": title, readonly: true, rows: 12 }, text);
  const dialog = h("dialog", { "aria-labelledby": "text-title", onclose: () => dialog.remove() },
    h("form", { method: "dialog" }, h("h2", { id: "text-title" }, title), h("p", {}, note), field,
      h("p", { class: "row" }, name ? [
        h("button", { class: "main", type: "button", onclick: () => copy(text) }, "Copy"),
        h("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: name }, `Download ${name}`),
      ] : "", h("button", {}, "Close"))));
  document.body.append(dialog);
  dialog.showModal();
  field.select();
}

/**
 * Reads the stream until the signal ends it; `fetch`, because an EventSource cannot send a key. `lost` is told of a fault, and
 * whether the stream is asked for again.
 */
export async function listen(filter, signal, take, lost) {
  while (!signal.aborted) {
    try {
      const answer = await request("GET", `/v1/stream${query(filter)}`, null, signal);
      if (!answer.ok) throw await refusal(answer);
      take(null);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const blocks = (text + value).split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
          const data = block.split("\n").find((line) => line.startsWith("data: "));
          if (data) take(JSON.parse(data.slice(6)));
        }
      }
    } catch (fault) {
      if (signal.aborted) return;
      const isRefused = fault.status >= 400 && fault.status < 500 && fault.status !== 429;
      lost(fault instanceof TypeError ? "The server has ended it." : fault.message, !isRefused);
      if (isRefused) return;
    }
    await new Promise((done) => setTimeout(done, 2000));
  }
}
