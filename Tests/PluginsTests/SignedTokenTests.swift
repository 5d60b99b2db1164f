import Plugins
import Router
import RouterPlugin
import Testing

/// Signatures of tokens, with the examples of RFC 7515, appendices A.2 and A.3.
@Suite("Signed tokens")
struct SignedTokenTests {
    private static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    private static let rs256 = """
        eyJhbGciOiJSUzI1NiJ9.\(payload).\
        cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t\
        1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12j\
        zDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQ\
        Ge77Rw
        """
    private static let es256 = """
        eyJhbGciOiJFUzI1NiJ9.\(payload).\
        DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q
        """
    private static let rsaKey = """
        {"kty":"RSA","kid":"a","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJ\
        PMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUs\
        LA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8\
        q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}
        """
    private static let p256Key = """
        {"kty":"EC","kid":"b","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",\
        "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
        """

    private func token(_ text: String) throws -> SignedToken { try #require(SignedToken(text, atMost: 10_000)) }

    private func key(_ text: String) throws -> ProofKey { try ProofKey(jwk: JSONValue(parsing: Array(text.utf8))) }

    @Test("The examples of RFC 7515 are signed by their keys, and by no other")
    func examples() throws {
        let (rsa, p256) = (try key(Self.rsaKey), try key(Self.p256Key))
        #expect(rsa.isSound && p256.isSound)
        #expect(try token(Self.rs256).isSigned(by: rsa))
        #expect(try token(Self.es256).isSigned(by: p256))
        #expect(try !token(Self.rs256).isSigned(by: p256))
        #expect(try !token(Self.es256).isSigned(by: rsa))
        #expect(try token(Self.es256).claims["iss"] == "joe")
    }

    @Test("A token with another byte is not signed")
    func forged() throws {
        let (rsa, p256) = (try key(Self.rsaKey), try key(Self.p256Key))
        for (text, key) in [(Self.rs256, rsa), (Self.es256, p256)] {
            let parts = text.split(separator: ".").map(String.init)
            let header = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8))
            let claims = Base64URL.encode(Array(#"{"iss":"joe"}"#.utf8))
            for forged in [
                "\(header).\(parts[1]).\(parts[2])", "\(parts[0]).\(claims).\(parts[2])", "\(parts[0]).\(parts[1]).",
                "\(parts[0]).\(parts[1]).AAAA", "\(parts[0]).\(parts[1]).\(parts[2])AAAA",
            ] {
                #expect(try !token(forged).isSigned(by: key), "\(forged)")
            }
        }
    }

    @Test("Numbers that no key has are found")
    func unsound() throws {
        #expect(!ProofKey(id: "a", .p256(x: Array(repeating: 1, count: 32), y: Array(repeating: 1, count: 32))).isSound)
        #expect(!ProofKey(id: "a", .rsa(modulus: Array(repeating: 255, count: 64), exponent: [1, 0, 1])).isSound)
    }
}
