package import RouterPlugin

/// A sentence about one part of an installation, and the cure of a fault.
package struct Finding: Hashable, Sendable {
    package enum Verdict: String, Hashable, Sendable {
        case good = "ok"
        /// The daemon works, less well than it could.
        case doubtful = "warning"
        /// The daemon does not start, loses data, or does not deliver.
        case bad = "fault"
        /// It could not be found out.
        case unknown
    }

    /// The part, such as `database`.
    package var part: String
    package var verdict: Verdict
    package var sentence: String
    /// The remedy, for the operator; nil where there is nothing to do.
    package var cure: String?

    package init(_ part: String, _ verdict: Verdict, _ sentence: String, cure: String? = nil) {
        self.part = part
        self.verdict = verdict
        self.sentence = sentence
        self.cure = cure
    }

    package func write(to object: inout JSONObjectWriter) {
        object.field("part", part)
        object.field("verdict", verdict.rawValue)
        object.field("sentence", sentence)
        object.field("cure", cure)
    }
}
