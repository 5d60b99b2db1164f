import RouterdCommands

await RouterdCommandLine.main(plugins: try .builtIn.adding(rules: [ShieldedRoles.kind]))
