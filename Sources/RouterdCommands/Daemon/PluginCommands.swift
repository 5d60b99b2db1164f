import ArgumentParser
import RouterPlugin

/// `routerd plugins`.
struct PluginCommands: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugins",
        abstract: "Show the plugins of this program and the fields of their configuration.",
        discussion: """
            Plugins in a process of their own or behind a URL are those of "routerd plugin", which makes, checks and operates them.

            EXAMPLES
              routerd plugins
              routerd plugins --kind rule
              routerd plugins show routerd.rule.quiet-hours
            """,
        subcommands: [ListPlugins.self, ShowPlugin.self], defaultSubcommand: ListPlugins.self)
}

struct ListPlugins: PluginCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the plugins of this program.",
        discussion: """
            EXAMPLES
              routerd plugins list --kind source
              routerd plugins list --json
            """)

    @Option(help: ArgumentHelp("Only plugins of this kind: \(Self.kinds).", valueName: "kind"))
    var kind: String?
    @Flag(help: "Print JSON, the fields included, and a JSON Schema of them.")
    var json = false

    private static let kinds = PluginManifest.Kind.allCases.map(\.rawValue).joined(separator: ", ")

    func validate() throws {
        guard let kind, PluginManifest.Kind(rawValue: kind) == nil else { return }
        throw ValidationError("--kind must be one of: \(Self.kinds); '\(kind)' is not one.")
    }

    func run(with plugins: PluginSet) async throws {
        let manifests = plugins.manifests.filter { kind == nil || $0.kind.rawValue == kind }
        if json {
            Console.print(indented: ["plugins": .array(manifests.map(\.json))])
        } else {
            let rows = manifests.map { [$0.id.text, $0.kind.rawValue, $0.version, $0.status.rawValue, $0.summary] }
            for line in Table.aligned(["id", "kind", "version", "status", "summary"], rows) { Console.print(line) }
        }
    }
}

struct ShowPlugin: PluginCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a plugin and the fields of its configuration.",
        discussion: """
            EXAMPLES
              routerd plugins show routerd.rule.quiet-hours
            """)

    @Argument(help: "The id, as `routerd plugins` prints it.")
    var id: String
    @Flag(help: "Print JSON, with a JSON Schema of the fields.")
    var json = false

    func run(with plugins: PluginSet) async throws {
        guard let manifest = plugins.manifests.first(where: { $0.id == PluginID(unchecked: id) }) else {
            Console.error("There is no plugin \(id); `routerd plugins` lists the plugins of this program.")
            throw ExitCode(1)
        }
        if json { return Console.print(indented: manifest.json) }
        Console.print("\(Terminal.paint(manifest.id.text, .strong)) \(manifest.version)")
        Console.print(manifest.summary)
        let facts = [
            ["kind", manifest.kind.rawValue], ["status", manifest.status.rawValue],
            ["configured in", manifest.kind.place], ["network", manifest.permissions.network ?? "none"],
            ["files", manifest.permissions.files ?? "none"],
        ]
        Console.print("")
        for line in Table.aligned([], facts) { Console.print(line) }
        Console.print("")
        let fields = manifest.fields + manifest.commonFields
        guard !fields.isEmpty else { return Console.print("It has no fields.") }
        let rows = fields.map { field in
            [field.name, field.type.rawValue, field.unit ?? "-", field.fallback, field.explanation]
        }
        for line in Table.aligned(["field", "type", "unit", "default", "meaning"], rows) { Console.print(line) }
    }
}

extension PluginManifest.Kind {
    /// The place of the fields in the configuration or in the API.
    fileprivate var place: String {
        switch self {
        case .source: "options of a source: PUT /v1/applications/APPLICATION/sources/SOURCE"
        case .rule: "the list rules of the configuration file"
        case .validator: "the list passcodeValidators of the configuration file"
        case .format: "the format of an endpoint, as an object with the id"
        case .observer: "the list observers of the configuration file"
        }
    }
}

extension PluginField {
    /// The default value as JSON, or a word for a field without one.
    fileprivate var fallback: String {
        switch presence {
        case .required: "required"
        case .optional: "-"
        case .byDefault(let value): String(decoding: value.serialized(), as: UTF8.self)
        }
    }

    /// The meaning of the field, with its choices.
    fileprivate var explanation: String {
        guard !choices.isEmpty else { return summary }
        let names = choices.map { $0.asString ?? String(decoding: $0.serialized(), as: UTF8.self) }
        return "\(summary) One of: \(names.joined(separator: ", "))."
    }
}
