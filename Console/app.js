// The frame: navigation, the chosen application, and the page of the address.
import { askForKey, get, h, query, toast } from "./base.js";
import { applications, deadLetters, gates, lanes, live, overview, sessions, sources } from "./lists.js";
import { notification, notifications } from "./notification.js";
import { route } from "./route.js";

const pages = {
  route: ["Route", route], lanes: ["Lanes", lanes], notifications: ["Notifications", notifications],
  overview: ["Overview", overview], live: ["Live", live], dead: ["Dead letters", deadLetters],
  sessions: ["Sessions", sessions], sources: ["Sources", sources], gates: ["Gates", gates],
  applications: ["Applications", applications], notification: [null, notification],
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
  document.getElementById("nav").replaceChildren(...Object.entries(pages).filter(([, [title]]) => title).map(
    ([page, [title]]) => h("a", {
      href: `#/${page}${query({ application: choice.value })}`, "aria-current": page === shown ? "page" : null,
    }, title)));
  document.title = `${pages[shown][0]} – routerd`;
  try {
    await chooseApplication(values.application);
    const content = h("div");
    main.replaceChildren(content);
    await pages[name][1](content, { ...values, application: values.application ?? choice.value }, signal);
  } catch (fault) {
    if (signal.aborted) return;
    main.replaceChildren(h("h1", {}, pages[shown][0]), h("p", { class: "bad", role: "alert" }, fault.message));
  }
}

async function chooseApplication(wanted) {
  let names = [];
  try {
    names = (await get("/v1/applications?limit=1000")).applications.map((application) => application.id);
  } catch (fault) {
    // The key of one application may not list them all.
    if (fault.problem?.code !== "scope-missing") throw fault;
  }
  if (wanted && !names.includes(wanted)) names.unshift(wanted);
  const chosen = wanted ?? choice.value;
  choice.replaceChildren(...names.map((name) => h("option", { selected: name === chosen }, name)));
}

choice.addEventListener("change", () => {
  const { name, values } = address();
  location.hash = `#/${name}${query({ ...values, application: choice.value })}`;
});
document.getElementById("key").addEventListener("click", askForKey);
addEventListener("hashchange", show);
addEventListener("unhandledrejection", (event) => toast(event.reason?.message ?? "Something went wrong."));
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
