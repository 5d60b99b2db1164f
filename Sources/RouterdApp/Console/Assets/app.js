// The frame: navigation, the chosen application, and the page of the address.
import { askForKey, get, h, isLeft, query, toast } from "./base.js";
import { applications, changes, gates, keys, lanes, plugins, sessions, sources } from "./lists.js";
import { notification, notifications } from "./notification.js";
import { overview } from "./overview.js";
import { route } from "./route.js";
import { deadLetters, live } from "./traffic.js";

const pages = {
  route: ["Route", route], lanes: ["Lanes", lanes], notifications: ["Notifications", notifications],
  overview: ["Overview", overview], live: ["Live", live], dead: ["Dead letters", deadLetters],
  sessions: ["Sessions", sessions], sources: ["Sources", sources], gates: ["Gates", gates],
  plugins: ["Plugins", plugins], applications: ["Applications", applications], keys: ["Keys", keys],
  changes: ["Changes", changes],
  notification: [null, notification],
};

const main = document.getElementById("main");
const choice = document.getElementById("application");
let running;

function address() {
  const [name, terms] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: pages[name] ? name : "route", values: Object.fromEntries(new URLSearchParams(terms)) };
}

async function show() {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const { name, values } = address();
  const shown = name === "notification" ? "notifications" : name;
  navigate(shown);
  document.title = `${pages[shown][0]} – routerd`;
  main.setAttribute("aria-busy", "true");
  try {
    const isListed = await chooseApplication(values.application, signal);
    if (signal.aborted) return;
    if (!isListed && !choice.value) throw new Error("This key may not list the applications. Type the name of its application above.");
    navigate(shown);
    const content = h("div");
    main.replaceChildren(content);
    await pages[name][1](content, { ...values, application: values.application ?? choice.value }, signal);
  } catch (fault) {
    if (signal.aborted) return;
    main.replaceChildren(h("h1", {}, pages[shown][0]), h("p", { class: "bad", role: "alert" }, fault.message),
      h("p", {}, h("button", { type: "button", onclick: show }, "Try again")));
  } finally {
    if (!signal.aborted) main.setAttribute("aria-busy", "false");
  }
}

/** Links to the pages, for the chosen application. */
function navigate(shown) {
  const links = Object.entries(pages).filter(([, [title]]) => title).map(([page, [title]]) => h("a", {
    href: `#/${page}${query({ application: choice.value })}`, "aria-current": page === shown ? "page" : null,
  }, title));
  document.getElementById("nav").replaceChildren(...links);
}

/** The application of the address, else the one chosen before, else the first; answers whether they are known. */
async function chooseApplication(wanted, signal) {
  let names = [];
  let isListed = true;
  try {
    names = (await get("/v1/applications?limit=1000", signal)).applications.map((application) => application.id);
  } catch (fault) {
    // The key of one application may not list them all.
    if (fault.problem?.code !== "scope-missing") throw fault;
    isListed = false;
  }
  document.getElementById("applications").replaceChildren(...names.map((name) => h("option", { value: name })));
  choice.value = wanted ?? (choice.value || names[0] || "");
  return isListed;
}

choice.addEventListener("change", () => {
  const { name, values } = address();
  location.hash = `#/${name}${query({ ...values, application: choice.value })}`;
});
document.getElementById("key").addEventListener("click", () => askForKey());
addEventListener("hashchange", show);
addEventListener("unhandledrejection", (event) => {
  if (isLeft(event.reason)) event.preventDefault();
  else toast(event.reason?.message ?? "Something went wrong.");
});
addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = { r: "route", l: "lanes", n: "notifications", o: "overview", s: "sessions", d: "dead" }[event.key];
  if (page) location.hash = `#/${page}${query({ application: choice.value })}`;
  if (event.key === "/") {
    event.preventDefault();
    main.querySelector("input")?.focus();
  }
});
show();
