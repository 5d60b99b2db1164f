import Testing

@testable import RouterdApp

@Suite("lines of a plugin's standard error")
struct LogLinesTests {
    @Test func linesAreCutAndNoneIsLost() {
        var lines = LogLines(mostBytes: 4)
        #expect(lines.take(Array("ab".utf8)) == [])
        #expect(lines.take(Array("cdef\n\nghijkl\nm".utf8)) == ["abcd", "", "ghij"])
        #expect(lines.take(Array("nopq".utf8)) == [])
        #expect(lines.take(Array("rst\nlast".utf8)) == ["mnop"])
        #expect(lines.finish() == "last")
        #expect(lines.finish() == nil)
    }
}
