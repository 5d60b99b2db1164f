/// An answer in the form that a sender's protocol asks for, such as the echo of Slack's challenge.
public struct SourceResponse: Hashable, Sendable {
    /// A header field of the answer.
    public struct Field: Hashable, Sendable {
        /// The name in lower case.
        public let name: String
        /// The value.
        public let value: String

        /// Both parts at once.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The HTTP status.
    public var status: Int
    /// Header fields, `content-type` included; names in lower case.
    public var headers: [Field]
    /// The body.
    public var body: [UInt8]

    /// All parts at once.
    public init(status: Int, headers: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
