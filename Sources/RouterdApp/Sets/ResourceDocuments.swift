import HTTPTypes
import Router
import RouterPlugin

/// The documents of a set: YAML or JSON, each `{"kind", "application"?, "id", "spec"}`.
struct ResourceDocuments {
    /// A document, and the resource that it describes.
    private struct Entry {
        var file: ConfigurationFile
        var number: Int
        var draft: ResourceDraft
    }

    private var entries: [Entry] = []

    /// The resources in the order of the documents.
    var drafts: [ResourceDraft] { entries.map(\.draft) }

    /// Reads all documents, or reports all of their faults.
    ///
    /// - Parameters:
    ///   - scope: The scope in which the endpoints of an application are read.
    ///   - source: Reads the specification of a source.
    init(
        _ text: String, scope: (ApplicationID) -> EndpointScope,
        source: (JSONValue, SourceID) throws(Problem) -> SourceDraft
    ) throws(ConfigurationFaults) {
        var faults: [ConfigurationFault] = []
        var known: Set<ResourceRef> = []
        let documents = ConfigurationFile.documents(path: "", text: text)
        for (place, file) in documents.files.enumerated() {
            var found = file.faults
            if file.root == .null {
                faults += found.map { Self.placed($0, in: place + 1) }
                continue
            }
            do throws(Problem) {
                let draft = try Self.read(file.root, scope, source)
                if known.insert(draft.ref).inserted {
                    entries.append(Entry(file: file, number: place + 1, draft: draft))
                } else {
                    found.append(file.fault("/id", "\(draft.ref) is described twice."))
                }
            } catch {
                let caret = (error.caret ?? error.predicate?.caret).map { "\n\($0)" } ?? ""
                found.append(file.fault(error.pointer ?? "", error.detail + caret))
            }
            faults += found.map { Self.placed($0, in: place + 1) }
        }
        if let fault = documents.fault { faults.append(Self.placed(fault, in: documents.files.count + 1)) }
        guard faults.isEmpty else { throw ConfigurationFaults(faults) }
    }

    private static func placed(_ fault: ConfigurationFault, in number: Int) -> ConfigurationFault {
        var fault = fault
        fault.file = "document \(number)"
        return fault
    }

    private static func read(
        _ root: JSONValue, _ scope: (ApplicationID) -> EndpointScope,
        _ source: (JSONValue, SourceID) throws(Problem) -> SourceDraft
    ) throws(Problem) -> ResourceDraft {
        var reader = try ObjectReader(root)
        guard let word = try reader.string("kind") else { throw reader.missing("kind") }
        guard let kind = ResourceRef.Kind(rawValue: word) else {
            let known = ResourceRef.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            let hint = word == "Rule" ? " Rules stand in the daemon's configuration." : ""
            throw reader.invalid("kind", "must be one of \(known)").adding(hint)
        }
        guard let id = try reader.string("id") else { throw reader.missing("id") }
        let application = try reader.identifier("application", of: IdentifierKinds.Application.self)
        let spec = reader.value("spec") ?? .object(JSONObject())
        try reader.finish()
        do throws(Problem) {
            switch kind {
            case .application:
                let id = try Self.identifier(id, of: IdentifierKinds.Application.self)
                return .application(try ApplicationBody.read(spec, id: id, within: scope(id)))
            case .session:
                guard let application else {
                    throw Problem.withoutSpec("application", "A session needs its application.")
                }
                let id = try Self.identifier(id, of: IdentifierKinds.Session.self)
                let draft = try SessionBody.read(spec, within: scope(application))
                return .session(SessionKey(application: application, session: id), draft)
            case .source:
                let id = try Self.identifier(id, of: IdentifierKinds.Source.self)
                return .source(try source(Self.adding(application, to: spec), id))
            }
        } catch {
            throw error.isOutsideOfSpec ? error : error.within("/spec")
        }
    }

    /// A source's specification may leave its application to the document.
    private static func adding(_ application: ApplicationID?, to spec: JSONValue) -> JSONValue {
        guard let application, case .object(var object) = spec, object["application"] == nil else { return spec }
        object["application"] = .string(application.text)
        return .object(object)
    }

    private static func identifier<Kind>(_ text: String, of kind: Kind.Type) throws(Problem) -> Identifier<Kind> {
        do throws(InvalidIdentifier) {
            return try Identifier<Kind>(text)
        } catch {
            throw Problem.withoutSpec("id", error.description)
        }
    }

    /// The fault of a resource that the engine refuses.
    func fault(of place: Int, _ problem: Problem) -> ConfigurationFault {
        let entry = entries[place]
        return Self.placed(entry.file.fault("/spec" + (problem.pointer ?? ""), problem.detail), in: entry.number)
    }
}

extension Problem {
    /// A fault of the document around a specification.
    fileprivate static func withoutSpec(_ field: String, _ detail: String) -> Problem {
        Problem(.unprocessableContent, "invalid-document", detail, pointer: "/\(field)")
    }

    fileprivate var isOutsideOfSpec: Bool { code == "invalid-document" }

    fileprivate func within(_ pointer: String) -> Problem {
        var problem = self
        problem.pointer = pointer + (self.pointer ?? "")
        return problem
    }

    fileprivate func adding(_ sentence: String) -> Problem {
        var problem = self
        problem.detail += sentence
        return problem
    }
}
