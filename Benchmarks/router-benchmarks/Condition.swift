/// A predicate as text, and a subject for which it holds.
struct Condition {
    var format: String
    var subject: String

    private static let words = ["doc", "user", "chat", "album", "note", "task", "order", "map"]

    /// A text that no other number has.
    static func document(_ number: Int) -> String {
        "myapp://\(words[number % 8])/\(number / 8)/page/\(number % 97)"
    }

    /// A predicate as applications have them: most name a document or a folder, some a pattern, one in ten with an
    /// exception.
    static func mixed(_ number: Int, _ random: inout Randomness) -> Condition {
        var condition = plain(number, &random)
        if random.happens(10) {
            let exception = random.pick(["ENDSWITH '/draft'", "CONTAINS '/private/'"])
            condition.format = "(\(condition.format)) AND NOT SELF \(exception)"
        }
        return condition
    }

    private static func plain(_ number: Int, _ random: inout Randomness) -> Condition {
        let document = document(number)
        switch random.draw(100) {
        case ..<36:
            return Condition(format: "SELF == '\(document)'", subject: document)
        case ..<57:
            let folder = "myapp://\(words[number % 8])/\(number / 8)/"
            return Condition(format: "SELF BEGINSWITH '\(folder)'", subject: folder + "page/\(random.draw(100))")
        case ..<67:
            let name = "/img-\(number).png"
            return Condition(format: "SELF ENDSWITH '\(name)'", subject: "myapp://album/\(random.draw(9_999))\(name)")
        case ..<77:
            let token = "-t\(number + 1_000_000)-"
            return Condition(format: "SELF CONTAINS '\(token)'", subject: "myapp://task/x\(token)y/\(random.draw(100))")
        case ..<87:
            let (start, end) = ("myapp://doc/", "/page/\(number + 1_000)")
            return Condition(format: "SELF LIKE '\(start)*\(end)'", subject: "\(start)\(random.draw(99_999))\(end)")
        case ..<91:
            let name = "myapp://Cafe/Menu-\(number)"
            return Condition(format: "SELF ==[cd] 'myapp://CAFÉ/menu-\(number)'", subject: name)
        case ..<96:
            let others = (1...4).map { "'\(Self.document(10_000_000 + 5 * number + $0))'" }.joined(separator: ", ")
            return Condition(format: "SELF IN {'\(document)', \(others)}", subject: document)
        default:
            return Condition(
                format: "SELF == '\(document)' OR SELF BEGINSWITH 'myapp://tag/\(number)/'",
                subject: "myapp://tag/\(number)/\(random.draw(100))")
        }
    }
}
