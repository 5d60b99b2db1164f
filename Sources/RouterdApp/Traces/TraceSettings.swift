package import Router

/// The collector of spans: `traces` in the configuration.
package struct TraceSettings: Sendable, CustomStringConvertible, CustomReflectable {
    /// The URL to which spans are posted, such as `http://127.0.0.1:4318/v1/traces`.
    package var collector: String
    /// Header fields of each request; their values may be secrets.
    package var headers: [HeaderField] = []
    /// Whether the headers come from a file that every user of the machine may read.
    package var isOpenToAll = false
    /// The value of `service.name`.
    package var service = "routerd"
    /// How many of 100 notifications that come without a trace begin one.
    package var percent = 100

    package init(collector: String) { self.collector = collector }

    /// Without the headers.
    package var description: String { "spans to \(collector)" }

    package var customMirror: Mirror { Mirror(self, children: ["collector": collector]) }
}
