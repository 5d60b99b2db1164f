import Glibc
public import RouterPlugin

/// Appends events to a file, a line of JSON each.
///
/// Fields: `path`, the file, and `types`, the types of events that are written (all if missing); a type may end in `*`.
///
///     {"id": "routerd.observer.event-log", "path": "/var/log/routerd/events.jsonl", "types": ["scene.*"]}
///
/// The file is opened for each line, so that it may be moved away at any time.
public struct EventLogObserver: SceneObserver {
    /// The observer's name.
    public static let id = PluginID(unchecked: "routerd.observer.event-log")

    /// The observer as a configuration can ask for it.
    public static let kind = SceneObserverKind(
        id: id, summary: "Appends each event to a file as a line of JSON.", fields: fields,
        permissions: PluginPermissions(files: "appends to the file of the field path")
    ) { (configuration) throws(PluginConfigurationError) in try EventLogObserver(configuration: configuration) }

    private static let fields = [
        PluginField("path", .string, .required, summary: "The file; it is created if it does not exist."),
        PluginField("types", .strings, summary: "The event types that are written, such as scene.*; all, if left out."),
    ]

    /// The file could not be written.
    public struct Unwritable: Error, Sendable {
        /// The system's number for why.
        public let code: Int32
    }

    /// The observer's name.
    public var id: PluginID { Self.id }
    /// The file.
    public let path: String
    /// The types that are written; nil means all.
    public let types: Set<RouterEventType>?

    /// An observer that writes to that file.
    public init(path: String, types: Set<RouterEventType>? = nil) {
        self.path = path
        self.types = types
    }

    /// An observer as the configuration has it.
    ///
    /// - Throws: `unknown-field`, `missing-field`, `wrong-type` or `invalid-value` with the pointer to the field.
    public init(configuration: JSONValue) throws(PluginConfigurationError) {
        let configuration = try PluginConfiguration(configuration, declared: Self.fields)
        let path = try configuration.required("path", configuration.string("path"))
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw configuration.invalid("path", because: "must name a file")
        }
        var types: Set<RouterEventType>?
        for (place, name) in (try configuration.strings("types") ?? []).enumerated() {
            let found = RouterEventType.named(name)
            guard !found.isEmpty else {
                throw configuration.invalid("types/\(place)", because: "names no type of event")
            }
            types = (types ?? []).union(found)
        }
        self.init(path: path, types: types)
    }

    /// Appends a line.
    ///
    /// - Throws: `Unwritable`
    public func observe(_ event: RouterEvent) throws {
        guard types?.contains(event.type) ?? true else { return }
        let line = JSONWriter.object { event.write(to: &$0) } + [UInt8(ascii: "\n")]
        let file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
        guard file >= 0 else { throw Unwritable(code: errno) }
        defer { close(file) }
        let count = line.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        guard count == line.count else { throw Unwritable(code: count < 0 ? errno : ENOSPC) }
    }
}
