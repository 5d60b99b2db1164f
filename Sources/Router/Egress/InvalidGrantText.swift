/// Why a text in a grant is neither a host nor a range. The words complete "The value …".
package struct InvalidGrantText: Error, Hashable, Sendable {
    package let reason: String
}
