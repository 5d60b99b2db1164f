// The sessions of an explanation as a ladder of cards, best on top.
import { away, h, time } from "./base.js";

/** A ladder; `tools` makes the elements that stay in the card of a session, such as its editor. */
export function ladder(tools) {
  const place = h("section", { id: "ladder", "aria-label": "Sessions, best on top" });
  const cards = new Map();

  function card(session) {
    if (!cards.has(session)) {
      const body = h("div");
      cards.set(session, { body, element: h("article", { class: "card", "data-session": session }, body, tools(session)) });
    }
    return cards.get(session);
  }

  /** Shows an explanation. With `base`, each card says how far it has moved. */
  function show(found, base) {
    const order = found.candidates.map((one) => one.session);
    const before = base?.candidates.map((one) => one.session);
    for (const [session, { element }] of cards) {
      if (order.includes(session) || element.querySelector(".editor")) continue;
      element.remove();
      cards.delete(session);
    }
    // An element loses its focus when it is moved, so the others move around it.
    const pivot = [...cards.values()].find((one) => one.element.contains(document.activeElement))?.element;
    let isBehind = !pivot;
    const chosen = found.receivers?.map((one) => one.session) ?? [found.decision.session];
    found.candidates.forEach((one, index) => {
      const { body, element } = card(one.session);
      const isChosen = chosen.includes(one.session);
      element.classList.toggle("chosen", isChosen);
      body.replaceChildren(...content(one, isChosen, before?.includes(one.session) ? before.indexOf(one.session) - index : 0));
      if (element === pivot) isBehind = true;
      else if (isBehind) place.append(element);
      else place.insertBefore(element, pivot);
    });
  }

  const clear = () => { cards.clear(); place.replaceChildren(); };
  return { place, show, clear };
}

function content(one, isChosen, moved) {
  return [
    h("h3", {}, one.session, " ", h("span", { class: "tag" }, one.tier ?? "no candidate"), " ",
      moved ? h("span", { class: "tag moved" }, `${moved > 0 ? "▲" : "▼"} ${Math.abs(moved)} ${moved > 0 ? "up" : "down"}`) : "", " ",
      isChosen ? h("span", { class: "good" }, "chosen") : h("span", { class: "soft" }, one.reason)),
    h("p", { class: "soft" }, one.activationState, " ", away(one), " · preference ", one.preferenceLevel, " · activated ",
      time(one.lastActivatedAt)),
    predicate("can", one.can, one.canParts), predicate("prefers", one.prefers, one.prefersParts),
    ...one.verdicts.map((said) => h("p", {}, h("code", {}, said.rule), " ", h("span", {
      class: said.verdict === "accept" ? "soft" : "wait" }, said.verdict), " ", said.reason ?? "")),
  ];
}

function predicate(side, holds, parts) {
  if (holds == null) return h("p", { class: "soft" }, side, ": not evaluated, because no content is named");
  const shown = (parts ?? []).map((part) => part.holds == null ? part.text : h("span", {
    class: `part ${part.holds ? "yes" : "no"}`, title: part.holds ? "true" : "false" }, part.text));
  return h("p", {}, h("span", { class: holds ? "good" : "bad" }, `${side} ${holds ? "✓" : "✗"} `),
    h("code", {}, shown));
}

/** The outcome of a decision in a word. */
export const outcome = (decision) => decision.heldUntil ? "held" : decision.dropped ? "dropped"
  : decision.session ? "session" : decision.tier === "newSession" ? "newSession" : "undeliverable";

const words = { held: "held", dropped: "dropped", newSession: "a new session", undeliverable: "no session" };

/** The receiver that a decision names, or its outcome. */
export const receiver = (decision) => decision.session ?? words[outcome(decision)];

/** The receivers of a broadcast. */
function broadcast({ receivers, decision, candidates, sessionsInScope }) {
  return [
    h("h2", {}, "Goes to ", h("b", { id: "winner" }, !receivers.length ? receiver(decision)
      : receivers.length === 1 ? "1 session" : `${receivers.length} sessions`), " ", h("span", { class: "tag" }, "broadcast")),
    ...receivers.map((one) => h("p", {}, h("b", {}, one.session), " – ",
      one.state === "waiting" ? "" : [h("span", { class: "wait" }, one.state),
        one.heldUntil ? [" until ", time(one.heldUntil)] : "", " "], h("span", { class: "soft" }, one.reason))),
    h("p", { class: "soft" }, `${candidates.length} of ${sessionsInScope} sessions in scope.`),
  ];
}

/** How the receivers of a trial differ from those without it. */
export function change(base, found) {
  const [before, after] = [base, found].map(goal);
  const [more, fewer] = [after.filter((one) => !before.includes(one)), before.filter((one) => !after.includes(one))];
  const name = found.receivers ? "broadcast" : "notification";
  if (!more.length && !fewer.length) return h("p", {}, `This ${name} still goes to ${listed(after)}.`);
  if (!more.length) return h("p", {}, `This ${name} would not go to `, h("b", {}, listed(fewer)), ".");
  return h("p", {}, `This ${name} would ${fewer.length ? "" : "also "}go to `, h("b", {}, listed(more)),
    fewer.length ? `, not to ${listed(fewer)}.` : ".");
}

/** The receivers of an explanation, or its outcome. */
const goal = ({ receivers, decision }) => (receivers?.length ? receivers.map((one) =>
  (one.state === "waiting" ? one.session : `${one.session} (${one.state})`)) : [receiver(decision)]);

/** The first names of a list. */
const listed = (names) => (names.length > 9 ? `${names.slice(0, 8).join(", ")} and ${names.length - 8} more` : names.join(", "));

/** The winner and its margin. */
export function verdict(found) {
  const { decision, candidates } = found;
  const isVetoed = (one) => one.verdicts.some((said) => said.verdict === "veto");
  const next = candidates.find((one) => one.tier && one.session !== decision.session && !isVetoed(one));
  const open = candidates.filter((one) => one.canParts?.length === 1 && one.canParts[0].text === "TRUEPREDICATE").length;
  if (found.receivers) return broadcast(found);
  return [
    h("h2", {}, "Goes to ", h("b", { id: "winner" }, receiver(decision)), " ", h("span", { class: "tag" }, decision.tier)),
    h("p", {}, decision.reason, next ? `. The next one is ${next.session}: ${next.reason}.` : ""),
    h("p", { class: "soft" }, `${candidates.length} of ${found.sessionsInScope} sessions in scope.`),
    found.gate ? h("p", { class: "wait" }, `A gate would hold it: ${found.gate.state}.`) : "",
    open > 1 ? h("p", { class: "wait", id: "open" },
      `${open} of these sessions can show every content (TRUEPREDICATE), so that state and recency choose among them.`) : "",
  ];
}
