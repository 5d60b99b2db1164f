// Keeps notifications away from sessions of some roles.
"use strict";
const { serve } = require("./routerd-rule.js");

function decide(notification, candidates, settings) {
  // The payload is any JSON value, also null, and absent if it is no JSON: notification.payload?.type === "comment"
  const shielded = settings.roles ?? ["kiosk"];
  return candidates
    .filter((candidate) => shielded.includes(candidate.role))
    .map((candidate) => ({
      session: candidate.session, verdict: "veto", reason: "the session's role is shielded",
    }));
}

if (require.main === module) serve("1.0.0", decide);
module.exports = { decide };
