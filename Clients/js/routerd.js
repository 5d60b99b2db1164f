// Makes a tab a scene session of routerd.
//
//   const scene = await connectScene({
//     server: "https://push.example", application: "com.example.Gallery", session: "tab-1", token: "rs_…",
//     shows: "doc/42", onDelivery: async ({envelope}) => show(envelope.data),
//   });
//
// `shows` is the content id that the tab prefers, exactly that, or a list of them; it can show all else unless `conditions` say
// which. `token` is a text, or a function that gives one for each request. `onDelivery` acknowledges when it returns; an object is the
// answer. An error refuses, with `retryAfterSeconds` for a time. `onSuperseded`: another connection takes over. `onEnded`: the
// session was discarded. `onGap(after)`: numbers are left out, `range(after)` says why. `discard()` ends the session.
// A session that is there keeps its data: `scene.willConnect` brings `session.userInfo` and the restoration activity.

const SILENCE = 45_000;  // Three heartbeats.

export class Refused extends Error {
  constructor(status, problem) {
    super(`${status}: ${problem.detail ?? ""}`);
    Object.assign(this, {status, code: problem.code});
  }
}

export async function connectScene({
  server = "", application, session, token, shows, conditions, fields = {}, onDelivery, onSuperseded = () => {},
  onEnded = () => {}, onError = () => {}, onGap = () => {}, signal,
}) {
  signal?.throwIfAborted();
  const [owner, own] = [application, session].map(encodeURIComponent);
  const path = `${server}/v1/applications/${owner}/sessions/${own}`;
  const stop = new AbortController();
  const close = () => stop.abort();
  signal?.addEventListener("abort", close);

  const call = async (method, suffix, body, limit = AbortSignal.timeout(SILENCE), condition = {}) => {
    const secret = typeof token === "function" ? await token() : token;
    const answer = await fetch(path + suffix, {
      method, body, signal: AbortSignal.any([stop.signal, limit]), cache: "no-store",
      headers: {
        ...(secret && {authorization: `Bearer ${secret}`}), ...(body && {"content-type": "application/json"}), ...condition,
      },
      keepalive: /PATCH|DELETE/.test(method),
    });
    if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
    return answer;
  };
  const patch = (change) => call("PATCH", "", JSON.stringify(change));

  const state = () => document.visibilityState === "hidden" ? "background"
    : document.hasFocus() ? "foregroundActive" : "foregroundInactive";
  let known = state(), reports = Promise.resolve();
  // One that is refused is made again at the next change.
  const report = () => reports = reports.catch(() => {}).then(async () => {
    if (state() === known || stop.signal.aborted) return;
    known = state();
    try { await patch({activationState: known}); } catch (error) {
      known = undefined;
      onError(error);
    }
  });
  // A scene that was away connects in the background.
  const reportAgain = () => report(known = undefined);

  const settle = async (way, words) => {
    try { await call("POST", way, words); } catch (error) {
      if (error.code === "unknown-delivery") return;  // It was cancelled, or has moved.
      // It was handled or refused all the same.
      if (!words || ![400, 413, 422].includes(error.status)) throw error;
      onError(error);
      await settle(way);
    }
  };
  let last;
  const handle = async (delivery) => {
    if (delivery.sequence > last + 1) onGap(last);
    if (delivery.sequence) last = Math.max(last ?? 0, delivery.sequence);
    let verb = "ack", words;
    try { words = JSON.stringify(await onDelivery(delivery) ?? undefined); } catch (error) {
      const retryAfterSeconds = Math.ceil(Math.min(86_400, Math.max(0, error?.retryAfterSeconds))) || undefined;
      [verb, words] = ["nack", JSON.stringify({reason: String(error).slice(0, 500), retryAfterSeconds})];
    }
    await settle(`/deliveries/${delivery.id}/${verb}`, words);
    if (delivery.envelope.type === "scene.willConnect") reportAgain();
  };

  // One connection; returns what to call if the daemon has ended it.
  const listen = async () => {
    const lost = new AbortController();
    const within = async (work) => {
      const timer = setTimeout(() => lost.abort(new Error("the daemon is silent")), SILENCE);
      try { return await work; } finally { clearTimeout(timer); }
    };
    const {body} = await within(call("GET", "/deliveries", undefined, lost.signal));
    reportAgain();
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      for (;;) {
        const {done, value} = await within(reader.read());
        if (done) return;
        const events = (rest + value).split("\n\n");
        rest = events.pop();
        for (const event of events) {
          const field = (name) => event.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
          const kind = field("event");
          if (kind === "delivery") await handle(JSON.parse(field("data")));
          if (kind === "superseded") return onSuperseded;
          if (kind === "ended") return onEnded;
        }
      }
    } finally { reader.cancel().catch(() => {}); }
  };

  if (shows !== undefined) {
    const contents = [shows].flat(), format = contents.map(() => "SELF == %@").join(" OR ");
    conditions = {...conditions, prefersToActivateForTargetContentIdentifierPredicate: {format, arguments: contents}};
  }
  // A session that is not there is made. One that is there is put back as it was, as a scene that connects now.
  const wanted = {endpoint: {stream: true}, ...(conditions && {activationConditions: conditions}), ...fields};
  const attempt = (work, codes) => work.catch((error) => { if (!codes.includes(error.code)) throw error; });
  const put = (body, condition) => attempt(
    call("PUT", "", JSON.stringify(body), undefined, condition), ["precondition-failed"]);
  for (let left = 9; !await put({activationState: known, ...wanted}, {"if-none-match": "*"});) {
    if (!left--) throw new Error("the session changes too often");
    const there = await attempt(call("GET", ""), ["unknown-session"]);
    if (there && await put(
      {...await there.json(), ...wanted, activationState: "unattached"}, {"if-match": there.headers.get("etag")})) break;
  }
  for (const name of ["visibilitychange", "focus", "blur"]) addEventListener(name, report, {signal: stop.signal});

  (async () => {
    for (let failures = 0; !stop.signal.aborted;) {
      const began = Date.now();
      const tell = await listen().catch((error) => {
        // The session has ended in the meantime.
        if (/unknown-session|not-a-stream/.test(error.code)) return onEnded;
        if (!stop.signal.aborted) onError(error);
      });
      if (tell) { close(); return tell(); }
      failures = Date.now() - began > 15_000 ? 0 : failures + 1;
      await new Promise((done) => setTimeout(done, Math.random() * Math.min(15_000, 250 * 2 ** failures)));
    }
  })();
  const range = async (after) => (await call("GET", `/deliveries?after=${after}`)).json();
  return {close, discard: () => call("DELETE", ""), report, range, patch};
}
