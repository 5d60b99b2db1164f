/// Why a text of a grant names no host and no range. The words complete "The value …".
package struct InvalidGrantText: Error, Hashable, Sendable {
    package let reason: String
}
