import Testing

@testable import RouterPlugin

/// All files of nst/JSONTestSuite.
struct JSONTestSuiteTests {
    @Test func malformedTextsAreRefused() throws {
        let names = try Fixtures.suite("n_")
        #expect(names.count == 188)
        for name in names {
            let bytes = try Fixtures.bytes("json/\(name)")
            let error = try #require(fault(bytes), "\(name) was accepted")
            #expect((0...bytes.count).contains(error.offset), "\(name): offset \(error.offset)")
        }
    }

    /// RFC 8259 says that names within an object *should* be unique; here they must be.
    @Test func wellFormedTextsAreAcceptedUnlessAKeyIsThereTwice() throws {
        let names = try Fixtures.suite("y_")
        #expect(names.count == 95)
        for name in names {
            let isDuplicate = name == "y_object_duplicated_key.json" || name == "y_object_duplicated_key_and_value.json"
            let code = fault(try Fixtures.bytes("json/\(name)"))?.code
            #expect(code == (isDuplicate ? "json-duplicate-key" : nil), "\(name)")
        }
    }

    /// The verdicts on what the standard leaves open are frozen: a change here changes what senders may send.
    @Test func unnamedFieldsStayAsTheyAre() throws {
        let names = try Fixtures.suite("i_")
        #expect(names.count == 35)
        #expect(Set(names) == Set(Self.open.keys.map { "i_\($0).json" }))
        for (name, code) in Self.open {
            #expect(fault(try Fixtures.bytes("json/i_\(name).json"))?.code == code, "\(name)")
        }
    }

    private static let open: [String: String?] = [
        "number_double_huge_neg_exp": nil,
        "number_huge_exp": nil,
        "number_neg_int_huge_exp": nil,
        "number_pos_double_huge_exp": nil,
        "number_real_neg_overflow": nil,
        "number_real_pos_overflow": nil,
        "number_real_underflow": nil,
        "number_too_big_neg_int": nil,
        "number_too_big_pos_int": nil,
        "number_very_big_negative_int": nil,
        "object_key_lone_2nd_surrogate": "json-lone-surrogate",
        "string_1st_surrogate_but_2nd_missing": "json-lone-surrogate",
        "string_1st_valid_surrogate_2nd_invalid": "json-lone-surrogate",
        "string_UTF-16LE_with_BOM": "json-not-utf-8",
        "string_UTF-8_invalid_sequence": "json-invalid-utf-8",
        "string_UTF8_surrogate_U+D800": "json-invalid-utf-8",
        "string_incomplete_surrogate_and_escape_valid": "json-lone-surrogate",
        "string_incomplete_surrogate_pair": "json-lone-surrogate",
        "string_incomplete_surrogates_escape_valid": "json-lone-surrogate",
        "string_invalid_lonely_surrogate": "json-lone-surrogate",
        "string_invalid_surrogate": "json-lone-surrogate",
        "string_invalid_utf-8": "json-invalid-utf-8",
        "string_inverted_surrogates_U+1D11E": "json-lone-surrogate",
        "string_iso_latin_1": "json-invalid-utf-8",
        "string_lone_second_surrogate": "json-lone-surrogate",
        "string_lone_utf8_continuation_byte": "json-invalid-utf-8",
        "string_not_in_unicode_range": "json-invalid-utf-8",
        "string_overlong_sequence_2_bytes": "json-invalid-utf-8",
        "string_overlong_sequence_6_bytes": "json-invalid-utf-8",
        "string_overlong_sequence_6_bytes_null": "json-invalid-utf-8",
        "string_truncated-utf-8": "json-invalid-utf-8",
        "string_utf16BE_no_BOM": "json-not-utf-8",
        "string_utf16LE_no_BOM": "json-not-utf-8",
        "structure_500_nested_arrays": "json-too-deep",
        "structure_UTF-8_BOM_empty_object": "json-byte-order-mark",
    ]

    /// Both readers stand on one scanner; this keeps it so.
    @Test func theLookupTakesAndRefusesTheSame() throws {
        let lookup = JSONLookup([["a"], ["a", "b"]])
        for name in try Fixtures.suite("") {
            let bytes = try Fixtures.bytes("json/\(name)")
            do {
                let answer = try lookup.search(bytes)
                #expect(try JSONValue(parsing: bytes).kind == answer.root, "\(name)")
            } catch {
                #expect(fault(bytes) == error, "\(name)")
            }
        }
    }
}
