/// The faults of an entry whose parts are read one after another, all of them in one reading.
struct FaultList {
    var problems: [Problem] = []

    /// The part that `read` returns; nil if it has a fault, which is then in the list.
    @discardableResult
    mutating func gather<Part>(_ read: () throws(Problem) -> Part) -> Part? {
        do throws(Problem) {
            return try read()
        } catch {
            problems.append(error)
            return nil
        }
    }
}
