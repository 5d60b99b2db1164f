"""Requests as bytes that servers are known to read in different ways, and the answers to them: the table of `raw`.

A row says the answers in their order, each as its status and code; after the last one the daemon closes the connection. A
second request in a row's bytes is either a request of its own or part of a body. A smuggled one would be a further answer.
"""

from dataclasses import dataclass

TARGET = "/v1/applications/com.example.Raw/notifications"
MALFORMED = "400 malformed-request"
VERSION, HOST = "400 http-version-not-supported", "400 host-invalid"
LONG, HEAD = "413 body-too-large", "400 head-too-large"
UNKNOWN_CODING = "501 transfer-encoding-unknown"


@dataclass(frozen=True)
class Raw:
    name: str
    data: bytes
    answers: tuple[str, ...]
    # Not so yet: docs/CHAOS.md says why.
    is_open: bool = False


def raw(name: str, text: str, *answers: str, is_open: bool = False) -> Raw:
    return Raw(name, text.encode("latin-1"), answers, is_open)


def post(*fields: str, body: str = "{}", target: str = TARGET, version: str = "1.1", host: str = "Host: localhost") -> str:
    """A post with these fields as they stand."""
    return "\r\n".join([f"POST {target} HTTP/{version}", *([host] if host else []), *fields, "", ""]) + body


def get(target: str = "/healthz", *fields: str, host: str = "Host: localhost", version: str = "1.1") -> str:
    """A get that ends its connection."""
    return "\r\n".join([f"GET {target} HTTP/{version}", *([host] if host else []), "Connection: close", *fields, "", ""])


def length(value: str) -> str:
    return f"Content-Length: {value}"


CHUNKED, CLOSE = "Transfer-Encoding: chunked", "Connection: close"
SMUGGLED = get("/readyz")


def smuggling() -> list[Raw]:
    """Two ends for one body, and chunks that others read differently."""
    chunk = "2\r\n{}\r\n0\r\n\r\n"
    pairs = [
        ("length, then chunks", (length("2"), CHUNKED), chunk, MALFORMED),
        ("chunks, then length", (CHUNKED, length("2")), chunk, MALFORMED),
        ("chunks and a length of 0", (length("0"), CHUNKED), chunk + SMUGGLED, MALFORMED),
        ("two lengths that differ", (length("2"), length("40")), "{}" + SMUGGLED, MALFORMED),
        ("two lengths in one field", (length("2, 40"),), "{}" + SMUGGLED, MALFORMED),
        ("one length twice in one field", (length("2, 2"),), "{}" + SMUGGLED, MALFORMED),
        ("chunked twice", (CHUNKED, CHUNKED), chunk + SMUGGLED, MALFORMED),
        ("chunked twice in one field", ("Transfer-Encoding: chunked, chunked",), chunk + SMUGGLED, MALFORMED),
        ("identity", ("Transfer-Encoding: identity",), "{}" + SMUGGLED, UNKNOWN_CODING),
        ("identity before chunks", ("Transfer-Encoding: identity, chunked",), chunk + SMUGGLED, UNKNOWN_CODING),
        ("a coding that is nearly chunked", ("Transfer-Encoding: chunkedx",), chunk + SMUGGLED, UNKNOWN_CODING),
        ("chunked in quotes", ('Transfer-Encoding: "chunked"',), chunk + SMUGGLED, UNKNOWN_CODING),
        ("chunked after a vertical tab", ("Transfer-Encoding: \x0bchunked",), chunk + SMUGGLED, MALFORMED),
        ("a blank before the colon of chunked", ("Transfer-Encoding : chunked",), chunk + SMUGGLED, MALFORMED),
        ("chunked in a folded line", ("Transfer-Encoding:\r\n chunked",), chunk + SMUGGLED, MALFORMED),
        ("chunked after a bare CR", ("X: y\rTransfer-Encoding: chunked", length("2")), "{}" + SMUGGLED, MALFORMED),
        ("chunked after a bare LF", ("X: y\nTransfer-Encoding: chunked", length("2")), "{}", MALFORMED),
    ]
    return [raw(name, post(*fields, body=body), answer) for name, fields, body, answer in pairs]


def chunks() -> list[Raw]:
    """Sizes and ends of chunks."""
    bad = [
        ("a size with 0x", "0x2\r\n{}\r\n0\r\n\r\n"), ("a size with a sign", "+2\r\n{}\r\n0\r\n\r\n"),
        ("a negative size", "-2\r\n{}\r\n0\r\n\r\n"), ("no size", "\r\n{}\r\n0\r\n\r\n"),
        ("a size that is no number", "g\r\n{}\r\n0\r\n\r\n"), ("a size of 2^64", "10000000000000000\r\n{}\r\n0\r\n\r\n"),
        ("a chunk longer than its size", "1\r\n{}\r\n0\r\n\r\n"),
        ("a chunk without an end", "2\r\n{}0\r\n\r\n"), ("a size that ends in LF", "2\n{}\r\n0\r\n\r\n"),
        ("a chunk that ends in LF", "2\r\n{}\n0\r\n\r\n"), ("a blank before the size", " 2\r\n{}\r\n0\r\n\r\n"),
        ("a trailer that would be a length", "2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n"),
    ]
    good = [
        ("a chunk", "2\r\n{}\r\n0\r\n\r\n"), ("a chunk for each byte", "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"),
        ("a size in capitals, with zeros", "00000A\r\n{\"aps\":{}}\r\n0\r\n\r\n"),
        ("an extension", "2;a=b\r\n{}\r\n0\r\n\r\n"), ("a trailer", "2\r\n{}\r\n0\r\nX-A: b\r\n\r\n"),
    ]
    return [raw(name, post(CHUNKED, CLOSE, body=body), MALFORMED) for name, body in bad] + [
        raw(name, post(CHUNKED, CLOSE, body=body), "202") for name, body in good]


def lengths() -> list[Raw]:
    """Numbers that are a length, and those that are none."""
    none = ["-1", "+2", "0x2", "2.0", "2e0", "two", "", " ", "2 2", "2;", "\xb2", "18446744073709551616", "9" * 40]
    beyond = [str(1 << 32), str((1 << 63) - 1)]
    high = [str(1 << 63), str((1 << 64) - 1)]
    return (
        [raw(f"a length of '{value[:24]}'", post(length(value)), MALFORMED) for value in none]
        + [raw(f"a length of {value}", post(length(value)), LONG) for value in beyond]
        # Beyond a signed number of 64 bits, which once passed the check of the size.
        + [raw(f"a length of {value}", post(length(value)), LONG) for value in high]
        + [raw(f"an awaited length of {value}", post(length(value), "Expect: 100-continue"), LONG) for value in high]
        + [raw("a length with zeros", post(length("0002"), CLOSE), "202"),
           raw("blanks around a length", post("Content-Length:  2  ", CLOSE), "202"),
           # RFC 9110 has a tab count as a blank; the daemon's parser refuses it, which confuses no other server.
           raw("tabs around a length", post("Content-Length:\t2\t", CLOSE), MALFORMED)])


def lines() -> list[Raw]:
    """Request lines and fields."""
    return [
        raw("an empty line before the request", "\r\n" + get(), "200"),
        raw("a tab between method and target", "GET\t/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", MALFORMED),
        raw("a blank in the target", "GET /health z HTTP/1.1\r\nHost: localhost\r\n\r\n", MALFORMED),
        raw("a NUL in the target", get("/health\0z"), MALFORMED),
        raw("DEL in a field", get("/healthz", "X-A: \x7f"), MALFORMED),
        raw("NUL in a field", get("/healthz", "X-A: a\0b"), MALFORMED),
        raw("a field without a colon", get("/healthz", "X-A"), MALFORMED),
        raw("a field without a name", get("/healthz", ": a"), MALFORMED),
        raw("a blank in a name", get("/healthz", "X A: a"), MALFORMED),
        raw("a parenthesis in a name", get("/healthz", "X(A): a"), MALFORMED),
        raw("a folded field", get("/healthz", "X-A: a\r\n b"), MALFORMED),
        raw("a first field that is folded", "GET /healthz HTTP/1.1\r\n X: a\r\nHost: localhost\r\n\r\n", MALFORMED),
        raw("a method in small letters", get().replace("GET", "get"), MALFORMED),
        raw("an unknown method", get().replace("GET", "BREW"), MALFORMED),
        raw("no method", " /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", MALFORMED),
        raw("HTTP/1.2", get(version="1.2"), VERSION),
        raw("HTTP/2.0", get(version="2.0"), VERSION),
        raw("HTTP/11", get().replace("HTTP/1.1", "HTTP/11"), VERSION),
        raw("http/1.1 in small letters", get().replace("HTTP/1.1", "http/1.1"), MALFORMED),
        raw("a name of 40,000 bytes", get("/healthz", "X" * 40_000 + ": a"), HEAD),
        raw("129 fields", get("/healthz", *(f"X-{number}: a" for number in range(129))), HEAD),
    ]


def hosts() -> list[Raw]:
    """Targets and hosts. Hosts other than loopback are another server's in development mode."""
    wrong = ["a b", "a,b", "localhost@evil.example", "localhost/", "localhost#", "localhost?x", "local\xe9"]
    other = ["", "localhost:port", "[::1", "::1", "%6c%6f", "evil.example", "localhost.evil.example",
             "127.0.0.1.evil.example",
             "128.0.0.1", "0.0.0.0", "[::2]",
             "127.1", "2130706433", "0x7f000001", "[::ffff:10.0.0.1]", "localhost."]
    own = ["localhost", "LOCALHOST:80", "a.localhost", "127.0.0.1:1", "127.255.255.254", "[::1]:8080", "localhost:99999"]
    path = "/v1/applications/com.example.Raw"
    return [
        *(raw(f"the host '{each}'", get(path, host=f"Host: {each}"), HOST) for each in wrong),
        *(raw(f"the host '{each}'", get(path, host=f"Host: {each}"), "421 host-not-local") for each in other),
        *(raw(f"the host {each}", get(path, host=f"Host: {each}"), "200") for each in own),
        raw("no host", get(path, host=""), "400 host-missing"),
        raw("two hosts", get(path, "Host: localhost"), "400 host-repeated"),
        raw("a host in the target", get(f"http://localhost{path}"), "200"),
        raw("another host in the target", get(f"http://evil.example{path}"), HOST),
        raw("a person in the target", get(f"http://me@localhost{path}"), HOST),
        raw("a target without a slash", get("healthz"), MALFORMED),
        raw("the target of CONNECT", "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\nConnection: close\r\n\r\n",
            "404 not-found"),
        raw("a star", get("*"), "404 not-found"),
        raw("dots in the target", get("/v1/../healthz"), "404 not-found"),
        raw("two slashes", get("//healthz"), "404 not-found"),
        raw("an escaped slash", get("/v1%2Fapplications"), "404 not-found"),
        raw("an escape that is none", get("/v1/applications/%zz"), "400 invalid-application-id"),
        raw("an escaped NUL", get("/v1/applications/a%00b"), "400 invalid-application-id"),
        raw("a fragment", get("/healthz#a"), "404 not-found"),
    ]


def origins() -> list[Raw]:
    """Web pages: those of this machine may, others may not."""
    others = ["http://evil.example", "null", "http://localhost.evil.example", "http://evil.example:80", "file://",
              "http://127.0.0.1.evil.example", "http://localhost, http://evil.example", "x"]
    own = ["http://localhost", "http://localhost:3000", "https://127.0.0.1", "http://[::1]:5000"]
    path = "/v1/applications/com.example.Raw"
    return [
        *(raw(f"the origin {each}", get(path, f"Origin: {each}"), "403 origin-not-local") for each in others),
        *(raw(f"the origin {each}", get(path, f"Origin: {each}"), "200") for each in own),
        raw("two origins", get(path, "Origin: http://localhost", "Origin: http://evil.example"), "403 origin-not-local"),
    ]


def pipelines() -> list[Raw]:
    """Several requests on a connection: each is answered, in order, or none behind the one that ends it."""
    one = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return [
        raw("five at once", one * 4 + get(), "200", "200", "200", "200", "200"),
        raw("none behind the last", get() + SMUGGLED, "200"),
        raw("a malformed one behind", one + "x\r\n\r\n" + SMUGGLED, "200", MALFORMED),
        raw("a body that is a request", post(length(str(len(SMUGGLED))), CLOSE, body=SMUGGLED), "400 json-unexpected-byte"),
        raw("a GET with a body that is a request", get("/healthz", length(str(len(SMUGGLED)))) + SMUGGLED, "200"),
        raw("an answer before the body, then another", post(length("2"), target="/nowhere") + get(), "404 not-found", "200"),
        raw("chunks, then another", post(CHUNKED, body="2\r\n{}\r\n0\r\n\r\n") + get(), "202", "200"),
        raw("HTTP/1.0 ends after one", "GET /healthz HTTP/1.0\r\n\r\n" + SMUGGLED, "200"),
        raw("an expectation that is none", post(length("2"), "Expect: 200-ok"), "417 expectation-unknown"),
        raw("the preface of HTTP/2 behind", one + "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "200", VERSION),
    ]


CORPUS = (*smuggling(), *chunks(), *lengths(), *lines(), *hosts(), *origins(), *pipelines())
