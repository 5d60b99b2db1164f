import Plugins
import Router
import RouterPlugin
import RouterdApp

/// The registration of a run's sessions, and the changes of their states.
///
/// All of a run's sessions and notifications are of one device, which no other run has: sessions that earlier runs have left
/// take no part.
extension LoadRun {
    /// Lines of a batch that registers sessions.
    private static let batchLines = 1000

    var device: String { "load-\(id)" }

    private func path(ofSession session: Int) -> String {
        "/v1/applications/\(application)/sessions/\(device)-\(session)"
    }

    /// The path at which a session's webhooks come.
    func target(_ session: Int) -> String { "/\(id)/\(session)" }

    /// The session of such a path; nil for that of another run.
    func session(at target: String) -> Int? {
        let parts = target.split(separator: "/")
        guard parts.count == 2, parts[0] == id, let session = Int(parts[1]), plan.workload.sessions.indices ~= session
        else { return nil }
        return session
    }

    private func write(
        _ session: Int, in state: ActivationState, at authority: String, _ books: LoadBooks,
        to line: inout JSONObjectWriter
    ) {
        let conditions = plan.workload.sessions[session].conditions
        line.field("device", device)
        line.field("activationState", state.name)
        line.object("activationConditions") {
            $0.field("canActivateForTargetContentIdentifierPredicate", "\(conditions.canActivate)")
            $0.field("prefersToActivateForTargetContentIdentifierPredicate", "\(conditions.prefersToActivate)")
            $0.field("preferenceLevel", conditions.preferenceLevel)
        }
        line.object("endpoint") {
            $0.field("url", "http://\(authority)\(target(session))")
            $0.field("secret", books.secrets[session].revealed())
        }
    }

    func register(at authority: String, _ books: LoadBooks) async throws {
        try await expect(
            client.send(
                .put, "/v1/applications/\(application)", body: Array(#"{"displayName":"Load"}"#.utf8)))
        for first in stride(from: 0, to: plan.sessions, by: Self.batchLines) {
            guard !stop.endsSending else { throw LoadError(reason: "interrupted before the first request") }
            let lines = (first..<min(first + Self.batchLines, plan.sessions)).map { session in
                JSONWriter.object { line in
                    line.field("id", "\(device)-\(session)")
                    write(session, in: plan.workload.sessions[session].state, at: authority, books, to: &line)
                }
            }
            let (status, answer) = try await client.send(
                .post, "/v1/applications/\(application)/sessions:batch", body: Array(lines.joined(separator: [10])))
            try expect((status, answer))
            if let fault = answer.split(separator: 10).first(where: { line in
                let status = (try? JSONValue(parsing: Array(line)))?["status"]?.asInt64 ?? 500
                return !(200...299).contains(status)
            }) {
                throw LoadError(reason: "a session is not registered: \(String(decoding: fault, as: UTF8.self))")
            }
        }
        // Where each content has one session, times of activation choose none.
        if !plan.workload.isOneToOne { try await readActivations(books) }
    }

    /// Tells the oracle when sessions were last activated, which the registration of many does not answer.
    private func readActivations(_ books: LoadBooks) async throws {
        let limits = JSONLimits(maximumBytes: DaemonLimits.batchBytes, maximumDepth: JSONLimits.deepest)
        let list = "/v1/applications/\(application)/sessions?limit=1000&device=\(device)&state=foregroundActive"
        var cursor: String?
        repeat {
            let path = list + (cursor.map { "&cursor=\($0)" } ?? "")
            let (status, answer) = try await client.send(.get, path, body: [])
            try expect((status, answer))
            let page = try JSONValue(parsing: answer, limits: limits)
            for entry in page["sessions"]?.asArray ?? [] {
                guard let time = entry["lastActivatedAt"]?.asString, let name = entry["id"]?.asString,
                    let session = Int(name.dropFirst(device.count + 1))
                else { continue }
                books.ask { $0.activated(session, at: time) }
            }
            cursor = page["cursor"]?.asString
        } while cursor != nil
    }

    /// Registers sessions again in other states, one after another, as often as planned, until the sending ends.
    func changeStates(at authority: String, from start: UInt64, _ books: LoadBooks) async throws {
        guard plan.churn > 0 else { return }
        var random = LoadRandom(state: plan.seed ^ 0x0C_4A96E)
        let end = start + UInt64(plan.seconds * 1e9)
        for number in 1... {
            let due = start + UInt64(Double(number) / plan.churn * 1e9)
            guard due < end, try await wait(until: due, books) else { return }
            let session = Int.random(in: plan.workload.sessions.indices, using: &random)
            let states: [ActivationState] = [.foregroundActive, .foregroundInactive, .background]
            let current = books.ask { $0.state(of: session) }
            let state = states.filter { $0 != current }.randomElement(using: &random) ?? .background
            let body = JSONWriter.object { write(session, in: state, at: authority, books, to: &$0) }
            books.ask { $0.change(session, to: state, at: books.now) }
            guard let (status, answer) = try? await client.send(.put, path(ofSession: session), body: body),
                (200...299).contains(status), let value = try? JSONValue(parsing: answer)
            else { continue }
            let time = value["lastActivatedAt"]?.asString ?? ""
            books.ask { $0.changed(session, activatedAt: time, at: books.now) }
        }
    }

    private func expect(_ answer: (status: Int, body: [UInt8])) throws {
        guard (200...299).contains(answer.status) else {
            throw LoadError(reason: "answered \(answer.status): \(String(decoding: answer.body, as: UTF8.self))")
        }
    }
}
