// Keeps notifications away from sessions of some roles.
"use strict";
const { serve } = require("./routerd-rule.js");

function decide(notification, candidates, settings) {
  const shielded = settings.roles ?? ["kiosk"];
  return candidates
    .filter((candidate) => shielded.includes(candidate.role))
    .map((candidate) => ({
      session: candidate.session, verdict: "veto", reason: "the session's role is shielded",
    }));
}

if (require.main === module) serve("1.0.0", decide);
module.exports = { decide };
