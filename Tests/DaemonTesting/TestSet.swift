/// Sets of resources.
enum TestSet {
    /// Two rules, one of them for the application of `gallery`.
    static let rules = """
        kind: Rule
        id: night
        spec: {when: "priority < 10", during: {zone: UTC, from: "22:00", to: "07:00"}, then: {hold: end}}
        ---
        kind: Rule
        id: team
        application: com.example.gallery
        spec: {then: {headers: {x-team: blue}}}

        """

    /// An application with a session and a source.
    static let gallery = """
        kind: Application
        id: com.example.gallery
        spec:
          displayName: Gallery
          delivery: {timeoutSeconds: 20, retrySchedule: [1, 5]}
        ---
        kind: Session
        application: com.example.gallery
        id: win-1
        spec:
          activationState: background
          activationConditions:
            canActivateForTargetContentIdentifierPredicate: "SELF BEGINSWITH 'photo/'"
          endpoint: {url: "http://127.0.0.1:9/hook"}
        ---
        kind: Source
        application: com.example.gallery
        id: hooks
        spec:
          kind: github
          secrets: [s3cret]
          contentId: {issues: "github://{repository.full_name}/issues/{issue.number}", "*": "github://{repository.full_name}"}

        """
}
