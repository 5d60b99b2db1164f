import HTTPTypes
import Router
package import RouterPlugin

/// The documents of a set: YAML or JSON, each `{"kind", "application"?, "id", "spec"}`.
///
/// The documents of kind `Rule` are one list of rules, in their order.
package struct ResourceDocuments {
    /// A document of kind `Rule`, as an entry of a list of rules.
    private struct RuleEntry {
        var file: ConfigurationFile
        var number: Int
        var entry: JSONValue
    }

    /// The content of a document.
    private enum Content {
        case resource(ResourceDraft)
        case rule(JSONValue)
    }

    private static let ruleKind = "Rule"

    /// A document, and the resource that it describes.
    private struct Entry {
        var file: ConfigurationFile
        var number: Int
        var draft: ResourceDraft
    }

    private var entries: [Entry] = []

    /// The resources in the order of the documents.
    var drafts: [ResourceDraft] { entries.map(\.draft) }
    /// The rules that take the place of those in use; nil if no document is a rule.
    private(set) var rules: RuleSetDraft?

    /// Reads all documents, or reports all of their faults.
    ///
    /// - Parameters:
    ///   - scope: The scope in which the endpoints of an application are read.
    ///   - catalog: The kinds that a rule may name.
    ///   - source: Reads the specification of a source.
    init(
        _ text: String, scope: (ApplicationID) -> EndpointScope, rules catalog: RoutingRuleCatalog,
        source: (JSONValue, SourceID) throws(Problem) -> SourceDraft
    ) throws(ConfigurationFaults) {
        var faults: [ConfigurationFault] = []
        var known: Set<ResourceRef> = []
        var ruleEntries: [RuleEntry] = []
        let documents = ConfigurationFile.documents(path: "", text: text)
        for (place, file) in documents.files.enumerated() {
            var found = file.faults
            if file.root == .null {
                faults += found.map { Self.placed($0, in: place + 1) }
                continue
            }
            do throws(Problem) {
                switch try Self.read(file.root, scope, source) {
                case .rule(let entry): ruleEntries.append(RuleEntry(file: file, number: place + 1, entry: entry))
                case .resource(let draft) where known.insert(draft.ref).inserted:
                    entries.append(Entry(file: file, number: place + 1, draft: draft))
                case .resource(let draft): found.append(file.fault("/id", "\(draft.ref) is described twice."))
                }
            } catch {
                let caret = (error.caret ?? error.predicate?.caret).map { "\n\($0)" } ?? ""
                found.append(file.fault(error.pointer ?? "", error.detail + caret))
            }
            faults += found.map { Self.placed($0, in: place + 1) }
        }
        if let fault = documents.fault { faults.append(Self.placed(fault, in: documents.files.count + 1)) }
        faults += read(ruleEntries, catalog)
        guard faults.isEmpty else { throw ConfigurationFaults(faults) }
    }

    /// Reads the rules; returns their faults.
    private mutating func read(_ documents: [RuleEntry], _ catalog: RoutingRuleCatalog) -> [ConfigurationFault] {
        if documents.isEmpty { return [] }
        let list = JSONValue.array(documents.map(\.entry))
        let (rules, faults) = catalog.readBounded(list)
        self.rules = RuleSetDraft(rules, origin: .request, document: list.serialized())
        return faults.map { fault in
            let parts = fault.pointer.split(separator: "/", maxSplits: 1)
            let document = documents[parts.first.flatMap { Int($0) } ?? 0]
            let pointer = parts.count > 1 ? "/spec/\(parts[1])" : "/id"
            let place = pointer == "/spec/name" ? "/id" : pointer
            return Self.placed(document.file.fault(place, fault.message), in: document.number)
        }
    }

    private static func placed(_ fault: ConfigurationFault, in number: Int) -> ConfigurationFault {
        var fault = fault
        fault.file = "document \(number)"
        return fault
    }

    private static func read(
        _ root: JSONValue, _ scope: (ApplicationID) -> EndpointScope,
        _ source: (JSONValue, SourceID) throws(Problem) -> SourceDraft
    ) throws(Problem) -> Content {
        var reader = try ObjectReader(root)
        guard let word = try reader.string("kind") else { throw reader.missing("kind") }
        guard word == ruleKind || ResourceRef.Kind(rawValue: word) != nil else {
            let known = (ResourceRef.Kind.allCases.map(\.rawValue) + [ruleKind]).joined(separator: ", ")
            throw reader.invalid("kind", "must be one of \(known)")
        }
        guard let id = try reader.string("id") else { throw reader.missing("id") }
        let application = try reader.identifier("application", of: IdentifierKinds.Application.self)
        let spec = reader.value("spec") ?? .object(JSONObject())
        try reader.finish()
        do throws(Problem) {
            guard let kind = ResourceRef.Kind(rawValue: word) else {
                return .rule(try rule(spec, named: id, for: application))
            }
            return .resource(try resource(kind, id, application, spec, scope, source))
        } catch {
            throw error.isOutsideOfSpec ? error : error.within("/spec")
        }
    }

    private static func resource(
        _ kind: ResourceRef.Kind, _ id: String, _ application: ApplicationID?, _ spec: JSONValue,
        _ scope: (ApplicationID) -> EndpointScope, _ source: (JSONValue, SourceID) throws(Problem) -> SourceDraft
    ) throws(Problem) -> ResourceDraft {
        switch kind {
        case .application:
            let id = try identifier(id, of: IdentifierKinds.Application.self)
            return .application(try ApplicationBody.read(spec, id: id, within: scope(id)))
        case .session:
            guard let application else {
                throw Problem.withoutSpec("application", "A session needs its application.")
            }
            let id = try identifier(id, of: IdentifierKinds.Session.self)
            let key = SessionKey(application: application, session: id)
            return .session(key, try SessionBody.read(spec, of: key, within: scope(application)))
        case .source:
            let id = try identifier(id, of: IdentifierKinds.Source.self)
            return .source(try source(adding(application, to: spec), id))
        }
    }

    /// The name by which an entry of a list of rules is known: that which it gives itself, or that of its plugin.
    static func name(ofRule entry: JSONValue) -> String? {
        (entry["name"] ?? entry["plugin"] ?? entry["id"])?.asString
    }

    /// A document of kind `Rule` as an entry of a list of rules: its id is the name of the rule, and its application the only
    /// one that the rule applies to. A rule without a name of its own is known by the id of its plugin.
    private static func rule(
        _ spec: JSONValue, named name: String, for application: ApplicationID?
    ) throws(Problem) -> JSONValue {
        var reader = try ObjectReader(spec)
        if reader.value("name") != nil { throw reader.invalid("name", "is the id of the document") }
        var entry = JSONObject()
        if !(Self.name(ofRule: spec) ?? "").isSame(as: name) { entry["name"] = .string(name) }
        for member in spec.asObject?.members ?? [] { entry[member.key] = member.value }
        guard let application else { return .object(entry) }
        if reader.value("applications") != nil { throw reader.invalid("applications", "is the document's application") }
        entry["applications"] = .array([.string(application.text)])
        return .object(entry)
    }

    /// An entry of a list of rules as a document of kind `Rule`, by which a set makes the same entry.
    package static func document(ofRule entry: JSONValue) -> JSONObject {
        var (document, spec) = (JSONObject(), JSONObject())
        document["kind"] = .string(ruleKind)
        for member in entry.asObject?.members ?? [] where member.key != "name" { spec[member.key] = member.value }
        document["id"] = name(ofRule: entry).map(JSONValue.string) ?? .null
        document["spec"] = .object(spec)
        return document
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
}
