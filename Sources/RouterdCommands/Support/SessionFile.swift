import ArgumentParser
import Plugins
import Router
import RouterPlugin
import RouterdApp

/// Files that decisions are made from: sessions as JSON lines, and content ids, one a line.
struct SessionFile {
    let path: String
    /// The kinds of formats that endpoints may name.
    var formats = BuiltInPlugins.deliveryFormatKinds

    /// Shows every session of the file, created in the order of the lines. A line that is no session ends the command
    /// with its number and its fault.
    func forEach(_ body: (SceneSession) -> Void) throws {
        let application = ApplicationID(unchecked: "decide")
        let scope = EndpointScope.unguarded(at: SteadyClock().now, formats: formats)
        try Console.forEachLine(of: path) { number, line in
            guard !line.isEmpty else { return }
            do {
                let (id, draft) = try SessionBody.readWithID(try JSONValue(parsing: Array(line)), within: scope)
                body(draft.session(id, in: application, at: number))
            } catch {
                Console.error("\(path):\(number): \(Self.told(error))")
                throw ExitCode(1)
            }
        }
    }

    /// The content ids of a file; an empty line is nil, no content id.
    static func subjects(_ path: String) throws -> [ContentID?] {
        var subjects: [ContentID?] = []
        try Console.forEachLine(of: path) { number, line in
            guard let text = String(validating: line, as: UTF8.self) else {
                throw ValidationError("\(path):\(number): the subject is not UTF-8.")
            }
            subjects.append(text.isEmpty ? nil : ContentID(unchecked: text))
        }
        return subjects
    }

    private static func told(_ error: any Error) -> String {
        switch error {
        case let problem as Problem:
            let place = problem.pointer.map { "\($0): " } ?? ""
            let caret = problem.predicate.map { "\n\($0.caret)" } ?? ""
            return "\(place)\(problem.detail)\(caret)"
        default: return "\(error)"
        }
    }
}

extension SessionDraft {
    /// The draft as a session of its own.
    fileprivate func session(_ id: SessionID, in application: ApplicationID, at place: Int) -> SceneSession {
        SceneSession(
            key: SessionKey(application: application, session: id), role: role, configuration: configuration ?? "",
            device: device, activationState: activationState, conditions: conditions,
            creationSequence: Int64(place))
    }
}
