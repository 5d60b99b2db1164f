#!/bin/sh
# Keeps notifications away from sessions of some roles, with dd, od and jq.
write() {
  length=$(printf %s "$1" | wc -c)
  printf "$(printf '\\%03o\\%03o\\%03o\\%03o' $((length >> 24)) $((length >> 16 & 255)) $((length >> 8 & 255)) $((length & 255)))"
  printf %s "$1"
}

settings='{}'
while :; do
  set -- $(dd bs=1 count=4 2>/dev/null | od -An -tu1)
  [ $# -eq 4 ] || exit 0
  message=$(dd bs=1 count=$(($1 << 24 | $2 << 16 | $3 << 8 | $4)) 2>/dev/null)
  case $(printf %s "$message" | jq -r .type) in
  hello)
    settings=$(printf %s "$message" | jq -c .settings)
    write "$(printf %s "$message" | jq -c '{type: "ready", protocol, kind, plugin, version: "1.0.0"}')" ;;
  rule)
    write "$(printf %s "$message" | jq -c --argjson settings "$settings" '
      {type: "verdicts", id: .id, verdicts: [
        .candidates[] | select(.role | IN(($settings.roles // ["kiosk"])[]))
        | {session: .session, verdict: "veto", reason: "the session\u0027s role is shielded"}]}')" ;;
  esac
done
