/// The places beyond its arguments that a plugin reaches, as its author declares them.
///
///     PluginPermissions(files: "appends to the file of the field path")
///
/// A plugin that is compiled into the program runs with the program's rights, and the declaration binds its author. A plugin in
/// a process of its own is held to it by the kernel.
public struct PluginPermissions: Hashable, Sendable {
    /// The use of the network, in words that complete "It …"; nil if there is none.
    public let network: String?
    /// The files that are read or written, in words that complete "It …"; nil if there are none.
    public let files: String?

    /// A plugin that reaches these places.
    public init(network: String? = nil, files: String? = nil) {
        self.network = network
        self.files = files
    }

    /// Neither the network nor files: the permissions of a pure value.
    public static let none = PluginPermissions()

    /// Both members; null where there is nothing.
    var json: JSONValue {
        ["network": network.map(JSONValue.string) ?? .null, "files": files.map(JSONValue.string) ?? .null]
    }
}
