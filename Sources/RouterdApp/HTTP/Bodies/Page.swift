import Foundation
import HTTPTypes
package import RouterPlugin

/// A part of a list that is ordered by a text key.
package struct Page<Element: Sendable>: Sendable {
    package let elements: ArraySlice<Element>
    /// The key after which the next page begins; nil after the last page.
    package let next: String?

    /// - Parameter elements: All elements of the list, in order of the key's bytes.
    package init(of elements: [Element], after: String?, limit: Int, key: (Element) -> String) {
        var start = elements.startIndex
        if let after {
            start = elements.firstIndex { after.utf8.lexicographicallyPrecedes(key($0).utf8) } ?? elements.endIndex
        }
        self.elements = elements[start...].prefix(limit)
        next = self.elements.endIndex < elements.endIndex ? self.elements.last.map { Cursor.write(key($0)) } : nil
    }

    /// The page as JSON: the elements under the list's name, and the cursor of the next page or null.
    package func body(_ name: String, _ write: (inout JSONArrayWriter, Element) -> Void) -> [UInt8] {
        JSONWriter.object { body in
            body.array(name) { array in for element in elements { write(&array, element) } }
            body.field("cursor", next)
        }
    }
}

/// The cursor at the end of a page, encoded so that clients do not build one themselves.
package enum Cursor {
    package static func write(_ key: String) -> String { Data(key.utf8).base64EncodedString().urlSafe }

    package static func read(_ text: String?) throws(Problem) -> String? {
        guard let text else { return nil }
        guard let bytes = Data(base64Encoded: text.fromURLSafe), let key = String(validating: bytes, as: UTF8.self)
        else {
            throw Problem.invalidCursor
        }
        return key
    }
}

extension Problem {
    /// The text is no cursor of the list.
    static var invalidCursor: Problem {
        Problem(.badRequest, "invalid-cursor", "This is not a cursor of this list.")
    }
}

extension String {
    fileprivate var urlSafe: String {
        String(compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
    }
    fileprivate var fromURLSafe: String {
        let text = map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }
}
