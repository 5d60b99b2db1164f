"use strict";
const { test } = require("node:test");
const assert = require("node:assert");
const { decide } = require("./rule.js");

test("vetoes kiosks", () => {
  const candidates = [{ session: "a", role: "kiosk" }, { session: "b", role: "windowApplication" }];
  const verdicts = decide({ priority: 10 }, candidates, {});
  assert.deepStrictEqual(verdicts.map((v) => [v.session, v.verdict]), [["a", "veto"]]);
});
