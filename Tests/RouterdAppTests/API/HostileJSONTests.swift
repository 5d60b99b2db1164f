import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// One verdict on a document at every entry point: accepted by all, or refused by all with the same code at the same
/// byte, and then nothing has changed. docs/API.md, "JSON that is taken", has the rules.
@Suite("Hostile JSON", .longest)
struct HostileJSONTests {
    private static let ways = JSONWay.plain + JSONWay.sources

    @Test func everyWayTakesTheSame() async throws {
        try await withDaemon { daemon in
            try await daemon.putWays()
            var number = 0
            for json in HostileJSON.taken {
                for way in Self.ways where json.isLine || !way.isBatch {
                    number += 1
                    let verdict = try await way.verdict(on: json.make(way.slot(number)).bytes, by: daemon)
                    let isTaken = way.takenCode.map { verdict.code == $0 } ?? verdict.isTaken
                    #expect(isTaken, "\(json.name) at \(way.name) \(way.path): \(verdict)")
                }
            }
        }
    }

    @Test func everyWayRefusesTheSameAndNothingChanges() async throws {
        try await withDaemon { daemon in
            try await daemon.putWays()
            let before = try await daemon.everything()
            let commits = daemon.store.commits.count
            var number = 0
            for json in HostileJSON.refused {
                for way in Self.ways where json.isLine || !way.isBatch {
                    // All fields of an activation are optional, and so is its body.
                    if way.name == "activation", json.name == "nothing" { continue }
                    number += 1
                    let (bytes, offset) = json.make(way.slot(number))
                    let expected = JSONWay.Verdict(status: 400, code: json.code, offset: offset)
                    let verdict = try await way.verdict(on: bytes, by: daemon)
                    #expect(verdict == expected, "\(json.name) at \(way.name) \(way.path)")
                }
                #expect(daemon.store.commits.count == commits, "\(json.name)")
            }
            #expect(try await daemon.everything() == before)
        }
    }

    /// A body beyond the limit is not read to its end; a line of a batch has been read, and so its fault has a place.
    @Test func oneByteMoreIsTooMuch() async throws {
        try await withDaemon { daemon in
            try await daemon.putWays()
            let commits = daemon.store.commits.count
            for way in Self.ways {
                let (bytes, offset) = HostileJSON.tooLong.make(way.slot(0))
                let verdict = try await way.verdict(on: bytes, by: daemon)
                let expected =
                    way.isBatch
                    ? JSONWay.Verdict(status: 413, code: "json-too-long", offset: offset)
                    : JSONWay.Verdict(status: 413, code: "body-too-large", offset: nil)
                #expect(verdict == expected, "\(way.name) \(way.path)")
            }
            #expect(daemon.store.commits.count == commits)
        }
    }

    /// Files of nst/JSONTestSuite (MIT licence, © 2016 Nicolas Seriot), from the folder of the parser's tests, as whole
    /// bodies. Every entry point refuses a file that the parser refuses; any other file is nowhere a fault of JSON.
    private static let suite = [
        "i_number_huge_exp", "i_number_too_big_neg_int", "i_object_key_lone_2nd_surrogate",
        "i_string_UTF-16LE_with_BOM",
        "i_string_UTF8_surrogate_U+D800", "i_string_inverted_surrogates_U+1D11E", "i_string_iso_latin_1",
        "i_string_overlong_sequence_6_bytes_null", "i_string_truncated-utf-8", "i_string_utf16BE_no_BOM",
        "i_structure_500_nested_arrays", "i_structure_UTF-8_BOM_empty_object", "n_array_unclosed_with_object_inside",
        "n_multidigit_number_then_00", "n_object_lone_continuation_byte_in_key_and_trailing_comma",
        "n_string_unescaped_ctrl_char", "n_structure_100000_opening_arrays", "n_structure_null-byte-outside-string",
        "n_structure_object_with_comment", "n_structure_open_array_object", "n_structure_U+2060_word_joined",
        "n_structure_UTF8_BOM_no_data", "y_number_0e1", "y_object_duplicated_key_and_value", "y_object_empty_key",
        "y_object_escaped_null_in_key", "y_object_extreme_numbers", "y_string_nonCharacterInUTF-8_U+10FFFF",
        "y_string_u+2028_line_sep", "y_structure_lonely_null",
    ]

    @Test func filesOfTheTestSuiteAreJudgedAlike() async throws {
        try await withDaemon { daemon in
            try await daemon.putWays()
            for name in Self.suite {
                let bytes = try ProjectFiles.jsonTest(name)
                let fault = Self.fault(bytes)
                for way in Self.ways where !way.isBatch || !bytes.contains(0x0A) {
                    let verdict = try await way.verdict(on: bytes, by: daemon)
                    if let fault {
                        let expected = JSONWay.Verdict(status: 400, code: fault.code, offset: fault.offset)
                        #expect(verdict == expected, "\(name) at \(way.name) \(way.path)")
                    } else {
                        #expect(verdict.code?.hasPrefix("json-") != true, "\(name) at \(way.name): \(verdict)")
                    }
                }
            }
        }
    }

    private static func fault(_ bytes: [UInt8]) -> JSONError? {
        do throws(JSONError) {
            _ = try JSONValue(parsing: bytes)
            return nil
        } catch {
            return error
        }
    }

    /// The Kelvin sign is canonically equivalent to a K, but its field is another one.
    @Test func fieldsAreKnownByTheirBytes() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            let answer = try await daemon.call(
                .put, "\(TestDaemon.gallery)/sessions/win-1",
                #"{"endpoint":{"url":"http://127.0.0.1:9/hook","signing\#u{212A}eys":[]}}"#)
            expectProblem(answer, 400, "unknown-field")
            expectProblem(try await daemon.session("win-1"), 404, "unknown-session")
        }
    }
}
