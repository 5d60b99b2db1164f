// Makes a tab a scene session of routerd. No dependencies; one module.
//
//   const scene = await connectScene({
//     server: "https://push.example", application: "com.example.Gallery", session: "tab-1", token: "rs_…",
//     conditions: {preferring: ["doc/42"]}, onDelivery: async ({envelope}) => show(envelope.data),
//   });
//
// `token` is a text, or a function that gives a fresh one for each request. A delivery is acknowledged when `onDelivery`
// returns; an object that it returns is the answer. An error with `retryAfterSeconds` asks for no attempt before.
// `onSuperseded` is called when another connection takes over, `onEnded` when the session was discarded, `onGap(after)` when
// numbers are left out: `range(after)` says why. `discard()` ends the session, as on `pagehide`.

const SILENCE = 45_000;  // Three heartbeats.

export class Refused extends Error {
  constructor(status, problem) {
    super(`${status}: ${problem.detail ?? ""}`);
    Object.assign(this, {status, code: problem.code});
  }
}

export async function connectScene({
  server = "", application, session, token, conditions, fields = {}, onDelivery, onSuperseded = () => {},
  onEnded = () => {}, onError = () => {}, onGap = () => {}, signal,
}) {
  const path = `${server}/v1/applications/${encodeURIComponent(application)}/sessions/${encodeURIComponent(session)}`;
  const stop = new AbortController();
  signal?.addEventListener("abort", () => stop.abort());

  const call = async (method, suffix, body, headers = {}) => {
    const secret = typeof token === "function" ? await token() : token;
    const answer = await fetch(path + suffix, {
      method, signal: stop.signal, cache: "no-store",
      headers: {
        ...(secret && {authorization: `Bearer ${secret}`}), ...(body && {"content-type": "application/json"}), ...headers,
      },
      body: body && JSON.stringify(body), keepalive: ["PATCH", "DELETE"].includes(method),
    });
    if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
    return answer;
  };

  const state = () => document.visibilityState === "hidden" ? "background"
    : document.hasFocus() ? "foregroundActive" : "foregroundInactive";
  let known;
  // The states of UIKit follow one another; a report that is refused is made again at the next change.
  const report = async () => {
    if (state() === known || stop.signal.aborted) return;
    known = state();
    try { await call("PATCH", "", {activationState: known}); } catch (error) { known = undefined; onError(error); }
  };
  const register = async () => {
    known = state();
    await call("PUT", "", {
      endpoint: {stream: true}, activationState: known, ...(conditions && {activationConditions: conditions}), ...fields,
    });
  };

  let last;
  const settle = async (delivery) => {
    if (delivery.sequence > last + 1) onGap(last);
    if (delivery.sequence) last = Math.max(last ?? 0, delivery.sequence);
    let verb = "ack", body;
    try { body = await onDelivery(delivery) ?? undefined; } catch (error) {
      [verb, body] = ["nack", {reason: String(error).slice(0, 500)}];
      if (error?.retryAfterSeconds !== undefined) body.retryAfterSeconds = error.retryAfterSeconds;
    }
    try { await call("POST", `/deliveries/${delivery.id}/${verb}`, body); } catch (error) {
      // It was cancelled, or has gone to another session meanwhile.
      if (error.code === "unknown-delivery") return;
      // The delivery has been handled, though the answer cannot be used.
      if (verb !== "ack" || body === undefined || ![400, 413, 422].includes(error.status)) throw error;
      onError(error);
      await call("POST", `/deliveries/${delivery.id}/ack`);
    }
  };

  // A connection that ends without a word is noticed by the heartbeats that do not come.
  const read = async (reader) => {
    let timer;
    const silence = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error("the stream is silent")), SILENCE); });
    try { return await Promise.race([reader.read(), silence]); } finally { clearTimeout(timer); }
  };

  // One connection; why the daemon has ended it, or undefined.
  const listen = async () => {
    const answer = await call("GET", "/deliveries", undefined, {accept: "text/event-stream"});
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      for (;;) {
        const {done, value} = await read(reader);
        if (done) return undefined;
        const events = (rest + value).split("\n\n");
        rest = events.pop();
        for (const event of events) {
          const field = (name) => event.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
          if (["superseded", "ended"].includes(field("event"))) return field("event");
          if (field("event") === "delivery") await settle(JSON.parse(field("data")));
        }
      }
    } finally { reader.cancel().catch(() => {}); }
  };

  await register();
  const events = [[document, "visibilitychange"], [window, "focus"], [window, "blur"]];
  for (const [target, name] of events) target.addEventListener(name, report);
  const close = () => {
    for (const [target, name] of events) target.removeEventListener(name, report);
    stop.abort();
  };

  (async () => {
    for (let failures = 0; !stop.signal.aborted;) {
      const began = Date.now();
      try {
        const end = await listen();
        if (end) { close(); return end === "ended" ? onEnded() : onSuperseded(); }
      } catch (error) {
        if (stop.signal.aborted) return;
        onError(error);
        if (error.code === "unknown-session") await register().catch(onError);
      }
      failures = Date.now() - began > 15_000 ? 0 : failures + 1;
      await new Promise((done) => setTimeout(done, Math.random() * Math.min(15_000, 250 * 2 ** failures)));
    }
  })();
  const range = async (after) => (await call("GET", `/deliveries?after=${after}`)).json();
  const discard = () => call("DELETE", "");
  return {close, discard, report, range, patch: (change) => call("PATCH", "", change)};
}
