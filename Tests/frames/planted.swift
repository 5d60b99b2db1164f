// An async function that keeps a vector of 32 bytes over its awaits: the fault that Scripts/frames.py has to find.
struct Kept: Sendable {
    var name = "name"
    var counts = SIMD4<Int>(repeating: 1)
    var other = "other"
}

struct Texts: Sendable {
    var pair = SIMD2<Int>(1, 2)
    var first = "first", second = "second", third = "third", fourth = "fourth"
}

actor Host {
    var kept = Kept()
    func read<Value: Sendable>(_ body: @Sendable (Kept) -> Value) -> Value { body(kept) }
}

@inline(never) func change(_ texts: inout Texts) async {
    await Task.yield()
    texts.first += "!"
}

@inline(never) func later(_ number: Int) async -> Int {
    await Task.yield()
    return number
}

@inline(never) func handler(_ host: Host, _ seed: Int, _ isOdd: Bool) async -> Int {
    var texts = Texts()
    await change(&texts)
    let kept = await host.read { $0 }
    let one = await later(seed)
    let two = await later(one)
    let three = await later(two)
    let four = await later(three)
    return kept.counts[1] + kept.name.utf8.count + kept.other.utf8.count + texts.first.utf8.count + one + two + three
        + four
        + (isOdd ? 1 : 0)
}

@main struct Main {
    static func main() async {
        print(await handler(Host(), CommandLine.arguments.count, CommandLine.arguments.isEmpty))
    }
}
