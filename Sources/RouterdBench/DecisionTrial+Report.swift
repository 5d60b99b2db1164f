import RouterPlugin

extension DecisionTrial {
    /// Measures everything, and returns it as the JSON object of `routerd bench decide`.
    package mutating func report(rounds: Int) -> [UInt8] {
        let decisions = decide(rounds: rounds)
        let timed = timeEach(rounds: rounds)
        let loads = followLoads(rounds: rounds)
        let stateChange = (alone: changeStates(inBatchesOf: 1), together: changeStates(inBatchesOf: 16))
        let replace = (alone: replaceSessions(inBatchesOf: 1), together: replaceSessions(inBatchesOf: 16))
        let (hashLookup, linearScan) = (lookUp(), scan())
        return JSONWriter.object {
            $0.field("sessions", sessionCount)
            $0.field("buildSeconds", buildSeconds)
            $0.field("bytesPerSession", bytesPerSession)
            $0.field("decisions", decisions.count)
            $0.field("nsMean", decisions.meanNanoseconds)
            $0.field("nsP50", timed[permille: 500])
            $0.field("nsP99", timed[permille: 990])
            $0.field("nsP999", timed[permille: 999])
            $0.field("nsP50ThreeLoads", loads.three[permille: 500])
            $0.field("nsP99ThreeLoads", loads.three[permille: 990])
            $0.field("nsP50FourLoads", loads.four[permille: 500])
            $0.field("nsP99FourLoads", loads.four[permille: 990])
            $0.field("checksum", checksum)
            $0.field("stateChangeNs", stateChange.alone)
            $0.field("stateChangeTogetherNs", stateChange.together)
            $0.field("replaceNs", replace.alone)
            $0.field("replaceTogetherNs", replace.together)
            $0.field("hashLookupNs", hashLookup)
            $0.field("linearScanNs", linearScan)
        }
    }
}
