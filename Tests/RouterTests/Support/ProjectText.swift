import Foundation

/// Texts of the project that tests compare with the code, found from this file, through links.
enum ProjectText {
    private static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A text file, by its path from the root.
    static func read(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}

extension String {
    /// The parts before, between and after the separators.
    func components(of separator: String) -> [String] { components(separatedBy: separator) }
}
